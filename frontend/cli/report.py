"""`tilewright report`: one HTML page about a compile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from .subject import Named, option_values, takes_subject

_EPILOG = """\b
Examples:
  tilewright report examples/unet.py:UNet --input 1x3x64x64xf32 --input 1xi64:0..1000 -o unet.html
  tilewright report model.py:Model --inputs-from model.py:example --training
  TILEWRIGHT_REPORT=reports python train.py      # a page per compile of a whole program
"""


@click.command(epilog=_EPILOG)
@takes_subject
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="an option of the backend")
@click.option("-o", "--output", default="report.html", show_default=True, help="where to write the page")
def command(
    named: Named,
    options: Sequence[str],
    output: str,
) -> None:
    """Compile MODULE:FUNCTION afresh, time its kernels, and write a page that needs no network.

    The page shows the source, every form of the graph, kernels with their time and roofline, the
    fusion graph, the memory plan, remarks and pass times, each linked to the lines of the source.
    """
    from ..report.session import report_call

    subject = named.load()
    given = option_values(options)
    with named.calling(subject):
        page = report_call(subject.call, subject.function, Path(output), given, dynamic=subject.dynamic)
    click.echo(page)
