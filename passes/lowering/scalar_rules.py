"""tw elementwise op -> scalar arith and math ops: a row per op, a function where a row is not enough.

A rule gets the operands in their compute type (dialects.types.compute_type) and returns the
result in the compute type of the op's element type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerType, UnitAttr, f32, i1, i8
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from tilewright.dialects.float8 import FORMATS
from tilewright.dialects.lossless import is_lossless
from tilewright.dialects.tk.arith import ROUNDED, ExtSIOp, ExtUIOp, FPToSIOp, SIToFPOp, TruncIOp, UIToFPOp
from tilewright.dialects.tk.calls import AssertOp, CallOp
from tilewright.dialects.tw import elementwise as un
from tilewright.dialects.tw import elementwise_binary as bi
from tilewright.dialects.tw.bits import BitcastOp
from tilewright.dialects.tw.float8 import DecodeFloat8Op, EncodeFloat8Op
from tilewright.dialects.types import compute_type, element_type_of, is_float, ui8

from ..kernels.scalar_builder import ScalarBuilder
from .foreign import foreign_scalar_rule

Rule = Callable[[ScalarBuilder, Operation, Sequence[SSAValue]], SSAValue]

FLOAT_ROWS: Mapping[type[Operation], type[Operation]] = {
    un.ExpOp: math.ExpOp,
    un.Exp2Op: math.Exp2Op,
    un.Expm1Op: math.ExpM1Op,
    un.LogOp: math.LogOp,
    un.Log2Op: math.Log2Op,
    un.Log10Op: math.Log10Op,
    un.Log1pOp: math.Log1pOp,
    un.SqrtOp: math.SqrtOp,
    un.RsqrtOp: math.RsqrtOp,
    un.SinOp: math.SinOp,
    un.CosOp: math.CosOp,
    un.TanOp: math.TanOp,
    un.AsinOp: math.AsinOp,
    un.AcosOp: math.AcosOp,
    un.AtanOp: math.AtanOp,
    un.SinhOp: math.SinhOp,
    un.CoshOp: math.CoshOp,
    un.TanhOp: math.TanhOp,
    un.AsinhOp: math.AsinhOp,
    un.AcoshOp: math.AcoshOp,
    un.AtanhOp: math.AtanhOp,
    un.ErfOp: math.ErfOp,
    un.FloorOp: math.FloorOp,
    un.CeilOp: math.CeilOp,
    un.RoundOp: math.RoundEvenOp,
    un.TruncOp: math.TruncOp,
    un.NegOp: arith.NegfOp,
    un.AbsOp: math.AbsFOp,
    bi.AddOp: arith.AddfOp,
    bi.SubOp: arith.SubfOp,
    bi.MulOp: arith.MulfOp,
    bi.DivOp: arith.DivfOp,
    bi.PowOp: math.PowFOp,
    bi.MaximumOp: arith.MaximumfOp,
    bi.MinimumOp: arith.MinimumfOp,
    bi.Atan2Op: math.Atan2Op,
    bi.CopysignOp: math.CopySignOp,
    bi.FmaxOp: arith.MaxnumfOp,
    bi.FminOp: arith.MinnumfOp,
}
"""One op of the same meaning on floats."""

INTEGER_ROWS: Mapping[type[Operation], type[Operation]] = {
    un.AbsOp: math.AbsIOp,
    bi.AddOp: arith.AddiOp,
    bi.SubOp: arith.SubiOp,
    bi.MulOp: arith.MuliOp,
    bi.PowOp: math.IPowIOp,
    bi.AndOp: arith.AndIOp,
    bi.OrOp: arith.OrIOp,
    bi.XorOp: arith.XOrIOp,
    bi.MaximumOp: arith.MaxSIOp,
    bi.MinimumOp: arith.MinSIOp,
    bi.FmaxOp: arith.MaxSIOp,
    bi.FminOp: arith.MinSIOp,
}
"""One op of the same meaning on integers; narrow ones are widened, so signedness needs no row."""

_I1_ROWS: Mapping[type[Operation], type[Operation]] = {
    bi.MaximumOp: arith.OrIOp,
    bi.MinimumOp: arith.AndIOp,
    bi.FmaxOp: arith.OrIOp,
    bi.FminOp: arith.AndIOp,
}

_FLOAT_PREDICATES = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_INT_PREDICATES = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}


STEPS = frozenset[type[Operation]](
    (
        *(un.FloorOp, un.CeilOp, un.RoundOp, un.TruncOp, un.SignOp, bi.FloorDivOp, bi.FmodOp, bi.RemainderOp),
        *(un.SqrtOp, un.RsqrtOp, un.LogOp, un.Log2Op, un.Log10Op, un.Log1pOp, bi.PowOp),
        *(un.AsinOp, un.AcosOp, un.AcoshOp, un.AtanhOp),
    )
)
"""Functions of floats that jump, or end: what is rounded before decides between two results far apart.

