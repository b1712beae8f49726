"""What constants and comparisons of `arith` say: their numbers, and predicates by their names upstream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.arith import CMPF_COMPARISON_OPERATIONS, CMPI_COMPARISON_OPERATIONS, ConstantOp
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, i64
from xdsl.ir import Attribute, Operation, SSAValue

_PREDICATES: Mapping[str, Sequence[str]] = {
    "arith.cmpf": CMPF_COMPARISON_OPERATIONS,
    "arith.cmpi": CMPI_COMPARISON_OPERATIONS,
}


def number_of(value: SSAValue) -> float | int | None:
    """The number of a scalar constant; None of any other value."""
    op = value.owner
    if isinstance(op, ConstantOp) and isinstance(op.value, FloatAttr | IntegerAttr):
        return op.value.value.data
    return None


def is_number(value: SSAValue, number: float) -> bool:
    """Whether `value` is that constant; the zeros are one number."""
    return number_of(value) == number


def predicate_of(op: Operation) -> str:
    """The predicate of a comparison: `olt`, `sge` and so on."""
    return predicate_name(op.name, op.properties["predicate"])


def predicate_name(comparison: str, attr: Attribute) -> str:
    """What the number that a comparison of this name holds stands for."""
    assert isinstance(attr, IntegerAttr)
    return _PREDICATES[comparison][attr.value.data]


def predicate_attr(comparison: str, predicate: str) -> IntegerAttr[IntegerType]:
    """The number that a comparison of this name holds for its predicate."""
    return IntegerAttr(_PREDICATES[comparison].index(predicate), i64)
