"""Sums of columns: which axes they go along, and how much of a row a program holds beside them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.dialects.index_expr import Expr, Var
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.contraction import find_contraction
from tilewright.dialects.tk.domain import Along, levels_of, reduced_axes
from tilewright.dialects.tk.kernels import KernelOp

from .blocks import power_of_two
from .body import Body

HELD = 8192
"""Elements of the rows of a part where each row is reduced as well, and stays in registers for it."""


def summed_axes(kernel: KernelOp) -> tuple[int, ...]:
    """The axes along which `kernel` sums columns and does nothing else; none where it is no such sum."""
    if find_contraction(kernel.body.block) is not None:
        return ()
    body = Body.of(kernel.body.block)
    reductions = [op for op in body.ops if reduced_axes(op)]
    if not reductions or not all(isinstance(op, ReduceOp) for op in reductions):
        return ()
    over = reductions[0].over if isinstance(reductions[0], ReduceOp) else ()
    if any(set(reduced_axes(op)) != set(over) for op in reductions):
        return ()
    if any(isinstance(op, LoadOp) and _is_along(op, over) for op in body.ops):
        return ()
    if any(isinstance(op, AssertOp | Along) or body.runs[op] & set(over) for op in body.sinks()):
        return ()
    if any(level > 1 for level in levels_of(kernel.body.block).values()):
        return ()
    return tuple(sorted(over))


def _is_along(load: LoadOp, axes: tuple[int, ...]) -> bool:
    """Whether neighbours in memory are loaded along one of the axes."""
    return bool(load.subscripts) and any(load.subscripts[-1].uses(Var("d", a)) for a in axes)


def row_length(kernel: KernelOp, where: Sequence[Expr]) -> int | None:
    """Elements that a program holds of each row where `kernel` reduces rows; they are at these subscripts."""
    if not where:
        return None
    along = [a for a in range(len(kernel.space)) if where[-1].uses(Var("d", a))]
    found = [axes for op in kernel.body.block.ops if not (axes := {*reduced_axes(op)}).isdisjoint(along)]
    lengths = [prod(power_of_two(kernel.space[a].constant or HELD) for a in axes) for axes in found]
    return max(lengths, default=None)
