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
    outcome = _trained if space.get("TRAINED") else _outcome
    try:
        eager = outcome(program, inputs())
        with Widen():
            truth = outcome(program, tuple(t.double() for t in inputs()))
    except (RuntimeError, IndexError, ValueError):
        return None  # no valid program
    torch._dynamo.reset()
    try:
        found = outcome(torch.compile(program, backend="mlir"), inputs())
    except Exception as error:  # eager runs it, so whatever happens is a find
        return Find(type(error).__name__, str(error), text)
    wanted = [no_worse(*results) for results in zip(found, eager, truth, strict=True)]
    verdict = judge(found, wanted, truth, halves="float16" in text)
    return None if verdict else Find("WrongResult", verdict.why, text)


def no_worse(found: torch.Tensor, eager: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    """What eager gives, or float64 where only one of these is finite and `found` is not as eager."""
    if found.shape != eager.shape or not eager.is_floating_point():
        return eager
    same = (found == eager) | (found.isnan() & eager.isnan())
    return torch.where(~same & (eager.isfinite() != truth.isfinite()), truth.to(eager.dtype), eager)


def _outcome(program: Any, args: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    with torch.no_grad():
        return [*program(*args), *args]


def _trained(program: Any, args: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    """What the program returns, and the gradients of the mean of its squares."""
    leaves = [t.detach().requires_grad_() for t in args]
    made = program(*leaves)
    loss = torch.stack([t.double().square().mean() for t in made]).sum()
    grads = torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)
    return [*(t.detach() for t in made), *grads]
