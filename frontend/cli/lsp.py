"""`tilewright lsp`: the language server that editors start."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ..tools.tool_io import load_passes
from .errors import MissingExtra

_EPILOG = """\b
Examples:
  tilewright lsp
  tilewright lsp --load my_dialect.py      # an editor's command line; it speaks on standard input
docs/editors.md says how to set up VS Code, Neovim, Emacs and Helix.
"""


@click.command(epilog=_EPILOG)
@click.option("--load", multiple=True, metavar="FILE", help="Python file or module that registers dialects")
def command(load: Sequence[str]) -> None:
    """Serve .mlir files over standard input and output (Language Server Protocol).

    Diagnostics, hover, definition and uses, outline, completion and formatting for every
    dialect of this project and of installed plug-ins.
    """
    for source in load:
        load_passes(source)
    try:
        from ..lsp.server import make_server
    except ModuleNotFoundError as error:
        raise MissingExtra(command="lsp", package=error.name, extra="lsp") from error
    make_server().start_io()
