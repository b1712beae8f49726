"""What loops over reduced axes keep in scratch instead of computing it again."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import UnitAttr

from tilewright.dialects.tk.domain import levels_of
from tilewright.dialects.tk.kernels import FuncOp

from ...kernels.facts import Body
from ...rewrite import skip
from ..cost import SCRATCH, Costs, is_expensive
from ..plan import KEEP


def mark_kept(func: FuncOp, body: Body, inner: AbstractSet[int], costs: Costs) -> None:
    """Mark what is expensive and needed at more than one level of reductions, which are over `inner`."""
    levels = levels_of(func.body.block)
    if not inner or max(levels.values(), default=0) == 0:
        return
    reach: dict[object, int] = {}
    for op in reversed(body.ops):
        own = max((levels[r] for r in op.results), default=0)
        own = max([own, *(levels.get(v, 0) for v in op.operands)])
        reach[op] = max([own, *(reach[use.operation] for r in op.results for use in r.uses)])
    for op in body.ops:
        if not is_expensive(op) or reach[op] <= levels[op.results[0]]:
            continue
        axes = body.domains[op.results[0]] & inner
        sizes = [func.space[a].constant for a in axes]
        total = costs.trips(axes)
        if axes and (None in sizes or total <= SCRATCH):
            op.attributes[KEEP] = UnitAttr()
        elif axes:
            skip(op, f"computed again per loop: {total} elements are too many for scratch")
