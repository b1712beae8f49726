"""What the elementwise ops compute. Half types compute in f32 and round on the way out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects.builtin import i1, i8, i16, i32
from xdsl.ir import Attribute, Operation

from ..arrays import Array
from ..semantics import Args, Machine, Results, semantics
from ..special_functions import erf, erfc, lgamma
from ..types import element_type_of, is_float, ui8
from . import elementwise as u
from . import elementwise_binary as b

Unary = Callable[[Machine, Array], Array]
Binary = Callable[[Machine, Array, Array], Array]


def _named(name: str) -> Unary:
    return lambda m, x: getattr(m.xp, name)(x)


def _named2(name: str) -> Binary:
    return lambda m, x, y: getattr(m.xp, name)(x, y)


def _sigmoid(m: Machine, x: Array) -> Array:
    """Through exp(-|x|), which never overflows."""
    e = m.xp.exp(-m.xp.abs(x))
    return m.xp.where(x >= 0, 1 / (1 + e), e / (1 + e))


def _sign(m: Machine, x: Array) -> Array:
    """NaN gives 0 in torch, and -0.0 gives 0.0; NumPy keeps both."""
    one = m.xp.ones_like(x)
    return m.xp.where(x > 0, one, m.xp.where(x < 0, -one, m.xp.zeros_like(x)))


_SPECIAL: dict[type[Operation], Unary] = {
    u.NegOp: lambda m, x: -x,
    u.SignOp: _sign,
    u.RsqrtOp: lambda m, x: 1 / m.xp.sqrt(x),
    u.ReciprocalOp: lambda m, x: 1 / x,
    u.ErfOp: lambda m, x: erf(m.arrays, x),
    u.ErfcOp: lambda m, x: erfc(m.arrays, x),
    u.LgammaOp: lambda m, x: lgamma(m.arrays, x),
    u.SigmoidOp: _sigmoid,
    u.BitwiseNotOp: lambda m, x: ~x,
    u.LogicalNotOp: lambda m, x: ~x,
}
UNARY: Mapping[type[Operation], Unary] = {
    op: _SPECIAL[op] if op in _SPECIAL else _named(op.name.removeprefix("tw.")) for op in u.UNARY_OPS
}


def _floor_div(m: Machine, x: Array, y: Array) -> Array:
    """torch's rule for floats: from fmod, so that it agrees with `remainder`."""
    if not _is_floating(m, x):
        return x // y
    xp = m.xp
    rest = xp.fmod(x, y)
    quotient = (x - rest) / y
    quotient = xp.where((rest != 0) & ((y < 0) != (rest < 0)), quotient - 1, quotient)
    floored = xp.floor(quotient)
    floored = xp.where(quotient - floored > 0.5, floored + 1, floored)
    floored = xp.where(quotient != 0, floored, xp.copysign(xp.zeros_like(x), x / y))
    return xp.where(y == 0, x / y, floored)


def _remainder(m: Machine, x: Array, y: Array) -> Array:
    if not _is_floating(m, x):
        return x % y
    rest = m.xp.fmod(x, y)
    return m.xp.where((rest != 0) & ((y < 0) != (rest < 0)), rest + y, rest)


def _is_floating(m: Machine, x: Array) -> bool:
    if m.arrays.is_numpy:
        return bool(m.xp.issubdtype(x.dtype, m.xp.floating))
    return bool(x.dtype.is_floating_point)


def _trunc_div(m: Machine, x: Array, y: Array) -> Array:
    return (x - m.xp.fmod(x, y)) // y


