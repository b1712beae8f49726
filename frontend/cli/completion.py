"""`tilewright completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_EPILOG = """\b
Examples:
  tilewright completion bash >> ~/.bashrc
  tilewright completion fish > ~/.config/fish/completions/tilewright.fish
"""


@click.command(epilog=_EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL."""
    kind = get_completion_class(shell)
    assert kind is not None, "the choice above lists what click has"
    click.echo(kind(ctx.find_root().command, {}, "tilewright", "_TILEWRIGHT_COMPLETE").source())
