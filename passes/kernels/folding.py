"""What arithmetic on numbers is, where it is written: another number, or one of its operands."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from math import copysign, isfinite
from typing import cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import AnyFloat, FloatAttr, f32, f64
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.types import element_type

_ON_NUMBERS: Mapping[type[Operation], Callable[[float, float], float]] = {
    arith.AddfOp: float.__add__,
    arith.SubfOp: float.__sub__,
    arith.MulfOp: float.__mul__,
    arith.DivfOp: float.__truediv__,
    arith.MaximumfOp: max,
    arith.MinimumfOp: min,
}
_UNCHANGED_BY: Mapping[type[Operation], float] = {
    arith.AddfOp: -0.0,
    arith.SubfOp: 0.0,
    arith.MulfOp: 1.0,
    arith.DivfOp: 1.0,
}
"""The operand on the right that leaves all that stands on the left as it is, -0.0 and NaN too."""
_COMMUTES = (arith.AddfOp, arith.MulfOp)


def folded(op: Operation) -> SSAValue | FloatAttr[AnyFloat] | None:
    """The operand that `op` leaves as it is, or the number (of each lane) that it makes of two of them.

    `x * 1.0` is `x`, and `49152.0 * 2.0` a number; `x + 0.0` and `x * 0.0` stay: -0.0, NaN.
    """
    if type(op) not in _ON_NUMBERS:
        return None
    lhs, rhs = op.operands
    left, right = number_of(lhs), number_of(rhs)
    if left is not None and right is not None:
        return _rounded(op, left, right)
    if _same(right, neutral := _UNCHANGED_BY.get(type(op))):
        return lhs
    return rhs if isinstance(op, _COMMUTES) and _same(left, neutral) else None


def number_of(value: SSAValue) -> float | None:
    """What each lane of `value` holds, if that is one number."""
    while isinstance(value.owner, vector.BroadcastOp):
        value = value.owner.source
    owner = value.owner
    number = owner.value if isinstance(owner, arith.ConstantOp) else None
    return number.value.data if isinstance(number, FloatAttr) else None


def _same(found: float | None, wanted: float | None) -> bool:
    if found is None or wanted is None:
        return False
    return found == wanted and copysign(1.0, found) == copysign(1.0, wanted)


def _rounded(op: Operation, left: float, right: float) -> FloatAttr[AnyFloat] | None:
    """The number, rounded once to the type; none where that is infinite, or zeros of two signs meet."""
    type_ = element_type(op.results[0].type)
    divides = isinstance(op, arith.DivfOp) and not right
    if type_ not in (f32, f64) or divides or not (isfinite(left) and isfinite(right)):
        return None
    if isinstance(op, arith.MaximumfOp | arith.MinimumfOp) and left == right and not _same(left, right):
        return None
    found = _ON_NUMBERS[type(op)](left, right)
    try:
        # Of a sum, product or quotient of f32, f64 has so many bits that rounding it again is rounding once.
        found = struct.unpack("f", struct.pack("f", found))[0] if type_ == f32 else found
    except OverflowError:
        return None
    return FloatAttr(found, cast(AnyFloat, type_)) if isfinite(found) else None
