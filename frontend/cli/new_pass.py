"""`tilewright new-pass`: a pass that works, with its test, to change into yours."""

from __future__ import annotations

from pathlib import Path

import click

from ..scaffold.write import LAYERS, new_pass, new_pass_in_tree
from ..tools.reference_page import write_page

_EPILOG = """\b
Examples:
  tilewright new-pass fold-my-pattern
  tilewright new-pass fold-my-pattern --in-tree tensor     (in a checkout of tilewright)
"""


@click.command(epilog=_EPILOG)
@click.argument("name")
@click.option("--folder", type=click.Path(path_type=Path), default=Path(), help="where to write the files")
@click.option("--in-tree", type=click.Choice(LAYERS), help="into this folder of passes/")
def command(name: str, folder: Path, in_tree: str | None) -> None:
    """Write a pass NAME and its lit test.

    Beside them stands a page about it. With --in-tree its row in passes/registry.py and its entry in
    docs/passes.md come instead.
    """
    if in_tree is None:
        files = new_pass(name, folder)
        files.append(write_page("pass_reference", files[0].with_suffix(".md"), source=files[0]))
        snake = files[0].stem
        click.echo("\n".join(f"wrote {file}" for file in files))
        click.echo(f"try:  tilewright-opt {files[1]} --load {files[0]} -p {name},dce --split-input-file")
        click.echo(f"test: lit, or the RUN line of {snake}.mlir")
        return
    root = Path.cwd()
    files = new_pass_in_tree(name, in_tree, root)
    files.append(write_page("pass_reference", root / "docs" / "passes.md"))
    click.echo("\n".join(f"wrote {file.relative_to(root)}" for file in files))
    click.echo(f"test: lit -v {files[1].relative_to(root)}")
