"""Several axes as one: what walks through them as one does so plainly, what does not divides."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from itertools import permutations

from xdsl.ir import Operation

from tilewright.dialects.index_expr import ZERO, Bounds, Expr, Var, dim, product, row_major_strides
from tilewright.dialects.index_expr.shapes import linearize
from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.attributes import map_attr
from tilewright.dialects.tk.domain import Along, exprs_of
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import sizes_of

from .body import named_axes, rename_axes, rewrite_exprs

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


def mergeable(
    axes: Sequence[int],
    sizes: Mapping[int, Expr],
    exprs: Sequence[Expr],
    groups: Sequence[Collection[int]],
    scans: Set[int],
) -> tuple[int, int] | None:
    """Axes a, b of which `d<a>*size(b) + d<b>` is all that matters to `exprs`.

    Each of `groups`, which ops name, has both or neither; `scans` are axes in whose order ops go.
    """
    for high, low in permutations(axes, 2):
        if not scans.isdisjoint((high, low)) or any((high in group) != (low in group) for group in groups):
            continue
        if all(is_through(e, high, low, sizes[low]) for e in exprs):
            return high, low
    return None


def join_adjacent(kernel: KernelOp, axes: Iterable[int]) -> bool:
    """Make one axis of those that all walk as one through each tensor; whether any became one.

    Their sums can be cut anywhere then, not only between rows: 64 rows of 8732 elements are walked as 558848
    elements. Subscripts divide until tensors are flat. Axes of unknown sizes stay as they are.
    """
    left, changed = sorted(axes), False
    while (pair := _adjacent(kernel, left)) is not None:
        number = one_axis(kernel, pair)
        left, changed = sorted({number[a] for a in left}), True
    return changed


def _adjacent(kernel: KernelOp, axes: Sequence[int]) -> tuple[int, int] | None:
    ops, bounds = ops_of(kernel.body.block), Bounds(kernel.space)
    return mergeable(
        [a for a in axes if kernel.space[a].constant is not None],
        dict(enumerate(kernel.space)),
        [e for op in ops for e in _positions(op, bounds)],
        [named_axes(op) for op in ops],
        {op.along for op in ops if isinstance(op, Along)},
    )


def _positions(op: Operation, bounds: Bounds) -> Sequence[Expr]:
    """Where `op` is, as the position of an element in its tensor."""
    exprs = exprs_of(op)
    if not exprs or not isinstance(op, LoadOp | StoreOp):
        return exprs
    return (bounds.simplify(linearize(exprs, row_major_strides(sizes_of(op.buffer)))),)
