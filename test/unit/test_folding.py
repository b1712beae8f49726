"""Arithmetic on numbers is done where it is written, with the rounding that it would have."""

from __future__ import annotations

from math import inf, isnan, nan
from typing import Any

import numpy
import pytest
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import FloatAttr, f32, f64
from xdsl.ir import Operation, SSAValue
from xdsl.utils.test_value import create_ssa_value

from tilewright.dialects.tk.arith import vector_of
from tilewright.passes.kernels.folding import folded

OPS: dict[str, type[Operation]] = {
    "+": arith.AddfOp,
    "-": arith.SubfOp,
    "*": arith.MulfOp,
    "/": arith.DivfOp,
    "max": arith.MaximumfOp,
    "min": arith.MinimumfOp,
}
X = create_ssa_value(f32)


def _number(value: float, type_: Any) -> SSAValue:
    return arith.ConstantOp(FloatAttr(value, type_)).result


def _fold(kind: str, lhs: SSAValue, rhs: SSAValue) -> Any:
    return folded(OPS[kind].create(operands=[lhs, rhs], result_types=[lhs.type]))


@pytest.mark.parametrize("type_", [f32, f64], ids=str)
@pytest.mark.parametrize("kind", OPS)
def test_numbers_are_rounded_as_the_op_rounds(kind: str, type_: Any) -> None:
    scalar = numpy.float32 if type_ == f32 else numpy.float64
    computed = {"+": numpy.add, "-": numpy.subtract, "*": numpy.multiply, "/": numpy.divide}
    computed |= {"max": numpy.maximum, "min": numpy.minimum}
    for left, right in ((0.1, 0.7), (1.0, 3.0), (-49152.0, 2.0), (1e-40, 3e-6), (16777216.0, 1.0)):
        a, b = scalar(left), scalar(right)
        found = _fold(kind, _number(float(a), type_), _number(float(b), type_))
        assert found == FloatAttr(float(computed[kind](a, b)), type_)


@pytest.mark.parametrize(
    ("kind", "left", "right"),
    [
        *[("*", 1e30, 1e30), ("+", inf, 1.0), ("-", inf, inf), ("/", 1.0, 0.0), ("/", 0.0, 0.0)],
        *[("max", nan, 1.0), ("max", -inf, 1.0), ("max", 0.0, -0.0), ("min", -0.0, 0.0)],
    ],
)
def test_what_no_literal_says_is_left_to_the_device(kind: str, left: float, right: float) -> None:
    assert _fold(kind, _number(left, f32), _number(right, f32)) is None


@pytest.mark.parametrize(
    ("kind", "number"), [("*", 1.0), ("/", 1.0), ("-", 0.0), ("+", -0.0)], ids=lambda v: str(v)
)
def test_what_changes_nothing_is_left_out(kind: str, number: float) -> None:
    assert _fold(kind, X, _number(number, f32)) is X
    assert (_fold(kind, _number(number, f32), X) is X) == (kind in "*+")
    computed = {"*": lambda x: x * number, "/": lambda x: x / number}
    computed |= {"-": lambda x: x - number, "+": lambda x: x + number}
    for value in (0.0, -0.0, 1.5, inf, -inf, nan):
        kept = computed[kind](value)
        assert isnan(kept) if isnan(value) else str(kept) == str(value)


@pytest.mark.parametrize(
    ("kind", "number"), [("+", 0.0), ("-", -0.0), ("*", 0.0), ("*", -1.0), ("max", 1.0), ("min", -inf)]
)
def test_what_may_change_something_stays(kind: str, number: float) -> None:
    """`-0.0 + 0.0` is 0.0, and NaN times zero is NaN."""
    assert _fold(kind, X, _number(number, f32)) is None
    assert _fold(kind, _number(number, f32), X) is None


def test_numbers_of_all_lanes_are_one() -> None:
    lanes = vector_of(f32, 2, 64)
    two, three = (
        vector.BroadcastOp.create(operands=[_number(n, f32)], result_types=[lanes]).vector for n in (2.0, 3.0)
    )
    assert _fold("*", two, three) == FloatAttr(6.0, f32)
    varied = vector.BroadcastOp.create(operands=[X], result_types=[lanes]).vector
    assert _fold("*", varied, three) is None


def test_other_ops_are_none_of_its_business() -> None:
    assert folded(arith.NegfOp(_number(1.0, f32))) is None
