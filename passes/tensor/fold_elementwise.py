"""Identities of elementwise ops that hold for every input, NaN, infinities and -0.0 included."""

from __future__ import annotations

from math import copysign, frexp, inf

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.float8 import FORMATS
from tilewright.dialects.index_expr import Expr
from tilewright.dialects.lossless import is_lossless
from tilewright.dialects.tw.creation import FullOp
from tilewright.dialects.tw.elementwise import (
    AbsOp,
    BitwiseNotOp,
    Exp2Op,
    LogicalNotOp,
    NegOp,
    ReciprocalOp,
)
from tilewright.dialects.tw.elementwise_binary import (
    AddOp,
    AndOp,
    CastOp,
    DivOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    OrOp,
    PowOp,
    SelectOp,
    SubOp,
    XorOp,
)
from tilewright.dialects.tw.float8 import DecodeFloat8Op, EncodeFloat8Op
from tilewright.dialects.types import element_type_of, is_float, sizes_of, ui8

from ..driver import Rewrite, Rules
from .splats import splat_of


def full_like(value: SSAValue, scalar: float | int | Expr) -> FullOp:
    return FullOp(scalar, element_type_of(value), sizes_of(value))


def _is_zero(scalar: float | int | None, sign: float) -> bool:
    """True for integer 0 and for the float zero of this sign."""
    if scalar is None or scalar != 0:
        return False
    return not isinstance(scalar, float) or copysign(1.0, scalar) == sign


def double_unary(op: Operation, rw: Rewrite) -> SSAValue | None:
    """f(f(x)) is x, for negation and logical or bitwise not."""
    inner = op.operands[0].owner
    return inner.operands[0] if isinstance(inner, type(op)) else None


def abs_of_abs(op: Operation, rw: Rewrite) -> SSAValue | None:
    """abs(x) is x where x has no sign, or is abs(y); abs(neg(x)) is abs(x)."""
    inner = op.operands[0].owner
    if isinstance(inner, AbsOp) or element_type_of(op.operands[0]) == ui8:
        return op.operands[0]
    return rw.value(AbsOp(inner.operand)) if isinstance(inner, NegOp) else None


def add_zero(op: Operation, rw: Rewrite) -> SSAValue | None:
    """x + -0.0 is x for every float (0.0 + 0.0 is not -0.0); x + 0 for integers."""
    for value, other in ((op.operands[0], op.operands[1]), (op.operands[1], op.operands[0])):
        if _is_zero(splat_of(other), -1.0):
            return value
    return None


def subtract_zero(op: Operation, rw: Rewrite) -> SSAValue | None:
    """x - 0.0 is x for every float."""
    return op.operands[0] if _is_zero(splat_of(op.operands[1]), 1.0) else None


def subtract_what_was_added(op: Operation, rw: Rewrite) -> SSAValue | None:
    """(x + y) - y is x for integers, which wrap around."""
    total, taken = op.operands
    if is_float(element_type_of(taken)) or not isinstance(total.owner, AddOp):
        return None
    x, y = total.owner.operands
    return x if y is taken else y if x is taken else None


def multiply_by_unit(op: Operation, rw: Rewrite) -> SSAValue | None:
    """x * 1 is x; x * -1.0 is neg x; x * 0 is 0 for integers only (NaN, inf and -0.0)."""
    for value, other in ((op.operands[0], op.operands[1]), (op.operands[1], op.operands[0])):
        scalar = splat_of(other)
        if scalar == 1:
            return value
        if scalar == -1:
            return rw.value(NegOp(value))
        if scalar == 0 and not isinstance(scalar, float):
            return other
    return None


def divide_by_constant(op: Operation, rw: Rewrite) -> SSAValue | None:
    """x / 1 is x; dividing by a power of two is multiplying by its exact reciprocal."""
    scalar = splat_of(op.operands[1])
    if scalar == 1:
        return op.operands[0]
    if splat_of(op.operands[0]) == 1:
        return rw.value(ReciprocalOp(op.operands[1]))
    if scalar is None or abs(scalar) in (0, inf) or abs(frexp(scalar)[0]) != 0.5:
        return None
    if not 2.0**-14 <= abs(scalar) <= 2.0**14:  # both normal in every float type
        return None
    factor = rw.value(full_like(op.operands[1], 1.0 / scalar))
    return rw.value(MulOp(op.operands[0], factor))


