"""`tilewright doctor`: does this machine have what compiling needs, and if not, what to do."""

from __future__ import annotations

import click

from ..doctor import MISSING, OK, WRONG, examine
from ..environment import read_environment

_COLORS = {OK: "green", MISSING: "yellow", WRONG: "red"}


_EPILOG = """\b
Examples:
  tilewright doctor
  tilewright doctor && python train.py
"""


@click.command(epilog=_EPILOG)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Check Python, packages, C++ compiler, OpenMP, cache, GPU; status 1 where something is wrong.

    What is `missing` is needed by some uses only; what is `wrong` stops compilation.
    """
    wrong = 0
    for finding in examine(read_environment()):
        state = click.style(f"{finding.state:8}", fg=_COLORS[finding.state])
        click.echo(f"{state}{finding.subject}: {finding.detail}")
        if finding.remedy:
            click.echo(f"        fix: {finding.remedy}")
        wrong += finding.state == WRONG
    ctx.exit(1 if wrong else 0)
