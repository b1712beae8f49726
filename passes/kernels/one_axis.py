"""Several axes as one: what walks through them as one does so plainly, what does not divides."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.dialects.index_expr import ZERO, Bounds, Expr, Var, dim, product
from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.tk.attributes import map_attr
from tilewright.dialects.tk.kernels import KernelOp

from .body import rename_axes, rewrite_exprs

Merge = tuple[int, int, Expr]
"""Two axes that become one, and the size of the second."""


def is_through(expr: Expr, high: int, low: int, size: Expr) -> bool:
    """Whether `expr` depends on two axes through `d<high>*size + d<low>` only."""
    a, b = Var("d", high), Var("d", low)
    if not expr.uses(a):
        return not expr.uses(b)
    flat = dim(high) * size + dim(low)
    return expr.substitute({a: ZERO}).substitute({b: flat}) == expr


def joined(expr: Expr, merges: Sequence[Merge]) -> Expr:
    """`expr` where each `high` is an axis of `size(high) * size(low)` steps and `low` is none any more."""
    for high, low, size in merges:
        a, b = Var("d", high), Var("d", low)
        if is_through(expr, high, low, size):
            expr = expr.substitute({a: ZERO}).substitute({b: dim(high)})
        else:
            expr = expr.substitute({a: dim(high) // size, b: dim(high) % size})
    return expr


def one_axis(kernel: KernelOp, axes: Sequence[int]) -> dict[int, int]:
    """Make one axis of `axes`, slowest first, in the place of the first; returns the new number of each axis.

    What reduces, scans or sorts does so along all of them or none.
    """
    space, (first, *others) = kernel.space, axes
    left = [a for a in range(len(space)) if a not in others]
    number = {a: left.index(first if a in others else a) for a in range(len(space))}
    merges = [(first, a, space[a]) for a in others]
    sizes = [product(space[i] for i in axes) if a == first else space[a] for a in left]
    bounds = Bounds(tuple(sizes))
    renamed = {Var("d", a): dim(number[a]) for a in left}
    ops = ops_of(kernel.body.block)
    rewrite_exprs(ops, lambda e: bounds.simplify(joined(e, merges).substitute(renamed)))
    rename_axes(ops, {a: (new,) for a, new in number.items()})
    kernel.properties["sizes"] = map_attr(sizes)
    return number
