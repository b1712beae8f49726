"""Scatters to positions of counted rows, `t[arange(8), i]`, as scatters along a dimension."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import ONE
from tilewright.dialects.tw.creation import FullOp
from tilewright.dialects.tw.elementwise_binary import AddOp, CompareOp, SelectOp
from tilewright.dialects.tw.indexing import ScatterAddOp, ScatterAlongOp, ScatterOp
from tilewright.dialects.tw.view import BroadcastOp, ReshapeOp
from tilewright.dialects.types import sizes_of

from ..driver import Rewrite
from .counted_positions import counted


def along_rows(op: ScatterOp | ScatterAddOp, most: int, rw: Rewrite) -> ScatterAlongOp | None:
    """The same, where rows, if there are any, are all counted, and each gets `most` numbers or fewer."""
    dims, target, index = ints(op.dims), sizes_of(op.target), sizes_of(op.indices[0])
    rows = {
        j: axis for j, d in enumerate(dims) if (axis := _counts_all(op.indices[j], target[d])) is not None
    }
    (*others,) = (j for j in range(len(dims)) if j not in rows)
    (*left,) = (axis for axis in range(len(index)) if axis not in rows.values())
    if len(others) != 1 or len(set(rows.values())) != len(rows) or len(left) > 1:
        return None
    place, number = dims[others[0]], index[left[0]] if left else ONE
    if number.constant is None or not 1 <= number.constant <= most:
        return None
    to = {axis: dims[j] for j, axis in rows.items()} | dict.fromkeys(left, place)
    axes = [to[axis] for axis in range(len(index))]
    kept, at = [d for d in range(len(target)) if d not in dims], op.at.value.data
    if (order := [*kept[:at], *axes, *kept[at:]]) != sorted(order):
        return None
    few = [number if d == place else size for d, size in enumerate(target)]
    positions = BroadcastOp(_wrapped(op, others[0], rw), few, axes)
    values = op.values if len(order) == len(few) else rw.value(ReshapeOp(op.values, few))
    combine = "add" if isinstance(op, ScatterAddOp) else "none"
    return ScatterAlongOp(op.target, rw.value(positions), values, place, combine)


def _counts_all(index: SSAValue, size: object) -> int | None:
    """The dimension of an index along which it counts all of a dimension of this size."""
    found = counted(index)
    return found.dim if found is not None and found.start == 0 and found.size == size else None


def _wrapped(op: ScatterOp | ScatterAddOp, number: int, rw: Rewrite) -> SSAValue:
    """Positions of which none counts from the end."""
    index = op.indices[number]
    if op.strict is not None:
        return index
    sizes, size = sizes_of(index), sizes_of(op.target)[ints(op.dims)[number]]
    end = FullOp(size if size.constant is None else size.constant, i64, sizes)
    zero = rw.value(FullOp(0, i64, sizes))
    negative = rw.value(CompareOp(index, zero, "lt"))
    return rw.value(SelectOp(negative, rw.value(AddOp(index, rw.value(end))), index))
