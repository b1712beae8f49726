"""`tilewright irdl`: dialects as IRDL, for tools of upstream MLIR."""

from __future__ import annotations

from collections.abc import Sequence

import click

from tilewright.dialects.irdl_export import export_irdl
from tilewright.dialects.registry import OWN_DIALECTS, foreign_dialects, registered_dialect

from ..tools.tool_io import load_passes, write_text

_EPILOG = """\b
Examples:
  tilewright irdl -o tilewright.irdl.mlir
  tilewright translate --to=upstream graph.mlir | mlir-opt --irdl-file=tilewright.irdl.mlir
  tilewright irdl sq --load my_package.dialect
"""


@click.command(epilog=_EPILOG)
@click.argument("dialects", nargs=-1)
@click.option("--load", multiple=True, metavar="FILE", help="Python file or module that registers a dialect")
@click.option("--arity", default=16, show_default=True, help="most values in a group of different types")
@click.option("-o", "--output", help="output file; standard output if left out")
def command(dialects: Sequence[str], load: Sequence[str], arity: int, output: str | None) -> None:
    """Print the IRDL definitions of DIALECTS: tw, tk, th and those of plug-ins, if none is named."""
    for source in load:
        load_passes(source)
    found = [registered_dialect(name) for name in dialects or (*OWN_DIALECTS, *foreign_dialects())]
    write_text(output, export_irdl(found, arity=arity))
