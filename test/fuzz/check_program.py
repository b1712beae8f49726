"""One random torch program, compiled and by eager, judged by the float64 rule."""

from __future__ import annotations

from typing import Any

import torch
from check_graph import Find

from benchmarks.numerics import Widen, judge_tensor


def check_program(text: str, target: str = "auto") -> Find | None:
    """Run the program eagerly, in float64 and compiled; inputs that it changed are results as well.

    A program that eager refuses is none, unless it says `VALID = True`. What differs from eager is no find
    where eager on inputs that are a rounding off is as far from float64.
    """
    space: dict[str, Any] = {}
    exec(compile(text, "program.py", "exec"), space)
    program, inputs = space["program"], space["inputs"]
    outcome = _trained if space.get("TRAINED") else _outcome
    try:
        eager = outcome(program, inputs())
        with Widen():
            truth = outcome(program, tuple(t.double() if t.is_floating_point() else t for t in inputs()))
    except (RuntimeError, IndexError, ValueError) as error:
        return Find("Refused", str(error), text) if space.get("VALID") else None
    torch._dynamo.reset()
    try:
        options = {"target": target}
        compiled = torch.compile(program, backend="mlir", options=options, dynamic=space.get("DYNAMIC"))
        found = outcome(compiled, inputs())
    except Exception as error:  # eager runs it, so whatever happens is a find
        return Find(type(error).__name__, str(error), text)
    if len(found) != len(eager):
        return Find("WrongResult", f"{len(found)} results instead of {len(eager)}", text)
    pairs, halves = list(zip(found, truth, strict=True)), "float16" in text
    whys = [why_not(*pair, run, halves) for pair, run in zip(pairs, eager, strict=True)]
    for seed in range(6):
        if any(whys):
            near = outcome(program, nearly(inputs(), seed))
            again = [why_not(*pair, run, halves) for pair, run in zip(pairs, near, strict=True)]
            whys = [why and other and why for why, other in zip(whys, again, strict=True)]
    lines = [f"output {i}: {why}" for i, why in enumerate(whys) if why]
    return Find("WrongResult", "\n".join(lines), text) if lines else None


def why_not(found: torch.Tensor, truth: torch.Tensor, eager: torch.Tensor, halves: bool) -> str:
    """Why a result is not as near to float64 as this run of eager; empty if it is."""
    verdict = judge_tensor(found, no_worse(found, eager, truth), truth, halves=halves)
    return "" if verdict else verdict.why


def nearly(inputs: tuple[torch.Tensor, ...], seed: int) -> tuple[torch.Tensor, ...]:
    """The inputs, each number perhaps one rounding off: how far eager itself may be from float64."""
    random = torch.Generator().manual_seed(seed)
    for t in inputs:
        if not t.is_floating_point() or 0 in t.stride():  # expanded: its elements are one
            continue
        off = torch.randint(-1, 2, t.shape, generator=random) * torch.finfo(t.dtype).eps
        t.copy_((t.double() * (1 + off)).to(t.dtype))
    return inputs


def no_worse(found: torch.Tensor, eager: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    """What eager gives, or float64 where only one of these is finite and `found` is not as eager."""
    if found.shape != eager.shape or found.dtype != eager.dtype or not eager.is_floating_point():
        return eager
    same = (found == eager) | (found.isnan() & eager.isnan())
    return torch.where(~same & (eager.isfinite() != truth.isfinite()), truth.to(eager.dtype), eager)


def _outcome(program: Any, args: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    with torch.no_grad():
        return [*program(*args), *args]


def _trained(program: Any, args: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    """What the program returns, and the gradients of the mean of its squares."""
    args = tuple(t.detach().requires_grad_() if t.is_floating_point() else t for t in args)
    made = program(*args)
    leaves = [t for t in args if t.is_floating_point()]
    loss = torch.stack([t.double().square().mean() for t in made]).sum()
    grads = torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)
    return [*(t.detach() for t in made), *grads]
