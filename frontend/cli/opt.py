"""`tilewright opt`: the same tool as `tilewright-opt`."""

from __future__ import annotations

import click

from ..opt_tool import main


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    ctx.exit(main(arguments))