def _pow(m: Machine, x: Array, y: Array) -> Array:
    """Integers: by squaring, wrapping; a negative exponent gives the integer part of the inverse."""
    if _is_floating(m, x):
        return m.xp.pow(x, y)
    xp, result, base, left = m.xp, m.xp.ones_like(x), x, y
    for _ in range(64):
        result = xp.where((left > 0) & (left % 2 == 1), result * base, result)
        base = base * base
        left = xp.where(left > 0, left // 2, left)
    parity = xp.where(y % 2 == 0, m.xp.ones_like(x), x)
    inverse = xp.where(x == 1, x, xp.where(x == -1, parity, xp.zeros_like(x)))
    return xp.where(y < 0, inverse, result)


def _maximum(m: Machine, x: Array, y: Array) -> Array:
    """b where both are zero, so that the sign of zero is defined."""
    return m.xp.where(x == y, y, m.xp.maximum(x, y))


def _minimum(m: Machine, x: Array, y: Array) -> Array:
    return m.xp.where(x == y, y, m.xp.minimum(x, y))


def _fmax(m: Machine, x: Array, y: Array) -> Array:
    return m.xp.where(x == y, x, m.xp.fmax(x, y))


def _fmin(m: Machine, x: Array, y: Array) -> Array:
    return m.xp.where(x == y, x, m.xp.fmin(x, y))


def _shift(name: str) -> Binary:
    def run(m: Machine, x: Array, y: Array) -> Array:
        bits = x.dtype.itemsize * 8
        inside = (y >= 0) & (y < bits)
        amount = m.xp.where(inside, y, m.xp.zeros_like(y))
        if name == "left":
            return m.xp.where(inside, x << amount, m.xp.zeros_like(x))
        zeros = m.xp.zeros_like(x)
        outside = m.xp.where(x < 0, ~zeros, zeros)
        return m.xp.where(inside, x >> amount, outside)

    return run


BINARY: Mapping[type[Operation], Binary] = {
    b.AddOp: lambda m, x, y: x + y,
    b.SubOp: lambda m, x, y: x - y,
    b.MulOp: lambda m, x, y: x * y,
    b.DivOp: lambda m, x, y: x / y,
    b.FloorDivOp: _floor_div,
    b.TruncDivOp: _trunc_div,
    b.FmodOp: _named2("fmod"),
    b.RemainderOp: _remainder,
    b.PowOp: _pow,
    b.MaximumOp: _maximum,
    b.MinimumOp: _minimum,
    b.FmaxOp: _fmax,
    b.FminOp: _fmin,
    b.HypotOp: _named2("hypot"),
    b.NextafterOp: _named2("nextafter"),
    b.Atan2Op: lambda m, x, y: m.xp.arctan2(x, y),
    b.CopysignOp: _named2("copysign"),
    b.AndOp: lambda m, x, y: x & y,
    b.OrOp: lambda m, x, y: x | y,
    b.XorOp: lambda m, x, y: x ^ y,
    b.ShiftLeftOp: _shift("left"),
    b.ShiftRightOp: _shift("right"),
}
COMPARE: Mapping[b.Predicate, Binary] = {
    b.Predicate.EQ: lambda m, x, y: x == y,
    b.Predicate.NE: lambda m, x, y: x != y,
    b.Predicate.LT: lambda m, x, y: x < y,
    b.Predicate.LE: lambda m, x, y: x <= y,
    b.Predicate.GT: lambda m, x, y: x > y,
    b.Predicate.GE: lambda m, x, y: x >= y,
}


def compute(m: Machine, value: Array, element: Attribute) -> Array:
    """`value` in the dtype in which ops on `element` compute."""
    return m.arrays.cast(value, m.arrays.compute_dtype(element)) if is_float(element) else value


@semantics(*UNARY)
def run_unary(op: u.UnaryOp, args: Args, machine: Machine) -> Results:
    operand = compute(machine, args[0], element_type_of(op.operand))
    with machine.quiet():
        return (machine.arrays.store(UNARY[type(op)](machine, operand), element_type_of(op.result)),)


@semantics(*BINARY)
def run_binary(op: b.BinaryOp, args: Args, machine: Machine) -> Results:
    element = element_type_of(op.lhs)
    lhs, rhs = (compute(machine, arg, element) for arg in args)
    check_divisor(machine, op, rhs)
    with machine.quiet():
        return (machine.arrays.store(BINARY[type(op)](machine, lhs, rhs), element),)


def check_divisor(machine: Machine, op: Operation, divisor: Array) -> None:
    dividing = isinstance(op, b.FloorDivOp | b.TruncDivOp | b.FmodOp | b.RemainderOp)
    if dividing and not _is_floating(machine, divisor) and bool((divisor == 0).any()):
        raise ZeroDivisionError(f"{op.name} at {op.location}: integer division by zero")


@semantics(b.CompareOp)
def run_compare(op: b.CompareOp, args: Args, machine: Machine) -> Results:
    return (machine.arrays.store(COMPARE[op.predicate.data](machine, *args), i1),)


@semantics(b.SelectOp)
def run_select(op: b.SelectOp, args: Args, machine: Machine) -> Results:
    return (machine.arrays.store(machine.xp.where(*args), element_type_of(op.result)),)


@semantics(b.CastOp)
def run_cast(op: b.CastOp, args: Args, machine: Machine) -> Results:
    return (convert(machine, args[0], element_type_of(op.operand), element_type_of(op.result)),)


_NARROW = (i16, i8, ui8)


def convert(m: Machine, value: Array, source: Attribute, target: Attribute) -> Array:
    """`tw.cast`; float to a narrow integer goes through i32, so that out of range is the same everywhere."""
    if target == i1:
        return value != 0
    if is_float(source) and target in _NARROW:
        value = m.arrays.cast(value, m.arrays.dtype(i32))
    return m.arrays.store(value, target)
