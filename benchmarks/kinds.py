"""Which graphs of a model a benchmark looks at, as its `--kinds` names them."""

from __future__ import annotations

import click

KINDS = ("inference", "training")


def kinds_of(context: click.Context, option: click.Parameter, text: str) -> tuple[str, ...]:
    """The callback of `--kinds`: some of KINDS, with commas between; else click.BadParameter."""
    found = tuple(text.split(","))
    if unknown := sorted({*found} - {*KINDS}):
        raise click.BadParameter(f"{', '.join(unknown)}: give {' or '.join(KINDS)}, or both with a comma")
    return found
