"""Reductions that reduce nothing, and reductions of reductions."""

from __future__ import annotations

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.tw.reduction import AllOp, AnyOp, MaxOp, MinOp, ProdOp, ReduceOp, SumOp
from tilewright.dialects.tw.view import ReshapeOp
from tilewright.dialects.types import element_type_of, sizes_of

from ..driver import Rewrite, Rules


def reduce_nothing(op: Operation, rw: Rewrite) -> SSAValue | None:
    """Reducing dimensions of size 1 only drops them."""
    assert isinstance(op, ReduceOp)
    sizes = sizes_of(op.source)
    if any(sizes[axis].constant != 1 for axis in ints(op.axes)):
        return None
    if not op.axes.get_values():
        return op.source
    return rw.value(ReshapeOp(op.source, sizes_of(op.result)))


def reduce_chain(op: Operation, rw: Rewrite) -> SSAValue | None:
    """A reduction of a reduction of the same kind reduces both sets of axes."""
    assert isinstance(op, ReduceOp)
    inner = op.source.owner
    if not isinstance(inner, type(op)) or not inner.result.has_one_use():
        return None
    first = ints(inner.axes)
    kept = [d for d in range(len(sizes_of(inner.source))) if d not in first]
    return rw.value(type(op)(inner.source, [*first, *(kept[axis] for axis in ints(op.axes))]))


def extreme_of_bools(op: Operation, rw: Rewrite) -> SSAValue | None:
    """On i1 the largest element is `any`, the smallest `all`."""
    assert isinstance(op, ReduceOp)
    if element_type_of(op.source) != i1:
        return None
    return rw.value((AnyOp if isinstance(op, MaxOp) else AllOp)(op.source, ints(op.axes)))


REDUCTION_RULES: Rules = {
    SumOp: (reduce_nothing, reduce_chain),
    ProdOp: (reduce_nothing, reduce_chain),
    MaxOp: (reduce_nothing, reduce_chain, extreme_of_bools),
    MinOp: (reduce_nothing, reduce_chain, extreme_of_bools),
    AnyOp: (reduce_nothing, reduce_chain),
    AllOp: (reduce_nothing, reduce_chain),
}