The cosine of an angle may come out beyond 1 in f32, where a half is 1 and has an arc cosine.
"""


def has_rule(op: Operation) -> bool:
    own = type(op) in FLOAT_ROWS or type(op) in INTEGER_ROWS or type(op) in FUNCTIONS
    return own or foreign_scalar_rule(op.name) is not None


def lower(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    """Append the scalar ops of `op`; its result wraps as the element type would."""
    stored = element_type_of(op.operands[-1])
    if (function := FUNCTIONS.get(type(op)) or foreign_scalar_rule(op.name)) is not None:
        value = function(b, op, args)
    elif is_float(stored):
        value = b.op(FLOAT_ROWS[type(op)], *args)
    elif stored == i1:
        value = b.op(_I1_ROWS.get(type(op)) or INTEGER_ROWS[type(op)], *args)
    else:
        value = b.op(INTEGER_ROWS[type(op)], *args)
    return b.wrap(value, element_type_of(op.results[0]))


# Unary


def _neg(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    (x,) = args
    if is_float(x.type):
        return b.op(arith.NegfOp, x)
    return b.op(arith.SubiOp, b.constant(0, x.type), x)


def _sign(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    (x,) = args
    zero, one, minus = (b.constant(v, x.type) for v in (0, 1, -1))
    if is_float(x.type):
        negative = b.select(b.compare_float("olt", x, zero), minus, zero)
        return b.select(b.compare_float("ogt", x, zero), one, negative)
    negative = b.select(b.compare_int("slt", x, zero), minus, zero)
    return b.select(b.compare_int("sgt", x, zero), one, negative)


def _reciprocal(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    return b.op(arith.DivfOp, b.constant(1.0, args[0].type), args[0])


def _sigmoid(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    one = b.constant(1.0, args[0].type)
    decay = b.op(math.ExpOp, b.op(arith.NegfOp, args[0]))
    return b.op(arith.DivfOp, one, b.op(arith.AddfOp, one, decay))


def _call(callee: str) -> Rule:
    def rule(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
        return b.add(CallOp.make(callee, args)).results[0]

    return rule


def _invert(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    (x,) = args
    return b.op(arith.XOrIOp, x, b.constant(True if x.type == i1 else -1, x.type))


def _isnan(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    return b.compare_float("uno", args[0], args[0])


def _isinf(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    return b.compare_float("oeq", b.op(math.AbsFOp, args[0]), b.constant(float("inf"), args[0].type))


# Division of integers and floats


def _checked_divisor(b: ScalarBuilder, divisor: SSAValue) -> SSAValue:
    """`divisor`, replaced by 1 where it is 0; a 0 raises ZeroDivisionError after the kernel."""
    zero, one = b.constant(0, divisor.type), b.constant(1, divisor.type)
    nonzero = b.compare_int("ne", divisor, zero)
    b.add(AssertOp.make(nonzero, "division by zero"))
    return b.select(nonzero, divisor, one)


def _signs_differ(b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """True where one is negative and the other is not."""
    zero = b.constant(0, x.type)
    compare, below = (b.compare_float, "olt") if is_float(x.type) else (b.compare_int, "slt")
    return b.op(arith.XOrIOp, compare(below, x, zero), compare(below, y, zero))


def _fmod(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    x, y = args
    if is_float(x.type):
        return b.add(CallOp.make("fmod", (x, y))).results[0]
    return _rem(b, x, _checked_divisor(b, y))


def _rem(b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Integer remainder; -1 divides without the overflow of lowest / -1."""
    one = b.constant(1, x.type)
    safe = b.select(b.compare_int("eq", y, b.constant(-1, x.type)), one, y)
    return b.op(arith.RemSIOp, x, safe)


