"""ATen elementwise operations as tw ops, with casts and broadcasts explicit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from xdsl.dialects.builtin import f32, i1
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tw import elementwise as unary
from tilewright.dialects.tw import elementwise_binary as binary
from tilewright.dialects.types import is_float, is_half, sizes_of, ui8

from ..errors import Unsupported
from .builder import Builder, FloatScalar, Operand, Row, as_tensor, element_of, promote
from .float8 import decoded, encoded, kind_of

UnaryClass = Callable[[SSAValue], Operation]
BinaryClass = Callable[[SSAValue, SSAValue], Operation]

# Integer operands are converted to the (float) result type first.
FLOAT_UNARY: Mapping[str, UnaryClass] = {
    "exp": unary.ExpOp,
    "exp2": unary.Exp2Op,
    "expm1": unary.Expm1Op,
    "log": unary.LogOp,
    "log2": unary.Log2Op,
    "log10": unary.Log10Op,
    "log1p": unary.Log1pOp,
    "sqrt": unary.SqrtOp,
    "rsqrt": unary.RsqrtOp,
    "reciprocal": unary.ReciprocalOp,
    "sin": unary.SinOp,
    "cos": unary.CosOp,
    "tan": unary.TanOp,
    "asin": unary.AsinOp,
    "acos": unary.AcosOp,
    "atan": unary.AtanOp,
    "sinh": unary.SinhOp,
    "cosh": unary.CoshOp,
    "tanh": unary.TanhOp,
    "asinh": unary.AsinhOp,
    "acosh": unary.AcoshOp,
    "atanh": unary.AtanhOp,
    "erf": unary.ErfOp,
    "erfc": unary.ErfcOp,
    "lgamma": unary.LgammaOp,
    "sigmoid": unary.SigmoidOp,
}

# Integers are whole already.
ROUNDING: Mapping[str, UnaryClass] = {
    "floor": unary.FloorOp,
    "ceil": unary.CeilOp,
    "round": unary.RoundOp,
    "trunc": unary.TruncOp,
}

SIGNED: Mapping[str, UnaryClass] = {
    "neg": unary.NegOp,
    "abs": unary.AbsOp,
    "sign": unary.SignOp,
    "sgn": unary.SignOp,
}

PREDICATES: Mapping[str, UnaryClass] = {"isnan": unary.IsNanOp, "isinf": unary.IsInfOp}

# Computed in the result's type.
BINARY: Mapping[str, BinaryClass] = {
    "mul": binary.MulOp,
    "maximum": binary.MaximumOp,
    "minimum": binary.MinimumOp,
    "fmax": binary.FmaxOp,
    "fmin": binary.FminOp,
    "hypot": binary.HypotOp,
    "fmod": binary.FmodOp,
    "remainder": binary.RemainderOp,
    "floor_divide": binary.FloorDivOp,
    "atan2": binary.Atan2Op,
    "copysign": binary.CopysignOp,
    "bitwise_and": binary.AndOp,
    "bitwise_or": binary.OrOp,
    "bitwise_xor": binary.XorOp,
    "bitwise_left_shift": binary.ShiftLeftOp,
    "bitwise_right_shift": binary.ShiftRightOp,
    "__lshift__": binary.ShiftLeftOp,  # Python's operators
    "__rshift__": binary.ShiftRightOp,
    "true_divide": binary.DivOp,
}
ON_BOOL: Mapping[BinaryClass, BinaryClass] = {binary.MulOp: binary.AndOp, binary.AddOp: binary.OrOp}

COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")
LOGICAL: Mapping[str, BinaryClass] = {
    "logical_and": binary.AndOp,
    "logical_or": binary.OrOp,
    "logical_xor": binary.XorOp,
}
IDENTITY = (
    "aten.clone.default",
    "aten.alias.default",
    "aten.detach.default",
    "aten.lift_fresh_copy.default",
    "aten.lift_fresh.default",
    "aten.lift.default",
    "aten.contiguous.default",
    "prims.view_of.default",
    "prims.copy_strided.default",
    "prims.device_put.default",
)
_CONVERSIONS = (
    "aten._to_copy.default",
    "aten.copy.default",
    "aten.copy_.default",
    "prims.convert_element_type.default",
)
"""What a program calls for another dtype; other ops are decomposed into conversions too."""
OVERLOADS = ("default", "Tensor", "Scalar", "Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")


def _float_unary(op: UnaryClass) -> Row:
    def row(b: Builder, x: Operand) -> SSAValue:
        return b.elementwise(op, [x])

    return row


def _rounding(op: UnaryClass) -> Row:
    def row(b: Builder, x: Operand, *, decimals: int = 0) -> SSAValue:
        if decimals:
            return _rounded_to_decimals(b, op, x, decimals)
        return b.elementwise(op, [x]) if is_float(b.element) else as_tensor(x)

    return row


def _rounded_to_decimals(b: Builder, op: UnaryClass, x: Operand, decimals: int) -> SSAValue:
    """Scaled by a power of ten, whole, and scaled back, as ATen does."""
    if not is_float(b.element):
        raise Unsupported("rounding integers to decimals")
    work = f32 if is_half(b.element) else b.element
    value, power = (b.operand(v, work, b.sizes) for v in (x, 10.0 ** abs(decimals)))
    there, back = (binary.MulOp, binary.DivOp) if decimals > 0 else (binary.DivOp, binary.MulOp)
    return b.cast(b.emit(back(b.emit(op(b.emit(there(value, power)))), power)), b.element)


def _signed(op: UnaryClass) -> Row:
    def row(b: Builder, x: SSAValue) -> SSAValue:
        return x if element_of(x) == i1 else b.elementwise(op, [x])

    return row


def _predicate(op: UnaryClass) -> Row:
    def row(b: Builder, x: SSAValue) -> SSAValue:
        return b.emit(op(x)) if is_float(element_of(x)) else b.full(False, i1, sizes_of(x))

    return row


def arithmetic(b: Builder, op: BinaryClass, x: Operand, y: Operand) -> SSAValue:
    """`op` in the result's type; on i1 the logical counterpart."""
    if b.element == i1:
        op = ON_BOOL.get(op, op)
    return b.elementwise(op, [x, y])


