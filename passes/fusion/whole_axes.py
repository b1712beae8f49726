"""Undoes splits of axes: what is stored at `d0*128 + d1` is walked along one axis."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.dialects.index_expr import Bounds, Expr, Var, as_expr, dim
from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.attributes import map_attr
from tilewright.dialects.tk.kernels import KernelOp

from .body import exprs_of, named_axes, rename_axes, set_exprs


def join_axes(kernel: KernelOp) -> None:
    """Make one axis of each two that a subscript of a store joins and no op tells apart.

    `absorb-views` splits axes so that nothing divides; chained products have one axis of rows and one of
    columns, and look for divisions: blocks of which a mask has one value.
    """
    while (pair := _pair(kernel)) is not None:
        _join(kernel, *pair)


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


def _join(kernel: KernelOp, outer: int, inner: int) -> None:
    space, ops = list(kernel.space), ops_of(kernel.body.block)
    size = space[inner]
    space[outer] = space[outer] * size
    names = {a: a - (a > inner) for a in range(len(space))}
    moved = {Var("d", a): dim(new) for a, new in names.items()}
    moved[Var("d", outer)] = dim(names[outer]) // size
    moved[Var("d", inner)] = dim(names[outer]) % size
    del space[inner]
    bounds = Bounds(tuple(space))
    for op in ops:
        if exprs := exprs_of(op):
            set_exprs(op, [bounds.simplify(e.substitute(moved)) for e in exprs])
    rename_axes(ops, {a: () if a == inner else (new,) for a, new in names.items()})
    kernel.properties["sizes"] = map_attr(space)
