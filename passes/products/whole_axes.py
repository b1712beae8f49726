"""Undoes splits of axes: what is stored at `d0*128 + d1` is walked along one axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.dialects.index_expr import Expr, Var, as_expr
from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.contraction import find_contraction
from tilewright.dialects.tk.domain import own_axes
from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.body import named_axes
from ..kernels.one_axis import one_axis

Choice = Callable[[KernelOp, int, int], bool]
"""Of two axes of a kernel, an outer and an inner one."""


def join_axes(kernel: KernelOp, which: Choice | None = None) -> None:
    """Make one axis of each two that a subscript of a store joins and no op tells apart, if `which` says so.

    `absorb-views` splits axes so that nothing divides; chained products have one axis of rows and one of
    columns, and look for divisions: blocks of which a mask has one value.
    """
    while (pair := _pair(kernel, which)) is not None:
        one_axis(kernel, pair)


def of_blocks(kernel: KernelOp, outer: int, inner: int) -> bool:
    """Whether a product's rows, or columns, are these two, and something is read once for each block."""
    product = find_contraction(kernel.body.block)
    if product is None or not ({outer, inner} <= product.rows or {outer, inner} <= product.columns):
        return False
    loads = [op for op in ops_of(kernel.body.block) if isinstance(op, LoadOp)]
    return any(outer in axes and inner not in axes for axes in map(own_axes, loads))


def _pair(kernel: KernelOp, which: Choice | None) -> tuple[int, int] | None:
    ops = ops_of(kernel.body.block)
    for store in ops:
        for expr in store.subscripts if isinstance(store, StoreOp) else ():
            for outer, inner in _pairs(expr, kernel.space):
                apart = any((outer in named) != (inner in named) for named in map(named_axes, ops))
                if not apart and (which is None or which(kernel, outer, inner)):
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
