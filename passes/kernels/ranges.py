"""Between which numbers a value lies, as far as sizes and constants tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, isfinite, prod, trunc

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, i8, i16, i32, i64
from xdsl.ir import Attribute, Operation

from tilewright.dialects.index_expr import Call, Expr, Var
from tilewright.dialects.tk.access import IndexOp
from tilewright.dialects.types import element_type, integer_width

Range = tuple[float, float]
"""Least and largest, both possible values of the type; integers are exact (`int`)."""

_LIMITS: Mapping[Attribute, float] = {i64: 2**63, i32: 2**31, i16: 2**15, i8: 2**7}
"""Of what is taken as signed; an unsigned number of few bits has its own range once it is widened."""
_BOUNDING = ("arith.maxsi", "arith.minsi", "arith.andi", "arith.extsi")
"""Ops whose result is bounded, whatever is known of one operand."""
_ROUNDING = 2.0**-20
"""More than f32 rounds off, relatively, in one op or two that are contracted."""


def range_of(op: Operation, operands: Sequence[Range | None], space: Sequence[Expr]) -> Range | None:
    """The range of the one result of `op`; None where it is not known."""
    found = _range_of(op, operands, space)
    if found is None or not (isfinite(found[0]) and isfinite(found[1])):
        return None
    limit = _LIMITS.get(type_ := op.results[0].type)  # beyond these it wraps around
    if limit is None:
        return None if isinstance(type_, IntegerType) else found
    return found if -limit <= found[0] and found[1] < limit else None


def _range_of(op: Operation, operands: Sequence[Range | None], space: Sequence[Expr]) -> Range | None:
    if isinstance(op, IndexOp):
        return range_of_expr(op.expr, space)
    if isinstance(op, arith.ConstantOp):
        return _constant(op)
    if isinstance(op, arith.SelectOp):
        return _union(operands[1], operands[2])
    if isinstance(op, arith.ExtUIOp):
        return _unsigned(operands[0], op.input.type)
    rule = _RULES.get(op.name)
    if op.name in _BOUNDING:
        operands = [r or _whole(v.type) for r, v in zip(operands, op.operands, strict=True)]
    known = [r for r in operands if r is not None]
    return None if rule is None or len(known) < len(operands) else rule(known)


def range_of_expr(expr: Expr, space: Sequence[Expr]) -> Range | None:
    """The range of an index expression whose axes have known sizes."""
    low = high = 0
    for monomial, factor in expr.terms:
        found = [_atom(atom, space) for atom in monomial]
        known = [r for r in found if r is not None]
        if len(known) < len(found):
            return None
        ends = _times([(factor, factor), *known])
        low, high = low + int(ends[0]), high + int(ends[1])
    return low, high


def _atom(atom: Var | Call, space: Sequence[Expr]) -> Range | None:
    if isinstance(atom, Var):
        size = space[atom.index].constant if atom.kind == "d" and atom.index < len(space) else None
        return (0, size - 1) if size else None
    value, by = range_of_expr(atom.lhs, space), atom.rhs.constant
    if value is None or not by or by < 0:
        return None
    low, high = int(value[0]), int(value[1])
    if atom.name == "floordiv":
        return low // by, high // by
    return (0, by - 1) if atom.name == "mod" else None


def _whole(type_: Attribute) -> Range | None:
    """All integers of a type."""
    limit = _LIMITS.get(type_)
    return None if limit is None else (-limit, limit - 1)


def _unsigned(value: Range | None, type_: Attribute) -> Range | None:
    """Of a signed number whose bits are taken as those of an unsigned one."""
    if value is not None and value[0] >= 0:
        return value
    bits = integer_width(element_type(type_))
    return (0, 2**bits - 1) if bits else None


def fits(value: Range | None, type_: Attribute, *, unsigned: bool) -> bool:
    """Whether an integer type has all numbers of a range."""
    bits = integer_width(type_)
    if value is None or not bits:
        return False
    low, high = (0, 2**bits) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    return low <= value[0] and value[1] < high


def _constant(op: arith.ConstantOp) -> Range | None:
    value = op.value
    if isinstance(value, IntegerAttr) and op.result.type in _LIMITS:
        return value.value.data, value.value.data
    if isinstance(value, FloatAttr) and isfinite(value.value.data):
        return value.value.data, value.value.data
    return None


def _union(one: Range | None, other: Range | None) -> Range | None:
    if one is None or other is None:
        return None
    return min(one[0], other[0]), max(one[1], other[1])


def _times(ranges: Sequence[Range]) -> Range:
    low, high = ranges[0]
    for a, b in ranges[1:]:
        ends = [prod(pair) for pair in ((low, a), (low, b), (high, a), (high, b))]
        low, high = min(ends), max(ends)
    return low, high


def _rounded(ends: Range) -> Range:
    """A little wider, as floats round."""
    low, high = ends
    return low - abs(low) * _ROUNDING - 1e-30, high + abs(high) * _ROUNDING + 1e-30


def _plus(r: Sequence[Range]) -> Range:
    return r[0][0] + r[1][0], r[0][1] + r[1][1]


def _minus(r: Sequence[Range]) -> Range:
    return r[0][0] - r[1][1], r[0][1] - r[1][0]


def _float_sum(r: Sequence[Range], rule: Callable[[Sequence[Range]], Range]) -> Range:
    """Rounding is relative to the terms: contraction rounds the product in one of them later."""
    low, high = rule(r)
    slack = max(abs(end) for ends in r for end in ends) * _ROUNDING + 1e-30
    return low - slack, high + slack


def _common_bits(r: Sequence[Range]) -> Range:
    """Of `and`: no more than either one that is not negative."""
    ends = [high for low, high in r if low >= 0]
    return (0, min(ends)) if ends else (-inf, inf)


def _shifted_right(r: Sequence[Range]) -> Range:
    (low, high), (least, most) = r
    if least < 0 or most > 63:
        return -inf, inf
    ends = [int(value) >> int(by) for value in (low, high) for by in (least, most)]
    return min(ends), max(ends)


def _absolute(r: Sequence[Range]) -> Range:
    low, high = r[0]
    return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def _divided(r: Sequence[Range]) -> Range:
    low, high = r[1]
    if low <= 0 <= high:
        return -inf, inf
    return _rounded(_times([r[0], (1 / high, 1 / low)]))


_RULES: Mapping[str, Callable[[Sequence[Range]], Range]] = {
    "arith.addi": _plus,
    "arith.subi": _minus,
    "arith.muli": _times,
    "arith.andi": _common_bits,
    "arith.shrsi": _shifted_right,
    "arith.maxsi": lambda r: (max(r[0][0], r[1][0]), max(r[0][1], r[1][1])),
    "arith.minsi": lambda r: (min(r[0][0], r[1][0]), min(r[0][1], r[1][1])),
    "math.absi": _absolute,
    "arith.extsi": lambda r: r[0],
    "arith.trunci": lambda r: r[0],
    "arith.sitofp": lambda r: _rounded(r[0]),
    "arith.fptosi": lambda r: (trunc(r[0][0]), trunc(r[0][1])),
    "arith.addf": lambda r: _float_sum(r, _plus),
    "arith.subf": lambda r: _float_sum(r, _minus),
    "arith.mulf": lambda r: _rounded(_times(r)),
    "arith.divf": _divided,
    "arith.maximumf": lambda r: (max(r[0][0], r[1][0]), max(r[0][1], r[1][1])),
    "arith.minimumf": lambda r: (min(r[0][0], r[1][0]), min(r[0][1], r[1][1])),
    "math.floor": lambda r: _whole_around(r[0]),
    "math.ceil": lambda r: _whole_around(r[0]),
    "math.absf": _absolute,
}


def _whole_around(r: Range) -> Range:
    return trunc(r[0]) - 1.0, trunc(r[1]) + 1.0


_TESTS: Mapping[str, tuple[Callable[[Range, Range], bool], Callable[[Range, Range], bool]]] = {
    # order: (surely true, surely false)
    "lt": (lambda a, b: a[1] < b[0], lambda a, b: a[0] >= b[1]),
    "le": (lambda a, b: a[1] <= b[0], lambda a, b: a[0] > b[1]),
    "gt": (lambda a, b: a[0] > b[1], lambda a, b: a[1] <= b[0]),
    "ge": (lambda a, b: a[0] >= b[1], lambda a, b: a[1] < b[0]),
}


def decided(predicate: str, lhs: Range | None, rhs: Range | None) -> bool | None:
    """What a comparison of integers (`arith.cmpi`) must come to; unsigned ones only of numbers from 0 on."""
    if lhs is None or rhs is None:
        return None
    if predicate in ("eq", "ne"):
        one_number = lhs == rhs and lhs[0] == lhs[1]
        apart = lhs[1] < rhs[0] or rhs[1] < lhs[0]
        return (predicate == "eq") == one_number if one_number or apart else None
    sign, order = predicate[0], predicate[1:]
    if order not in _TESTS or (sign == "u" and min(lhs[0], rhs[0]) < 0):
        return None
    true, false = _TESTS[order]
    return True if true(lhs, rhs) else False if false(lhs, rhs) else None