def _binary(op: BinaryClass) -> Row:
    def row(b: Builder, x: Operand, y: Operand) -> SSAValue:
        return arithmetic(b, op, x, y)

    return row


def _sum_with(op: BinaryClass) -> Row:
    def row(b: Builder, x: Operand, y: Operand, alpha: Any = 1) -> SSAValue:
        if b.element == i1 and isinstance(alpha, Expr):
            raise Unsupported("booleans times a size")
        if b.element == i1:  # a factor says whether to add at all
            alpha = bool(alpha)
        if alpha == 1 and not isinstance(alpha, FloatScalar):
            return arithmetic(b, op, x, y)
        work = f32 if is_half(b.element) else b.element
        operands = [b.operand(value, work, b.sizes) for value in (x, y, alpha)]
        scaled = b.emit(binary.MulOp(operands[1], operands[2]))
        return b.cast(b.emit(op(operands[0], scaled)), b.element)

    return row


def _reversed_sub(b: Builder, x: Operand, y: Operand, alpha: Any = 1) -> SSAValue:
    if alpha != 1:
        raise Unsupported("rsub with alpha")
    return arithmetic(b, binary.SubOp, y, x)


def _divide(b: Builder, x: Operand, y: Operand, *, rounding_mode: str | None = None) -> SSAValue:
    if rounding_mode is None:
        return b.elementwise(binary.DivOp, [x, y])
    if rounding_mode == "floor":
        return b.elementwise(binary.FloorDivOp, [x, y])
    if not is_float(b.element):
        return b.elementwise(binary.TruncDivOp, [x, y])
    return b.emit(unary.TruncOp(b.elementwise(binary.DivOp, [x, y])))


def _compare(predicate: str) -> Row:
    """In the type of both operands: a Python number beside halves is one of them, so `half(0.1) == 0.1`."""

    def row(b: Builder, x: Operand, y: Operand) -> SSAValue:
        element = promote([x, y])
        lhs, rhs = (b.operand(value, element, b.sizes) for value in (x, y))
        return b.emit(binary.CompareOp(lhs, rhs, predicate))

    return row


