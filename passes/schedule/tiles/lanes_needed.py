"""Which axes ops need lanes of: a table of blocks has one value for a whole tile, which is a scalar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Bounds, Expr, Var, as_expr, dim
from tilewright.dialects.tk.domain import Axes, axes_of_exprs, exprs_of, reduced_axes

from ...kernels.facts import Body


def lanes_needed(body: Body, blocks: Mapping[int, int], space: Sequence[Expr]) -> dict[Operation, Axes]:
    """The axes that each op of a body varies along inside of a tile, whose axes have `blocks` elements.

    `%t[d1 floordiv 128]` is one value where tiles have 128 elements of axis 1, or 64, each beginning at a
    multiple of that: the scale of a group of weights, what a table says of a block of keys.
    """
    found: dict[Operation, Axes] = {}
    varies: dict[SSAValue, Axes] = {}
    for op in body.ops:
        axes = body.runs[op]
        if op.results:
            exprs = exprs_of(op)
            own = (a for a in axes_of_exprs(exprs) if not _uniform(exprs, a, blocks.get(a, 1), space))
            axes = frozenset(own).union(reduced_axes(op), *(varies.get(v, frozenset()) for v in op.operands))
        found[op] = axes
        for result in op.results:
            varies[result] = axes.difference(reduced_axes(op))
    return found


def _uniform(exprs: Sequence[Expr], axis: int, block: int, space: Sequence[Expr]) -> bool:
    """Whether no expression changes inside of a block: `d1 floordiv 128 mod 4` does not in 64 elements."""
    var = Var("d", axis)
    used = [e for e in exprs if e.uses(var)]
    if block == 1 or any(var in e.atoms() for e in used):
        return False
    lane = len(space)
    blocks = ((space[axis] + (block - 1)) // block if a == axis else size for a, size in enumerate(space))
    bounds, place = Bounds((*blocks, as_expr(block))), {var: dim(axis) * block + dim(lane)}
    return not any(bounds.simplify(e.substitute(place)).uses(Var("d", lane)) for e in used)
