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
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32, i1, i8, i32, i64
from xdsl.ir import Attribute, Operation

from tilewright.dialects.index_expr import as_expr, parse_expr
from tilewright.passes.kernels.ranges import Range, decided, fits, range_of, range_of_expr

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


def test_bits_that_are_kept_or_shifted_out_bound_a_number() -> None:
    """`and` holds every value, if it is no more exact; what is shifted by no fixed number is not known."""
    numbers = [-3, -2, -1, 0, 1, 2, 3, 6]
    for left, right in product(list(ranges(numbers)), repeat=2):
        known = [(v[0], v[-1]) for v in (left, right)]
        values = [a & b for a, b in product(left, right)]
        found = range_of(made(arith.AndIOp, i64), known, ())
        assert (found is None) == (left[0] < 0 and right[0] < 0)
        assert found is None or found[0] <= min(values) <= max(values) <= found[1], (left, right)
        shifted = range_of(made(arith.ShRSIOp, i64), known, ())
        if right[0] < 0:
            assert shifted is None
        else:
            values = [a >> b for a, b in product(left, right)]
            assert shifted == (min(values), max(values)), (left, right)
    assert range_of(made(arith.AndIOp, i64), [None, (0, 15)], ()) == (0, 15)
    assert range_of(made(arith.ShRSIOp, i64), [(0, 8), (0, 64)], ()) is None


def test_numbers_of_few_bits_are_widened_as_signed_or_unsigned_ones() -> None:
    byte = arith.ConstantOp(IntegerAttr(0, i8)).result
    wide = arith.ConstantOp(IntegerAttr(0, i32)).result
    unsigned, signed = (
        kind.create(operands=[byte], result_types=[i32]) for kind in (arith.ExtUIOp, arith.ExtSIOp)
    )
    assert range_of(unsigned, [None], ()) == range_of(unsigned, [(-1, 3)], ()) == (0, 255)
    assert range_of(unsigned, [(2, 3)], ()) == (2, 3)
    assert range_of(signed, [None], ()) == (-128, 127)
    assert range_of(signed, [(-1, 3)], ()) == (-1, 3)
    narrow = arith.TruncIOp.create(operands=[wide], result_types=[i8])
    assert range_of(narrow, [(-128, 127)], ()) == (-128, 127)
    assert range_of(narrow, [(0, 128)], ()) is None
    truth = arith.TruncIOp.create(operands=[wide], result_types=[i1])
    assert range_of(truth, [(0, 1)], ()) is None


@pytest.mark.parametrize(("unsigned", "low", "high"), [(True, 0, 255), (False, -128, 127)])
def test_a_type_has_numbers_between_its_ends(unsigned: bool, low: int, high: int) -> None:
    assert fits((low, high), i8, unsigned=unsigned)
    assert not fits((low - 1, high), i8, unsigned=unsigned)
    assert not fits((low, high + 1), i8, unsigned=unsigned)
    assert not fits(None, i8, unsigned=unsigned)
    assert not fits((0, 1), f32, unsigned=unsigned)
