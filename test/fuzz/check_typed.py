"""One random program on values of any type, compiled and by eager: numbers, strides and shared memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from check_graph import Find
from check_program import nearly, why_not
from torch import Tensor

from benchmarks.numerics import NARROW, Widen

Program = Callable[..., tuple[Tensor, ...]]
Outcome = tuple[list[Tensor], list[Tensor]]
"""Results and arguments, as the program left them; gradients."""
_INVALID = (RuntimeError, IndexError, ValueError)


def check_typed(text: str, target: str = "auto") -> Find | None:
    """What the program does with every pair of sizes, and once more with the first.

    What torch's own graph gives (`aot_eager`) is no find: some strides, casts of infinities to integers, and
    whatever is raised where that raises, too; nor are strides of its trace, which Inductor gives, too.
    """
    find = _checked(text, "mlir", {"target": target})
    if find is None or find.kind == "Invalid":
        return None
    control = _checked(text, "aot_eager", {})
    if control is not None and _means(control) == _means(find):
        return None
    return None if find.kind == "WrongLayout" and find == _checked(text, "inductor", {}) else find


def _means(find: Find) -> str:
    """What became of a program: one of the three faults below, or `raised`, whatever the exception."""
    return find.kind if find.kind in ("Invalid", "WrongResult", "WrongLayout") else "raised"


def _checked(text: str, backend: str, options: dict[str, Any]) -> Find | None:
    space: dict[str, Any] = {}
    exec(compile(text, "program.py", "exec"), space)
    program, sizes, trained = space["program"], space["SIZES"], space["TRAINED"]
    torch._dynamo.reset()
    compiled: Program = torch.compile(
        program, backend=backend, dynamic=space["DYNAMIC"], options=options or None
    )
    for pair in [*sizes, sizes[0]]:

        def inputs(pair: tuple[int, int] = pair) -> tuple[Tensor, ...]:
            return space["inputs"](*pair)

        try:
            eager = _outcome(program, inputs(), trained)
        except _INVALID as error:
            return Find("Invalid", str(error), text)
        try:
            found = _outcome(compiled, inputs(), trained)
        except Exception as error:  # eager runs it, so whatever happens is a find
            return Find(type(error).__name__, f"sizes {pair}: {error}", text)
        halves = "float16" in text
        truth = _truth(program, inputs(), trained, eager)
        why = _different(found, eager, truth, halves)
        for seed in range(4):
            if not why:
                break
            near = _outcome(program, nearly(inputs(), seed), trained)
            why = why and _different(found, near, truth, halves)
        if why:
            return Find("WrongResult", f"sizes {pair}: {why}", text)
        if why := _laid_out_otherwise(found[0], eager[0]):
            return Find("WrongLayout", f"sizes {pair}: {why}", text)
    return None


def _outcome(program: Program, args: tuple[Tensor, ...], trained: bool) -> Outcome:
    if not trained:
        with torch.no_grad():
            return [*program(*args), *args], []
    args = tuple(t.detach().requires_grad_() if t.is_floating_point() else t for t in args)
    made = program(*args)
    leaves = [t for t in args if t.requires_grad]
    losses = [t.double().square().mean() for t in made if t.requires_grad]
    if not leaves or not losses:
        return [*made, *args], []
    loss = torch.stack(losses).sum()
    return [*made, *args], [*torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)]


def _truth(program: Program, args: tuple[Tensor, ...], trained: bool, eager: Outcome) -> Outcome:
    """The program in float64, or what eager gives where that differs in more than rounding."""
    args = _widened(args)
    try:
        with Widen():
            wide = _outcome(program, args, trained)
    except _INVALID:
        return eager
    if any(len(a) != len(b) for a, b in zip(wide, eager, strict=True)):
        return eager
    return tuple(  # pyright: ignore[reportReturnType]
        [
            a if a.shape == b.shape and torch.equal(a.isfinite(), b.isfinite()) else b
            for a, b in zip(ours, theirs, strict=True)
        ]
        for ours, theirs in zip(wide, eager, strict=True)
    )


def _widened(values: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Floats in float64, with the strides that they have."""
    made: list[Tensor] = []
    for value in values:
        if value.dtype in NARROW:
            memory = value.untyped_storage()
            whole = value.new_empty(0).set_(memory, 0, (memory.nbytes() // value.itemsize,), (1,))
            value = whole.double().as_strided(value.shape, value.stride(), value.storage_offset())
        made.append(value)
    return tuple(made)


def _different(found: Outcome, eager: Outcome, truth: Outcome, halves: bool) -> str:
    for what, ours, theirs, exact in zip(("value", "gradient"), found, eager, truth, strict=True):
        if len(ours) != len(theirs):
            return f"{len(ours)} results instead of {len(theirs)}"
        for i, (x, y, z) in enumerate(zip(ours, theirs, exact, strict=True)):
            if x.requires_grad != y.requires_grad:
                return f"{what} {i}: requires_grad is {x.requires_grad}"
            if why := why_not(x.detach(), z.detach(), y.detach(), halves):
                return f"{what} {i}: {why}"
    return ""


def _laid_out_otherwise(found: Sequence[Tensor], eager: Sequence[Tensor]) -> str:
    """What is no view of a part has eager's strides, and shares memory as in eager mode."""
    sizes = [t.untyped_storage().nbytes() for t in eager]
    whole = [
        i
        for i, t in enumerate(eager)
        if t.numel() and 0 not in t.stride() and sizes[i] == t.numel() * t.itemsize
    ]
    for i in whole:
        one, two = (
            [s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1] for t in (found[i], eager[i])
        )
        if one != two:
            return f"value {i}: strides {found[i].stride()} instead of {eager[i].stride()}"
    ours, theirs = (_sharing([values[i] for i in whole]) for values in (found, eager))
    return "" if ours == theirs else f"of {whole}, memory is shared as {ours} instead of {theirs}"


def _sharing(values: Sequence[Tensor]) -> list[int]:
    memory = [t.untyped_storage().data_ptr() for t in values]
    return [memory.index(each) for each in memory]
