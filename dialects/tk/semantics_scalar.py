"""What `arith`, `math`, `vector` and the scalar `tk` ops compute, on arrays of any one shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, f32, i8
from xdsl.ir import Attribute, Operation

from ..arrays import Array
from ..float8 import FORMATS, decoded, encoded
from ..philox import uniform
from ..scalars import predicate_of
from ..semantics import Machine, NoSemantics
from ..special_functions import erf, erfc, lgamma
from ..types import SAME_BITS, element_type, element_type_of, is_float
from .calls import CallOp
from .dot import DotOp, run_dot

Unary = Callable[[Machine, Array], Array]
Binary = Callable[[Machine, Array, Array], Array]
Ternary = Callable[[Machine, Array, Array, Array], Array]


def _unary(name: str) -> Unary:
    return lambda m, x: getattr(m.xp, name)(x)


def _binary(name: str) -> Binary:
    return lambda m, x, y: getattr(m.xp, name)(x, y)


def _is_bool(m: Machine, x: Array) -> bool:
    """Whether `x` is an i1, of which a signed one is 0 or -1."""
    return x.dtype == m.xp.bool


def _unsigned(m: Machine, x: Array, bits: int) -> Array:
    """The value of the bit pattern, in i64."""
    wide = m.arrays.cast(x, m.xp.int64)
    return wide if bits >= 64 else wide & ((1 << bits) - 1)


_SHARED = """ceil cos cosh exp exp2 expm1 floor log log10 log1p log2 sin sinh sqrt tan tanh trunc"""
_ARC = "acos acosh asin asinh atan atanh"

UNARY: Mapping[str, Unary] = {
    **{f"math.{name}": _unary(name) for name in _SHARED.split()},
    **{f"math.{name}": _unary(f"arc{name[1:]}") for name in _ARC.split()},
    "math.absf": _unary("abs"),
    "math.absi": _unary("abs"),
    "math.erf": lambda m, x: erf(m.arrays, x),
    "math.rsqrt": lambda m, x: 1 / m.xp.sqrt(x),
    "math.roundeven": _unary("round"),
    "arith.negf": lambda m, x: -x,
    "arith.extf": lambda m, x: x,
    "arith.index_cast": lambda m, x: x,
    "arith.fptosi": _unary("trunc"),  # cast to the result's own type, which settles what does not fit
    "arith.fptoui": lambda m, x: m.arrays.cast(m.xp.trunc(x), m.xp.int64),
}
BINARY: Mapping[str, Binary] = {
    "math.atan2": _binary("arctan2"),
    "math.copysign": _binary("copysign"),
    "math.powf": _binary("pow"),
    "arith.addf": lambda m, x, y: x + y,
    "arith.addi": lambda m, x, y: x ^ y if x.dtype == m.xp.bool else x + y,
    "arith.andi": lambda m, x, y: x & y,
    "arith.divf": lambda m, x, y: x / y,
    "arith.divsi": lambda m, x, y: (x - m.xp.fmod(x, y)) // y,
    "arith.floordivsi": lambda m, x, y: x // y,
    "arith.maximumf": _binary("maximum"),
    "arith.minimumf": _binary("minimum"),
    "arith.maxnumf": _binary("fmax"),
    "arith.minnumf": _binary("fmin"),
    "arith.maxsi": lambda m, x, y: x & y if _is_bool(m, x) else m.xp.maximum(x, y),
    "arith.minsi": lambda m, x, y: x | y if _is_bool(m, x) else m.xp.minimum(x, y),
    "arith.mulf": lambda m, x, y: x * y,
    "arith.muli": lambda m, x, y: x & y if x.dtype == m.xp.bool else x * y,
    "arith.ori": lambda m, x, y: x | y,
    "arith.remf": _binary("fmod"),
    "arith.remsi": _binary("fmod"),
    "arith.shli": lambda m, x, y: x << y,
    "arith.shrsi": lambda m, x, y: x >> y,
    "arith.subf": lambda m, x, y: x - y,
    "arith.subi": lambda m, x, y: x ^ y if x.dtype == m.xp.bool else x - y,
    "arith.xori": lambda m, x, y: x ^ y,
}
TERNARY: Mapping[str, Ternary] = {
    "math.fma": lambda m, x, y, z: x * y + z,
    "arith.select": lambda m, x, y, z: m.xp.where(x, y, z),
}
_FLOAT_COMPARISONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "false": lambda x, y: (x == y) & False,
    "oeq": lambda x, y: x == y,
    "ogt": lambda x, y: x > y,
    "oge": lambda x, y: x >= y,
    "olt": lambda x, y: x < y,
    "ole": lambda x, y: x <= y,
    "one": lambda x, y: (x < y) | (x > y),
    "ord": lambda x, y: (x == x) & (y == y),
    "ueq": lambda x, y: ~((x < y) | (x > y)),
    "ugt": lambda x, y: ~(x <= y),
    "uge": lambda x, y: ~(x < y),
    "ult": lambda x, y: ~(x >= y),
    "ule": lambda x, y: ~(x > y),
    "une": lambda x, y: x != y,
    "uno": lambda x, y: (x != x) | (y != y),
    "true": lambda x, y: (x == y) | True,
}
_ORDERS: Mapping[str, Callable[[Array, Array], Array]] = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}


def _bits(op: Operation) -> int:
    return _width(element_type_of(op.operands[0]))


def _width(element: Attribute) -> int:
    return cast(IntegerType, element).width.data if isinstance(element, IntegerType) else 64


def _compare_floats(op: arith.CmpfOp, args: Sequence[Array], m: Machine) -> Array:
    return _FLOAT_COMPARISONS[predicate_of(op)](*args)


def _compare_integers(op: arith.CmpiOp, args: Sequence[Array], m: Machine) -> Array:
    predicate = predicate_of(op)
    if predicate in ("eq", "ne"):
        return _ORDERS[predicate](*args)
    sign, order = predicate[0], predicate[1:]
    if sign == "s":
        if _is_bool(m, args[0]):
            args = args[::-1]  # a signed i1 is 0 or -1
    elif _bits(op) < 64:
        args = [_unsigned(m, arg, _bits(op)) for arg in args]
    else:  # the order of unsigned values is that of signed ones with the top bit flipped
        args = [m.arrays.cast(arg, m.xp.int64) ^ -(2**63) for arg in args]
    return _ORDERS[order](*args)


def _shift_right_unsigned(op: arith.ShRUIOp, args: Sequence[Array], m: Machine) -> Array:
    bits, amount = _bits(op), m.arrays.cast(args[1], m.xp.int64)
    if bits < 64:
        return _unsigned(m, args[0], bits) >> amount
    positive = (args[0] >> 1) & (2**63 - 1)
    return m.xp.where(amount == 0, args[0], positive >> m.xp.maximum(amount - 1, amount * 0))


def _truncate(op: Operation, args: Sequence[Array], m: Machine) -> Array:
    return (args[0] & 1) != 0 if _is_bit(op) else args[0]


def _bitcast(op: arith.BitcastOp, args: Sequence[Array], m: Machine) -> Array:
    """Between bits and an 8-bit float, or types of 32 or 64 bits."""
    source, target = element_type_of(op.input), element_type_of(op.result)
    if (format_ := FORMATS.get(target)) is not None and source == i8:
        return decoded(m.arrays, args[0], format_, m.arrays.dtype(f32))
    if (format_ := FORMATS.get(source)) is not None and target == i8:
        return encoded(m.arrays, args[0], format_)
    if SAME_BITS.get(source) != target:
        raise NoSemantics(op)
    return m.arrays.reinterpreted(args[0], source, target)


def _round(op: arith.TruncFOp, args: Sequence[Array], m: Machine) -> Array:
    """To an 8-bit float; what memory holds is rounded where it is stored."""
    format_ = FORMATS.get(element_type_of(op.result))
    if format_ is None:
        return args[0]
    return decoded(m.arrays, encoded(m.arrays, args[0], format_), format_, m.arrays.dtype(f32))


def _call(op: CallOp, args: Sequence[Array], m: Machine) -> Array:
    name = op.callee.data
    if name == "erfc":
        return erfc(m.arrays, *args)
    return lgamma(m.arrays, *args) if name == "lgamma" else getattr(m.xp, name)(*args)


SPECIAL: Mapping[str, Callable[[Any, Sequence[Array], Machine], Array]] = {
    "arith.cmpf": _compare_floats,
    "arith.cmpi": _compare_integers,
    "arith.shrui": _shift_right_unsigned,
    "arith.divui": lambda op, args, m: _unsigned(m, args[0], _bits(op)) // _unsigned(m, args[1], _bits(op)),
    "arith.remui": lambda op, args, m: _unsigned(m, args[0], _bits(op)) % _unsigned(m, args[1], _bits(op)),
    "arith.extui": lambda op, args, m: _unsigned(m, args[0], _bits(op)),
    "arith.uitofp": lambda op, args, m: _unsigned(m, args[0], _bits(op)),
    "arith.extsi": lambda op, args, m: -m.arrays.cast(args[0], m.xp.int64) if _bits(op) == 1 else args[0],
    "arith.sitofp": lambda op, args, m: -m.arrays.cast(args[0], m.xp.int64) if _bits(op) == 1 else args[0],
    "arith.truncf": _round,
    "arith.trunci": _truncate,
    "arith.bitcast": _bitcast,
    "math.ipowi": lambda op, args, m: _power(args[0], args[1], m),
    CallOp.name: _call,
    DotOp.name: lambda op, args, m: run_dot(op, args, m),
    "tk.random": lambda op, args, m: uniform(int(args[0].reshape(-1)[0]), args[1]),
}


def _is_bit(op: Operation) -> bool:
    return _width(element_type_of(op.results[0])) == 1


def _power(x: Array, y: Array, m: Machine) -> Array:
    """By squaring, wrapping; a negative exponent gives the integer part of the inverse."""
    xp, result, base, left = m.xp, x * 0 + 1, x + y * 0, y + x * 0
    for _ in range(64):
        result = xp.where((left > 0) & (left % 2 == 1), result * base, result)
        base = base * base
        left = xp.where(left > 0, left // 2, left)
    parity = xp.where(y % 2 == 0, x * 0 + 1, x)
    inverse = xp.where(x == 1, x, xp.where(x == -1, parity, x * 0))
    return xp.where(y < 0, inverse, result)


def run_scalar(op: Operation, args: Sequence[Array], machine: Machine) -> Array:
    """The one result of a pure op, in the dtype of its result."""
    element = element_type(op.results[0].type)
    with machine.quiet():
        if isinstance(op, arith.ConstantOp):
            assert isinstance(op.value, FloatAttr | IntegerAttr)
            value = op.value.value.data
            value = bool(value) if _is_bit(op) else value
            return machine.arrays.asarray(value, value_dtype(machine, op))
        found = _apply(op, args, machine)
        if is_float(element):
            return machine.arrays.store(found, element)
        return machine.arrays.cast(found, value_dtype(machine, op))


def _apply(op: Operation, args: Sequence[Array], machine: Machine) -> Array:
    if (unary := UNARY.get(op.name)) is not None:
        return unary(machine, args[0])
    if (binary := BINARY.get(op.name)) is not None:
        return binary(machine, args[0], args[1])
    if (ternary := TERNARY.get(op.name)) is not None:
        return ternary(machine, args[0], args[1], args[2])
    if (special := SPECIAL.get(op.name)) is not None:
        return special(op, args, machine)
    raise NoSemantics(op)


def value_dtype(machine: Machine, op: Operation) -> Any:
    """The dtype of the result of `op`; an index is an i64."""
    element = element_type(op.results[0].type)
    return machine.arrays.dtype(element) if element.name != "index" else machine.xp.int64


def run_reduction(op: vector.ReductionOp, lanes: Array, machine: Machine) -> Array:
    """The lanes of a vector, combined from the first to the last."""
    name = {"add": "add", "mul": "mul", "maximumf": "max", "maxsi": "max", "minimumf": "min", "minsi": "min"}
    kind = name.get(op.kind.data.value, op.kind.data.value)
    if _is_bool(machine, lanes) and op.kind.data.value in ("maxsi", "minsi"):
        kind = {"max": "min", "min": "max"}[kind]  # a signed i1 is 0 or -1
    total = lanes[0]
    with machine.quiet():
        for i in range(1, len(lanes)):
            total = COMBINE[kind](machine, total, lanes[i])
    return total


COMBINE: Mapping[str, Binary] = {
    "add": lambda m, x, y: x + y,
    "mul": lambda m, x, y: x * y,
    "max": _binary("maximum"),
    "min": _binary("minimum"),
    "and": lambda m, x, y: x & y,
    "or": lambda m, x, y: x | y,
    "logaddexp": _binary("logaddexp"),
}
"""How `tk.reduce` and `tk.scan` combine two values."""