def _remainder(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    x, y = args
    zero = b.constant(0, x.type)
    if is_float(x.type):
        rest = b.add(CallOp.make("fmod", (x, y))).results[0]
        wrong = b.op(arith.AndIOp, b.compare_float("une", rest, zero), _signs_differ(b, rest, y))
        return b.select(wrong, b.op(arith.AddfOp, rest, y), rest)
    y = _checked_divisor(b, y)
    rest = _rem(b, x, y)
    wrong = b.op(arith.AndIOp, b.compare_int("ne", rest, zero), _signs_differ(b, rest, y))
    return b.select(wrong, b.op(arith.AddiOp, rest, y), rest)


def _quotient(b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Integer quotient towards zero; lowest / -1 wraps to lowest."""
    minus = b.compare_int("eq", y, b.constant(-1, x.type))
    plain = b.op(arith.DivSIOp, x, b.select(minus, b.constant(1, x.type), y))
    return b.select(minus, b.op(arith.SubiOp, b.constant(0, x.type), x), plain)


def _trunc_div(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    return _quotient(b, args[0], _checked_divisor(b, args[1]))


def _floor_div(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    x, y = args
    if is_float(x.type):
        return _float_floor_div(b, x, y)
    y = _checked_divisor(b, y)
    rest = _rem(b, x, y)
    inexact = b.op(arith.AndIOp, b.compare_int("ne", rest, b.constant(0, x.type)), _signs_differ(b, rest, y))
    quotient = _quotient(b, x, y)
    return b.select(inexact, b.op(arith.SubiOp, quotient, b.constant(1, x.type)), quotient)


def _float_floor_div(b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """As c10::div_floor_floating: exact where the quotient is not representable nearby."""
    zero, one, half = (b.constant(v, x.type) for v in (0.0, 1.0, 0.5))
    rest = b.add(CallOp.make("fmod", (x, y))).results[0]
    ratio = b.op(arith.DivfOp, x, y)
    quotient = b.op(arith.DivfOp, b.op(arith.SubfOp, x, rest), y)
    inexact = b.op(arith.AndIOp, b.compare_float("une", rest, zero), _signs_differ(b, rest, y))
    quotient = b.select(inexact, b.op(arith.SubfOp, quotient, one), quotient)
    floor = b.op(math.FloorOp, quotient)
    rounded_up = b.compare_float("ogt", b.op(arith.SubfOp, quotient, floor), half)
    floor = b.select(rounded_up, b.op(arith.AddfOp, floor, one), floor)
    signed_zero = b.op(math.CopySignOp, zero, ratio)
    result = b.select(b.compare_float("une", quotient, zero), floor, signed_zero)
    return b.select(b.compare_float("oeq", y, zero), ratio, result)


# Shifts, comparison, conversion


def _bits(stored: Attribute) -> int:
    assert isa(stored, IntegerType)
    return stored.width.data


def _shift(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    x, y = args
    stored = element_type_of(op.results[0])
    zero, last = b.constant(0, x.type), b.constant(_bits(stored) - 1, x.type)
    fits = b.compare_int("ule", y, last)
    amount = b.select(fits, y, last)
    if isinstance(op, bi.ShiftLeftOp):
        return b.select(fits, b.op(arith.ShLIOp, x, amount), zero)
    shifted = b.op(arith.ShRSIOp, x, amount)
    return b.select(fits, shifted, zero) if stored == ui8 else shifted


def _compare(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    assert isinstance(op, bi.CompareOp)
    x, y = args
    name = op.predicate.data.value
    if is_float(x.type):
        return b.compare_float(_FLOAT_PREDICATES[name], x, y)
    predicate = _INT_PREDICATES[name]
    if x.type == i1:
        predicate = predicate.replace("s", "u")  # true is 1, not -1
    return b.compare_int(predicate, x, y)


def _select(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    return b.select(*args)


def _cast(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    assert isinstance(op, bi.CastOp)
    (x,) = args
    target = element_type_of(op.result)
    value = convert(b, x, compute_type(target), unsigned=x.type == i1)
    if op.rounded is None or is_lossless(element_type_of(op.operand), target):
        return value
    narrow = b.narrow(value, target)
    if isinstance(narrow.owner, arith.TruncFOp):
        narrow.owner.attributes[ROUNDED] = UnitAttr()
    return b.widen(narrow, target)


def convert(b: ScalarBuilder, x: SSAValue, to: Attribute, *, unsigned: bool = False) -> SSAValue:
    """Between compute types: f32, f64, i1, i32, i64."""
    if x.type == to:
        return x
    if to == i1:
        zero = b.constant(0, x.type)
        return b.compare_float("une", x, zero) if is_float(x.type) else b.compare_int("ne", x, zero)
    if is_float(x.type):
        if not is_float(to):
            # narrow integers are computed as i32 and keep the low bits, as C++'s conversion does in ATen
            return b.op(FPToSIOp, x, type_=to)
        return b.op(arith.ExtFOp if _float_bits(to) > _float_bits(x.type) else arith.TruncFOp, x, type_=to)
    if is_float(to):
        return b.op(UIToFPOp if unsigned else SIToFPOp, x, type_=to)
    if _bits(to) < _bits(x.type):
        return b.op(TruncIOp, x, type_=to)
    return b.op(ExtUIOp if unsigned else ExtSIOp, x, type_=to)


def _float_bits(type_: Attribute) -> int:
    return type_.bitwidth  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]


def _decode(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    assert isinstance(op, DecodeFloat8Op)
    bits = b.op(arith.BitcastOp, b.narrow(args[0], i8), type_=op.type_)
    return b.op(arith.ExtFOp, bits, type_=f32)


def _bitcast(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    return b.op(arith.BitcastOp, args[0], type_=element_type_of(op.results[0]))


def _encode(b: ScalarBuilder, op: Operation, args: Sequence[SSAValue]) -> SSAValue:
    assert isinstance(op, EncodeFloat8Op)
    (number,) = args
    if op.clamped is not None:
        format_ = FORMATS[op.type_]
        largest = format_.values[format_.largest]
        for sense, limit in (("ogt", largest), ("olt", -largest)):  # what is no number keeps its sign
            bound = b.constant(limit, f32)
            number = b.select(b.compare_float(sense, number, bound), bound, number)
    rounded = b.op(arith.TruncFOp, number, type_=op.type_)
    return b.widen(b.op(arith.BitcastOp, rounded, type_=i8), i8)


FUNCTIONS: Mapping[type[Operation], Rule] = {
    BitcastOp: _bitcast,
    DecodeFloat8Op: _decode,
    EncodeFloat8Op: _encode,
    un.NegOp: _neg,
    un.SignOp: _sign,
    un.ReciprocalOp: _reciprocal,
    un.SigmoidOp: _sigmoid,
    un.ErfcOp: _call("erfc"),
    un.LgammaOp: _call("lgamma"),
    bi.HypotOp: _call("hypot"),
    bi.NextafterOp: _call("nextafter"),
    un.LogicalNotOp: _invert,
    un.BitwiseNotOp: _invert,
    un.IsNanOp: _isnan,
    un.IsInfOp: _isinf,
    bi.FloorDivOp: _floor_div,
    bi.TruncDivOp: _trunc_div,
    bi.FmodOp: _fmod,
    bi.RemainderOp: _remainder,
    bi.ShiftLeftOp: _shift,
    bi.ShiftRightOp: _shift,
    bi.CompareOp: _compare,
    bi.SelectOp: _select,
    bi.CastOp: _cast,
}
