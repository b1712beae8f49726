"""`tilewright explain`: what a compile did with a function, on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

import click

from .subject import load_subject, option_values, subject_options

_EPILOG = """\b
Examples:
  tilewright explain examples/mlp_mixer.py:MLPMixer --input 1x3x224x224xf32
  tilewright explain model.py:forward --inputs-from model.py:example --option fallback=false
"""


@click.command(epilog=_EPILOG)
@subject_options
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="an option of the backend")
def command(
    function: str,
    inputs: Sequence[str],
    inputs_from: str | None,
    dynamic: bool,
    training: bool,
    seed: int,
    options: Sequence[str],
) -> None:
    """Compile MODULE:FUNCTION afresh and report graphs, kernels, fall-backs, refusals and seconds."""
    import torch

    from ..explain import explain

    subject = load_subject(function, inputs, inputs_from, dynamic, training, seed)
    given = option_values(options)
    with torch.set_grad_enabled(training):
        report = explain(subject.function, *subject.args, options=given, dynamic=subject.dynamic)
    click.echo(str(report))
