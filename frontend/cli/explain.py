"""`tilewright explain`: what a compile did with a function, on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

import click

from .subject import Named, option_values, takes_subject

_EPILOG = """\b
Examples:
  tilewright explain examples/unet.py:UNet --input 1x3x64x64xf32 --input 1xi64:0..1000
  tilewright explain model.py:forward --inputs-from model.py:example --option fallback=false
"""


@click.command(epilog=_EPILOG)
@takes_subject
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="an option of the backend")
def command(
    named: Named,
    options: Sequence[str],
) -> None:
    """Compile MODULE:FUNCTION afresh and report graphs, kernels, fall-backs, refusals and seconds."""
    import torch

    from ..explain import explain

    subject = named.load()
    given = option_values(options)
    with named.calling(subject), torch.set_grad_enabled(named.training):
        report = explain(subject.function, *subject.args, options=given, dynamic=subject.dynamic)
    click.echo(str(report))