def _logical(op: BinaryClass) -> Row:
    def row(b: Builder, x: Operand, y: Operand) -> SSAValue:
        return b.emit(op(b.operand(x, i1, b.sizes), b.operand(y, i1, b.sizes)))

    return row


def _logical_not(b: Builder, x: SSAValue) -> SSAValue:
    return b.emit(unary.LogicalNotOp(b.cast(x, i1)))


def _where(b: Builder, condition: SSAValue, x: Operand, y: Operand) -> SSAValue:
    chosen = b.broadcast(b.cast(condition, i1), b.sizes)
    lhs, rhs = (b.operand(value, b.element, b.sizes) for value in (x, y))
    return b.emit(binary.SelectOp(chosen, lhs, rhs))


def _nextafter(b: Builder, x: Operand, y: Operand) -> SSAValue:
    if is_half(b.element):
        raise Unsupported("nextafter of 16-bit floats, which compute in f32")
    return b.elementwise(binary.NextafterOp, [x, y])


def _signbit(b: Builder, x: SSAValue) -> SSAValue:
    element, sizes = element_of(x), sizes_of(x)
    if element in (i1, ui8):
        return b.full(False, i1, sizes)
    if is_float(element):
        x = b.emit(binary.CopysignOp(b.full(1.0, element, sizes), x))
    return b.emit(binary.CompareOp(x, b.full(0, element, sizes), "lt"))


def _limit(op: BinaryClass) -> Row:
    """The limit stands first: a zero of the other sign passes, as in ATen."""

    def row(b: Builder, x: Operand, limit: Operand) -> SSAValue:
        return arithmetic(b, op, limit, x)

    return row


def _clamp(b: Builder, x: Operand, low: Operand | None = None, high: Operand | None = None) -> SSAValue:
    limits = [limit for limit in (low, high) if limit is not None]
    work = b.working_element(b.element, limits)
    value = b.operand(x, work, b.sizes)
    if low is not None:
        value = b.emit(binary.MaximumOp(b.operand(low, work, b.sizes), value))
    if high is not None:
        value = b.emit(binary.MinimumOp(b.operand(high, work, b.sizes), value))
    return b.cast(value, b.element)


def _relu(b: Builder, x: SSAValue) -> SSAValue:
    return b.emit(binary.MaximumOp(b.full(0, b.element, b.sizes), x))


_POWERS: Mapping[float, Callable[[Builder, SSAValue], SSAValue]] = {
    0: lambda b, x: b.full(1, element_of(x), sizes_of(x)),
    1: lambda b, x: x,
    2: lambda b, x: b.emit(binary.MulOp(x, x)),
    3: lambda b, x: b.emit(binary.MulOp(b.emit(binary.MulOp(x, x)), x)),
}
_FLOAT_POWERS: Mapping[float, Callable[[Builder, SSAValue], SSAValue]] = {
    0.5: lambda b, x: b.emit(unary.SqrtOp(x)),
    -0.5: lambda b, x: b.emit(unary.RsqrtOp(x)),
    -1: lambda b, x: b.emit(unary.ReciprocalOp(x)),
    -2: lambda b, x: b.emit(unary.ReciprocalOp(b.emit(binary.MulOp(x, x)))),
}


def _pow(b: Builder, x: Operand, y: Operand) -> SSAValue:
    if b.element == i1:
        raise Unsupported("pow on torch.bool")
    if isinstance(x, SSAValue) and isinstance(y, int | float):
        rule = _POWERS.get(y) or (_FLOAT_POWERS.get(y) if is_float(b.element) else None)
        if rule is not None:
            work = f32 if is_half(b.element) else b.element
            return b.cast(rule(b, b.operand(x, work, b.sizes)), b.element)
    return b.elementwise(binary.PowOp, [x, y])


def _multiply_add(b: Builder, x: Operand, y: Operand, z: Operand) -> SSAValue:
    work = f32 if is_half(b.element) else b.element
    operands = [b.operand(value, work, b.sizes) for value in (x, y, z)]
    product = b.emit(binary.MulOp(operands[0], operands[1]))
    return b.cast(b.emit(binary.AddOp(product, operands[2])), b.element)


