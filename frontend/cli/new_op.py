"""`tilewright new-op`: an op that works, with its tests, to change into yours."""

from __future__ import annotations

from pathlib import Path

import click

from ..scaffold.write import new_op
from ..tools.reference_page import write_page

_EPILOG = """\b
Example:
  tilewright new-op mine.swish_norm
"""


@click.command(epilog=_EPILOG)
@click.argument("name", metavar="DIALECT.OP")
@click.option("--folder", type=click.Path(path_type=Path), default=Path(), help="where to write the files")
def command(name: str, folder: Path) -> None:
    """Write an elementwise op with verifier, meaning and lowering, its lit test, and a page about it.

    The op is registered when its file is loaded; docs/tutorials/first-op.md goes on from there.
    """
    files = new_op(name, folder)
    files.append(write_page("op_reference", files[0].with_suffix(".md"), source=files[0]))
    click.echo("\n".join(f"wrote {file}" for file in files))
    click.echo(f"try:  tilewright-opt {files[1]} --load {files[0]} --pipeline=cpu")
    click.echo(f"test: lit, or the RUN lines of {files[1].name}")
