"""Undoes splits of axes: what is stored at `d0*128 + d1` is walked along one axis."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.dialects.index_expr import Expr, Var, as_expr
from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.body import named_axes
from ..kernels.one_axis import one_axis


def join_axes(kernel: KernelOp) -> None:
    """Make one axis of each two that a subscript of a store joins and no op tells apart.

    `absorb-views` splits axes so that nothing divides; chained products have one axis of rows and one of
    columns, and look for divisions: blocks of which a mask has one value.
    """
    while (pair := _pair(kernel)) is not None:
        one_axis(kernel, pair)


def _pair(kernel: KernelOp) -> tuple[int, int] | None:
    ops = ops_of(kernel.body.block)
    for store in ops:
        for expr in store.subscripts if isinstance(store, StoreOp) else ():
            for outer, inner in _pairs(expr, kernel.space):
                if all((outer in named) == (inner in named) for named in map(named_axes, ops)):
                    return outer, inner
    return None


def _pairs(expr: Expr, space: Sequence[Expr]) -> list[tuple[int, int]]:
    """Axes `a`, `b` of a sum `a*n + b`, where `b` has `n` elements."""
    axes = sorted(v.index for v in expr.variables() if v.kind == "d" and space[v.index] != as_expr(1))
    one = as_expr(1)
    return [
        (a, b)
        for b in axes
        if expr.coefficient(Var("d", b)) == one
        for a in axes
        if a != b and expr.coefficient(Var("d", a)) == space[b]
    ]
