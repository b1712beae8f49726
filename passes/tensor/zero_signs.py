"""Who can tell 0.0 from -0.0 in a value."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import ONE
from tilewright.dialects.tw.elementwise import AbsOp, IsInfOp, IsNanOp, NegOp
from tilewright.dialects.tw.elementwise_binary import AddOp, CastOp, CompareOp, MulOp, SelectOp, SubOp
from tilewright.dialects.tw.linalg import ConvolutionOp, MatmulOp
from tilewright.dialects.tw.reduction import SumOp
from tilewright.dialects.tw.view import VIEW_OPS
from tilewright.dialects.types import element_type_of, is_float, sizes_of

_MOST = 64
"""Ops to look at."""
_HANDS_ON = (*VIEW_OPS, AddOp, SubOp, MulOp, NegOp, SelectOp)
"""A zero of another sign makes a zero of another sign of theirs, or nothing else."""
_SAME_FOR_BOTH = (CompareOp, AbsOp, IsNanOp, IsInfOp, ConvolutionOp)
"""The result is the same."""


def reads_signs_of_zeros(value: SSAValue) -> Operation | None:
    """An op that may tell 0.0 from -0.0 in `value`, None where there is none."""
    seen: dict[Operation, None] = {}
    work = [value]
    while work:
        for use in work.pop().uses:
            op = use.operation
            if op in seen or _is_the_same(op):
                continue
            seen[op] = None
            if len(seen) > _MOST or not _hands_on(op):
                return op
            work += op.results
    return None


def _is_the_same(op: Operation) -> bool:
    """Whether its result is. Sums, and those of products, begin at 0.0, which no zero changes; one of a
    single number may be that number."""
    if isinstance(op, SumOp):
        return any(sizes_of(op.source)[axis] != ONE for axis in ints(op.axes))
    if isinstance(op, MatmulOp):
        return sizes_of(op.lhs)[-1] != ONE
    return isinstance(op, _SAME_FOR_BOTH) or (
        isinstance(op, CastOp) and not is_float(element_type_of(op.result))
    )


def _hands_on(op: Operation) -> bool:
    return isinstance(op, _HANDS_ON) or (isinstance(op, CastOp) and is_float(element_type_of(op.result)))