def _add_combined(op: BinaryClass) -> Row:
    def row(b: Builder, x: Operand, y: Operand, z: Operand, value: Operand = 1) -> SSAValue:
        work = f32 if is_half(b.element) else b.element
        operands = [b.operand(v, work, b.sizes) for v in (x, y, z)]
        combined = b.emit(op(operands[1], operands[2]))
        if value != 1:
            combined = b.emit(binary.MulOp(combined, b.operand(value, work, b.sizes)))
        return b.cast(b.emit(binary.AddOp(operands[0], combined)), b.element)

    return row


def _lerp(b: Builder, x: Operand, y: Operand, weight: Operand) -> SSAValue:
    work = f32 if is_half(b.element) else b.element
    start, end, w = (b.operand(value, work, b.sizes) for value in (x, y, weight))
    scaled = b.emit(binary.MulOp(w, b.emit(binary.SubOp(end, start))))
    return b.cast(b.emit(binary.AddOp(start, scaled)), b.element)


def _identity(b: Builder, x: SSAValue, *args: object, **kwargs: object) -> SSAValue:
    return x


def _convert(b: Builder, x: SSAValue, dtype: torch.dtype) -> SSAValue:
    """What the program asks for is rounded; a decomposed op may be more exact than its dtype."""
    original = b.node.meta.get("original_aten")
    asked = original is None or str(original) in _CONVERSIONS
    if (fake := b.carried.get(x)) is not None and fake.dtype == dtype:
        return x  # the bits, of NaN too
    if (kind := kind_of(dtype)) is not None:
        return encoded(b, decoded(b, x), kind)
    return b.cast(decoded(b, x), b.element_of_dtype(dtype), rounded=asked)


def _copy(b: Builder, target: SSAValue, source: SSAValue, non_blocking: bool = False) -> SSAValue:
    return b.broadcast(b.cast(source, b.element, rounded=True), b.sizes)


def _bitwise_not(b: Builder, x: SSAValue) -> SSAValue:
    return b.emit(unary.BitwiseNotOp(x))


def _family_rows() -> dict[str, Row]:
    named: dict[str, Row] = {}
    named.update({name: _float_unary(op) for name, op in FLOAT_UNARY.items()})
    named.update({name: _rounding(op) for name, op in ROUNDING.items()})
    named.update({name: _signed(op) for name, op in SIGNED.items()})
    named.update({name: _predicate(op) for name, op in PREDICATES.items()})
    named.update({name: _binary(op) for name, op in BINARY.items()})
    named.update({name: _compare(name) for name in COMPARE})
    named.update({name: _logical(op) for name, op in LOGICAL.items()})
    named.update(
        add=_sum_with(binary.AddOp),
        sub=_sum_with(binary.SubOp),
        rsub=_reversed_sub,
        div=_divide,
        pow=_pow,
        logical_not=_logical_not,
        bitwise_not=_bitwise_not,
        clamp=_clamp,
        clamp_min=_limit(binary.MaximumOp),
        clamp_max=_limit(binary.MinimumOp),
        signbit=_signbit,
        nextafter=_nextafter,
        relu=_relu,
        addcmul=_add_combined(binary.MulOp),
        addcdiv=_add_combined(binary.DivOp),
        lerp=_lerp,
        copy=_copy,
    )
    return named


NAMED = _family_rows()
ROWS: dict[str, Row] = {
    **{f"aten.{name}.{overload}": row for name, row in NAMED.items() for overload in OVERLOADS},
    **dict.fromkeys(IDENTITY, _identity),
    "aten.round.decimals": NAMED["round"],
    "aten.div.Tensor_mode": _divide,
    "aten.div.Scalar_mode": _divide,
    "aten.where.self": _where,
    "aten.where.ScalarSelf": _where,
    "aten.where.ScalarOther": _where,
    "aten.where.Scalar": _where,
    "prims.convert_element_type.default": _convert,
    "prims.fma.default": _multiply_add,
}
