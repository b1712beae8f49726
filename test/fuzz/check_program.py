"""One random torch program, compiled and by eager, judged by the float64 rule."""

from __future__ import annotations

from typing import Any

import torch
from check_graph import Find

from benchmarks.numerics import Widen, judge


def check_program(text: str) -> Find | None:
    """Run the program eagerly, in float64 and compiled; inputs that it changed are results as well."""
    space: dict[str, Any] = {}
    exec(compile(text, "program.py", "exec"), space)
    program, inputs = space["program"], space["inputs"]
    try:
        eager = _outcome(program, inputs())
        with Widen():
            truth = _outcome(program, tuple(t.double() for t in inputs()))
    except (RuntimeError, IndexError):
        return None  # no valid program
    torch._dynamo.reset()
    try:
        with torch.no_grad():
            found = _outcome(torch.compile(program, backend="mlir"), inputs())
    except Exception as error:  # eager runs it, so whatever happens is a find
        return Find(type(error).__name__, str(error), text)
    verdict = judge(found, eager, truth)
    return None if verdict else Find("WrongResult", verdict.why, text)


def _outcome(program: Any, args: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    with torch.no_grad():
        return [*program(*args), *args]