def power_by_constant(op: Operation, rw: Rewrite) -> SSAValue | None:
    """x ** 1 is x, x ** 0 is 1 (for NaN too), x ** 2 is x * x, x ** -1 is 1 / x on floats."""
    base, exponent = op.operands
    scalar = splat_of(exponent)
    if scalar == 1:
        return base
    if scalar == 0:
        one = 1.0 if is_float(element_type_of(base)) else 1
        return rw.value(full_like(base, one))
    if scalar == 2:
        return rw.value(MulOp(base, base))
    if scalar == -1 and is_float(element_type_of(base)):
        return rw.value(ReciprocalOp(base))
    return None


def power_of_two(op: Operation, rw: Rewrite) -> SSAValue | None:
    """2 ** x is exp2(x) on floats: so a number is scaled by an exponent (`ldexp`)."""
    base, exponent = op.operands
    floats = is_float(element_type_of(exponent))
    return rw.value(Exp2Op(exponent)) if floats and splat_of(base) == 2 else None


def same_operands(op: Operation, rw: Rewrite) -> SSAValue | None:
    """f(x, x) is x, for maximum, minimum, and, or."""
    return op.operands[0] if op.operands[0] is op.operands[1] else None


def bits_with_constant(op: Operation, rw: Rewrite) -> SSAValue | None:
    """x & ~0, x | 0 and x ^ 0 are x; x & 0 is 0, x | ~0 is ~0; on i1, x ^ 1 is not x."""
    for value, other in ((op.operands[0], op.operands[1]), (op.operands[1], op.operands[0])):
        scalar = splat_of(other)
        if scalar is None:
            continue
        ones = scalar == _all_ones(element_type_of(other))
        if (scalar == 0 and isinstance(op, OrOp | XorOp)) or (ones and isinstance(op, AndOp)):
            return value
        if (scalar == 0 and isinstance(op, AndOp)) or (ones and isinstance(op, OrOp)):
            return other
        if ones and isinstance(op, XorOp):
            negation = LogicalNotOp if element_type_of(value) == i1 else BitwiseNotOp
            return rw.value(negation(value))
    return None


def _all_ones(element: Attribute) -> int:
    if element == i1:
        return 1
    return 255 if element == ui8 else -1


def select_known(op: Operation, rw: Rewrite) -> SSAValue | None:
    """A constant condition, equal sides, or a negated condition."""
    condition, on_true, on_false = op.operands
    if on_true is on_false:
        return on_true
    scalar = splat_of(condition)
    if scalar is not None:
        return on_true if scalar else on_false
    if isinstance(inner := condition.owner, LogicalNotOp):
        return rw.value(SelectOp(inner.operand, on_false, on_true))
    return None


def cast_known(op: Operation, rw: Rewrite) -> SSAValue | None:
    """A cast to the same type; a cast after one that loses nothing."""
    assert isinstance(op, CastOp)
    source = op.operand
    target = element_type_of(op.result)
    if element_type_of(source) == target:
        return source
    inner = source.owner
    if not isinstance(inner, CastOp) or not is_lossless(
        element_type_of(inner.operand), element_type_of(source)
    ):
        return None
    if element_type_of(inner.operand) == target:
        return inner.operand
    return rw.value(CastOp(inner.operand, target, rounded=op.rounded is not None))


def encode_decoded(op: Operation, rw: Rewrite) -> SSAValue | None:
    """The bits of what bits of that kind stand for are those bits, where one pattern is no number."""
    assert isinstance(op, EncodeFloat8Op)
    inner = op.operand.owner
    if not isinstance(inner, DecodeFloat8Op) or inner.kind != op.kind:
        return None
    return None if FORMATS[op.type_].infinite else inner.operand


ELEMENTWISE_RULES: Rules = {
    NegOp: (double_unary,),
    LogicalNotOp: (double_unary,),
    BitwiseNotOp: (double_unary,),
    AbsOp: (abs_of_abs,),
    AddOp: (add_zero,),
    SubOp: (subtract_zero, subtract_what_was_added),
    MulOp: (multiply_by_unit,),
    DivOp: (divide_by_constant,),
    PowOp: (power_by_constant, power_of_two),
    MaximumOp: (same_operands,),
    MinimumOp: (same_operands,),
    AndOp: (same_operands, bits_with_constant),
    OrOp: (same_operands, bits_with_constant),
    XorOp: (bits_with_constant,),
    SelectOp: (select_known,),
    CastOp: (cast_known,),
    EncodeFloat8Op: (encode_decoded,),
}
