"""Which values repeat one literal, seen through the ops that keep that so."""

from __future__ import annotations

from xdsl.ir import SSAValue

from tilewright.dialects.tw.creation import ConstantOp, FullOp, as_element, splat_value
from tilewright.dialects.tw.view import BroadcastOp, ReshapeOp, SliceOp, TransposeOp

_KEEPING = (BroadcastOp, ReshapeOp, SliceOp, TransposeOp)


def splat_of(value: SSAValue) -> float | int | None:
    """The literal that every element of `value` equals, None where that is unknown."""
    owner = value.owner
    while isinstance(owner, _KEEPING):
        owner = owner.source.owner
    if isinstance(owner, FullOp):
        return splat_value(owner)
    if isinstance(owner, ConstantOp) and owner.repeats:
        first = owner.value.get_values()[0]
        return as_element(first, value.type) if isinstance(first, int | float) else None
    return None
