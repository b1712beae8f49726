"""Axes of one point, which keep kernels apart that walk the same space otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.dialects.index_expr import ONE, ZERO, Expr, Var, dim
from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.tk.attributes import map_attr
from tilewright.dialects.tk.contraction import find_contraction
from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.body import combined_axes, named_axes, rename_axes, rewrite_exprs
from ..rewrite import may_rewrite


def drop_unit_axes(kernel: KernelOp) -> None:
    """Leave out the axes of size 1 that nothing reduces, scans or stores over.

    Products keep theirs, and so does what reduces over several axes, as attention does.
    """
    space, ops = kernel.space, ops_of(kernel.body.block)
    over = {axes for op in ops if (axes := combined_axes(op))}
    if ONE not in space or len(over) > 1 or find_contraction(kernel.body.block) is not None:
        return
    named = {axis for op in ops for axis in named_axes(op)}
    kept = [a for a, size in enumerate(space) if size != ONE or a in named]
    if len(kept) == len(space) or not may_rewrite(kernel, "without its axes of one point"):
        return
    at: dict[Var, Expr] = {Var("d", a): ZERO for a in range(len(space))}
    at.update((Var("d", old), dim(new)) for new, old in enumerate(kept))
    names: dict[int, Sequence[int]] = {old: (new,) for new, old in enumerate(kept)}
    rewrite_exprs(ops, lambda e: e.substitute(at))
    rename_axes(ops, names)
    kernel.properties["sizes"] = map_attr([space[a] for a in kept])
