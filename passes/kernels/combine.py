"""How partial results combine: per kind and type the op, the identity, the sum over lanes."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import cast

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.scalars import predicate_attr
from tilewright.dialects.tk.arith import CONTRACTED, CmpFOp, CmpIOp, SelectOp, vector_of
from tilewright.dialects.tk.compute import LINEAR, LOG_ADD_EXP, ArgReduceOp, ReduceOp, ScanOp
from tilewright.dialects.tk.moments import MomentsOp
from tilewright.dialects.tk.scope import shape_of_lanes
from tilewright.dialects.tk.sort import SortOp
from tilewright.dialects.tk.sumexp import SumExpOp
from tilewright.dialects.types import element_type, is_float

Emit = Callable[[Operation], SSAValue]
"""Puts an op into place and gives its result."""

_FLOAT_OPS: dict[str, type[Operation]] = {
    "add": arith.AddfOp,
    "mul": arith.MulfOp,
    "max": arith.MaximumfOp,
    "min": arith.MinimumfOp,
}
_INTEGER_OPS: dict[str, type[Operation]] = {
    "add": arith.AddiOp,
    "mul": arith.MuliOp,
    "max": arith.MaxSIOp,
    "min": arith.MinSIOp,
    "and": arith.AndIOp,
    "or": arith.OrIOp,
}
_FLOAT_KINDS = {"add": "add", "mul": "mul", "max": "maximumf", "min": "minimumf"}
_INTEGER_KINDS = {"add": "add", "mul": "mul", "max": "maxsi", "min": "minsi", "and": "and", "or": "or"}
_IDENTITIES = {"add": 0.0, LINEAR: 0.0, "mul": 1.0, "max": -inf, "min": inf, LOG_ADD_EXP: -inf}
_NO_FLAGS = arith.FastMathFlagsAttr("none")
_FLAGS = {"add": CONTRACTED}
"""The terms of a reduction are added in any order, and so with whatever rounding."""
_NO_OVERFLOW = arith.IntegerOverflowAttr("none")


def last_position(type_: Attribute) -> IntegerAttr[IntegerType]:
    """The position of no element: later than every other."""
    integer = cast(IntegerType, element_type(type_))
    return IntegerAttr(2 ** (integer.width.data - 1) - 1, integer)


def identity(kind: str, type_: Attribute) -> FloatAttr[AnyFloat] | IntegerAttr[IntegerType]:
    """The value that changes nothing when combined."""
    element = element_type(type_)
    if isinstance(element, AnyFloat):
        return FloatAttr(_IDENTITIES[kind], element)
    integer = cast(IntegerType, element)
    top = 2 ** (integer.width.data - 1)
    if element == i1:
        return IntegerAttr({"add": 0, "or": 0, "max": 0, "mul": 1, "and": 1, "min": 1}[kind], integer)
    return IntegerAttr({"add": 0, "mul": 1, "max": -top, "min": top - 1, "and": -1, "or": 0}[kind], integer)


def identities(op: Operation) -> list[FloatAttr[AnyFloat] | IntegerAttr[IntegerType]]:
    """What a reduction or scan starts from, a value per result."""
    if isinstance(op, MomentsOp):
        return [identity("add", value.type) for value in op.operands]
    if isinstance(op, SumExpOp):
        return [identity("max", op.largest.type), identity("add", op.sum.type)]
    assert isinstance(op, ReduceOp | ArgReduceOp | ScanOp)
    first = identity(op.kind.data, op.operands[0].type)
    return [first, last_position(op.index.type)] if isinstance(op, ArgReduceOp) else [first]


def last_in_order(op: SortOp) -> FloatAttr[AnyFloat] | IntegerAttr[IntegerType]:
    """What nothing stands behind, but for what is equal to it."""
    element = op.value.type
    if isinstance(element, AnyFloat):
        return FloatAttr(nan if op.descending is None else -inf, element)
    return identity("min" if op.descending is None else "max", element)


def constant(value: FloatAttr[AnyFloat] | IntegerAttr[IntegerType]) -> Operation:
    return arith.ConstantOp.create(result_types=[value.type], properties={"value": value})


def combine(kind: str, lhs: SSAValue, rhs: SSAValue, emit: Emit) -> SSAValue:
    """`lhs kind rhs`."""
    if kind == LOG_ADD_EXP:
        return _log_add_exp(lhs, rhs, emit)
    table = _FLOAT_OPS if is_float(element_type(lhs.type)) else _INTEGER_OPS
    op = table[_on_bits(kind, lhs.type)]
    properties = {"fastmath": _FLAGS.get(kind, _NO_FLAGS)} if table is _FLOAT_OPS else _overflow(op)
    return emit(op.create(operands=[lhs, rhs], result_types=[lhs.type], properties=properties))


def linear(before: SSAValue, value: SSAValue, factor: SSAValue, emit: Emit) -> SSAValue:
    """`before * factor + value`."""
    return combine("add", combine("mul", before, factor, emit), value, emit)


def _log_add_exp(lhs: SSAValue, rhs: SSAValue, emit: Emit) -> SSAValue:
    """`log1p(exp(low - high)) + high`; two infinities of one sign, whose distance is none, are that one."""

    def op(cls: type[Operation], *operands: SSAValue) -> SSAValue:
        return emit(
            cls.create(operands=operands, result_types=[lhs.type], properties={"fastmath": _NO_FLAGS})
        )

    low, high = op(arith.MinimumfOp, lhs, rhs), op(arith.MaximumfOp, lhs, rhs)
    total = op(arith.AddfOp, op(math.Log1pOp, op(math.ExpOp, op(arith.SubfOp, low, high))), high)
    number, equal = compare("ord", total, total, emit), compare("oeq", low, high, emit)
    return select(number, total, select(equal, high, total, emit), emit)


def _on_bits(kind: str, type_: Attribute) -> str:
    """The kind for i1, whose true is the larger value although it is -1 where a sign counts."""
    return {"max": "or", "min": "and"}.get(kind, kind) if element_type(type_) == i1 else kind


def _overflow(op: type[Operation]) -> dict[str, Attribute]:
    if issubclass(op, arith.AddiOp | arith.MuliOp):
        return {"overflowFlags": _NO_OVERFLOW}
    return {}


def over_lanes(kind: str, value: SSAValue, emit: Emit) -> SSAValue:
    """The combination of all lanes of a vector."""
    element = element_type(value.type)
    name = (_FLOAT_KINDS if is_float(element) else _INTEGER_KINDS)[_on_bits(kind, element)]
    return emit(
        vector.ReductionOp.create(
            operands=[value],
            result_types=[element],
            properties={
                "kind": vector.CombiningKindAttr(vector.CombiningKindFlag(name)),
                "fastmath": _NO_FLAGS,
            },
        )
    )


def select(cond: SSAValue, lhs: SSAValue, rhs: SSAValue, emit: Emit) -> SSAValue:
    return emit(SelectOp.create(operands=[cond, lhs, rhs], result_types=[lhs.type]))


def compare(predicate: str, lhs: SSAValue, rhs: SSAValue, emit: Emit) -> SSAValue:
    """`lhs predicate rhs`, of floats (`oeq`) or integers (`eq`)."""
    lanes = shape_of_lanes(lhs.type)
    result = vector_of(i1, *lanes) if lanes else i1
    cls = CmpFOp if is_float(element_type(lhs.type)) else CmpIOp
    properties: dict[str, Attribute] = {"predicate": predicate_attr(cls.name, predicate)}
    if cls is CmpFOp:
        properties["fastmath"] = _NO_FLAGS
    return emit(cls.create(operands=[lhs, rhs], result_types=[result], properties=properties))


def combine_positions(
    kind: str,
    acc: tuple[SSAValue, SSAValue],
    new: tuple[SSAValue, SSAValue],
    emit: Emit,
    *,
    ordered: bool = False,
) -> tuple[SSAValue, SSAValue]:
    """The better of two (value, position) pairs: NaN first, then the extreme, then the earlier.

    `acc` comes before `new` where both are NaN, and everywhere if positions are `ordered`.
    """
    better = _better(kind, acc[0], new[0], emit)
    if ordered:
        return select(better, new[0], acc[0], emit), select(better, new[1], acc[1], emit)
    equal = compare("oeq" if is_float(element_type(new[0].type)) else "eq", new[0], acc[0], emit)
    earlier = compare("slt", new[1], acc[1], emit)
    tie = emit(arith.AndIOp.create(operands=[equal, earlier], result_types=[equal.type]))
    take = emit(arith.OrIOp.create(operands=[better, tie], result_types=[tie.type]))
    return select(take, new[0], acc[0], emit), select(take, new[1], acc[1], emit)


def _better(kind: str, acc: SSAValue, new: SSAValue, emit: Emit) -> SSAValue:
    if element_type(new.type) == i1:
        return compare("ugt" if kind == "max" else "ult", new, acc, emit)
    if not is_float(element_type(new.type)):
        return compare("sgt" if kind == "max" else "slt", new, acc, emit)
    beyond = compare("ugt" if kind == "max" else "ult", new, acc, emit)  # true if either is NaN
    number = compare("ord", acc, acc, emit)
    return emit(arith.AndIOp.create(operands=[beyond, number], result_types=[beyond.type]))


def positions_over_lanes(
    kind: str,
    acc: tuple[SSAValue, SSAValue],
    last: SSAValue,
    emit: Emit,
    spread: Callable[[SSAValue], SSAValue],
) -> tuple[SSAValue, SSAValue]:
    """The best (value, position) pair of all lanes; `last` is the vector of no position."""
    best = over_lanes(kind, acc[0], emit)
    return best, over_lanes("min", match_positions(acc, spread(best), last, emit), emit)


def match_positions(acc: tuple[SSAValue, SSAValue], best: SSAValue, last: SSAValue, emit: Emit) -> SSAValue:
    """The positions of lanes that hold the best value (all NaN if that is NaN), else `last`."""
    if is_float(element_type(best.type)):
        equal = compare("oeq", acc[0], best, emit)
        nan = compare("uno", acc[0], acc[0], emit)
        match = emit(arith.OrIOp.create(operands=[equal, nan], result_types=[equal.type]))
    else:
        match = compare("eq", acc[0], best, emit)
    return select(match, acc[1], last, emit)
