"""Which axes ops need lanes of: a table of blocks has one value for a whole tile, which is a scalar."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Expr, Var
from tilewright.dialects.tk.domain import Axes, axes_of_exprs, exprs_of, reduced_axes

from ...kernels.facts import Body
from ...kernels.listed import blocks_of


def lanes_needed(body: Body, blocks: Mapping[int, int]) -> dict[Operation, Axes]:
    """The axes that each op of a body varies along inside of a tile, whose axes have `blocks` elements.

    `%t[d1 floordiv 128]` is one value where tiles have 128 elements of axis 1, or 64.
    """
    found: dict[Operation, Axes] = {}
    varies: dict[SSAValue, Axes] = {}
    for op in body.ops:
        axes = body.runs[op]
        if op.results:
            exprs = exprs_of(op)
            own = (a for a in axes_of_exprs(exprs) if not _whole(exprs, a, blocks.get(a, 1)))
            axes = frozenset(own).union(reduced_axes(op), *(varies.get(v, frozenset()) for v in op.operands))
        found[op] = axes
        for result in op.results:
            varies[result] = axes.difference(reduced_axes(op))
    return found


def _whole(exprs: tuple[Expr, ...], axis: int, block: int) -> bool:
    """Whether no expression changes inside of a block."""
    sizes = [blocks_of(e, axis) for e in exprs if e.uses(Var("d", axis))]
    return block > 1 and all(size is not None and size % block == 0 for size in sizes)
