"""Ranges hold every number that an op can make of its operands; comparisons are decided where sure."""

from __future__ import annotations

import math as floats
import operator
from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32, i64
from xdsl.ir import Attribute, Operation

from tilewright.dialects.index_expr import as_expr, parse_expr
from tilewright.passes.kernels.ranges import Range, decided, range_of, range_of_expr

Value = Callable[..., Any]
WHOLE: dict[type[Operation], Value] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.MaxSIOp: max,
    arith.MinSIOp: min,
    math.AbsIOp: abs,
}
REAL: dict[type[Operation], Value] = {
    arith.AddfOp: operator.add,
    arith.SubfOp: operator.sub,
    arith.MulfOp: operator.mul,
    arith.DivfOp: lambda a, b: a / b,
    arith.MaximumfOp: max,
    arith.MinimumfOp: min,
    math.FloorOp: np.floor,
    math.CeilOp: np.ceil,
    math.AbsFOp: abs,
}
UNARY = {math.AbsIOp, math.FloorOp, math.CeilOp, math.AbsFOp}


def made(kind: type[Operation], type_: Attribute) -> Operation:
    """The op on operands of which nothing is known but what a test says."""
    zero = IntegerAttr(0, i64) if type_ == i64 else FloatAttr(0.0, f32)
    count = 1 if kind in UNARY else 2
    operands = [arith.ConstantOp(zero).result for _ in range(count)]
    return kind.create(operands=operands, result_types=[type_])


def ranges(numbers: list[Any]) -> Iterator[tuple[Any, ...]]:
    """What lies between two of these sorted numbers."""
    for low, high in combinations_with_replacement(range(len(numbers)), 2):
        yield tuple(numbers[low : high + 1])


def ends(values: tuple[Any, ...]) -> Range:
    return float(values[0]), float(values[-1])


@pytest.mark.parametrize("kind", WHOLE, ids=lambda kind: kind.name)
def test_ranges_of_integers_are_exact(kind: type[Operation]) -> None:
    op = made(kind, i64)
    for operands in product(list(ranges([-3, -2, -1, 0, 1, 2, 3])), repeat=len(op.operands)):
        values = [WHOLE[kind](*numbers) for numbers in product(*operands)]
        found = range_of(op, [(v[0], v[-1]) for v in operands], ())
        assert found == (min(values), max(values)), operands


@pytest.mark.parametrize("kind", REAL, ids=lambda kind: kind.name)
def test_ranges_of_floats_hold_every_value(kind: type[Operation]) -> None:
    op = made(kind, f32)
    numbers = [np.float32(n) for n in (-1e7, -2.5, -1 / 3, 0.0, 0.1, 1.75, 1e7)]
    known = 0
    for operands in product(list(ranges(numbers)), repeat=len(op.operands)):
        found = range_of(op, [ends(v) for v in operands], ())
        if found is None:  # a quotient by what may be zero
            assert kind is arith.DivfOp
            assert 0.0 in operands[1] or operands[1][0] < 0 < operands[1][-1]
            continue
        known += 1
        for pair in product(*operands):
            assert found[0] <= float(REAL[kind](*pair)) <= found[1], operands
    assert known


def test_what_wraps_around_or_is_unknown_has_no_range() -> None:
    op = made(arith.MuliOp, i64)
    assert range_of(op, [(0, 2**31), (0, 2**31)], ()) == (0, 2**62)
    assert range_of(op, [(0, 2**32), (0, 2**31)], ()) is None
    assert range_of(op, [(-(2**32), 0), (0, 2**31)], ()) == (-(2**63), 0)
    assert range_of(op, [(0, 1), None], ()) is None
    assert range_of(made(arith.MulfOp, f32), [(0.0, floats.inf), (0.0, 1.0)], ()) is None


@pytest.mark.parametrize(
    "text", ["d0*-3 + d1", "(d0*-3 + 4) floordiv 2 - d1", "(d0 - 5) mod 3 + d1*d0", "d0*d0 - 9"]
)
def test_ranges_of_index_expressions_hold_every_value(text: str) -> None:
    expr, sizes = parse_expr(text), (4, 3)
    found = range_of_expr(expr, [as_expr(n) for n in sizes])
    assert found is not None
    for at in product(*map(range, sizes)):
        assert found[0] <= expr.evaluate({v: at[v.index] for v in expr.variables()}) <= found[1]


SIGNED = {"slt": operator.lt, "sle": operator.le, "sgt": operator.gt, "sge": operator.ge}
EQUAL = {"eq": operator.eq, "ne": operator.ne}
UNSIGNED = {f"u{name[1:]}": compare for name, compare in SIGNED.items()}


@pytest.mark.parametrize("predicate", [*EQUAL, *SIGNED, *UNSIGNED])
def test_comparisons_are_decided_where_every_pair_agrees(predicate: str) -> None:
    compare = {**EQUAL, **SIGNED, **UNSIGNED}[predicate]
    for left, right in product(list(ranges([-2, -1, 0, 1, 2])), repeat=2):
        outcomes = {compare(a, b) for a, b in product(left, right)}
        sure = outcomes.pop() if len(outcomes) == 1 else None
        if predicate in UNSIGNED and min(*left, *right) < 0:
            sure = None
        assert decided(predicate, (left[0], left[-1]), (right[0], right[-1])) is sure, (left, right)
    assert decided(predicate, (0, 1), None) is None


def test_a_bound_is_known_whatever_it_bounds() -> None:
    least, most = -(2**63), 2**63 - 1
    for kind, expected in ((arith.MaxSIOp, (5, most)), (arith.MinSIOp, (least, 7))):
        assert range_of(made(kind, i64), [(5, 7), None], ()) == expected
        assert range_of(made(kind, i64), [None, (5, 7)], ()) == expected
    assert range_of(made(arith.AddiOp, i64), [(5, 7), None], ()) is None
    assert range_of(made(arith.MaximumfOp, f32), [(5, 7), None], ()) is None
