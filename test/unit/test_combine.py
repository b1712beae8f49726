"""Partial results combine as numpy combines all at once: identities, ties, NaN, numbers of one bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import AnyFloat, bf16, f16, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute, Block, SSAValue

from tilewright.dialects.arrays import Arrays
from tilewright.dialects.semantics import Machine
from tilewright.dialects.tk.compute import LOG_ADD_EXP
from tilewright.dialects.tk.semantics_scalar import run_scalar
from tilewright.passes.kernels.combine import Emit, combine, combine_positions, constant, identity, linear

INF, NAN = float("inf"), float("nan")
FLOATS = [-INF, -2.5, -0.0, 0.0, 1.0, 3.0, INF, NAN]
NUMBERS: dict[Attribute, tuple[type, list[Any]]] = {
    f64: (np.float64, FLOATS),
    f32: (np.float32, FLOATS),
    i64: (np.int64, [-(2**63), -3, 0, 1, 7, 2**63 - 1]),
    i32: (np.int32, [-(2**31), -3, 0, 1, 7, 2**31 - 1]),
    i8: (np.int8, [-128, -3, 0, 1, 7, 127]),
    i1: (np.bool_, [False, True]),
}
WHOLE: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
}
Made = Callable[[Sequence[SSAValue], Emit], Sequence[SSAValue]]


def made(types: Sequence[Attribute], values: Sequence[Any], make: Made) -> list[Any]:
    """What the ops that `make` emits make of one number for each of `types`."""
    machine, block = Machine(Arrays(np)), Block(arg_types=types)
    known: dict[SSAValue, Any] = dict(zip(block.args, values, strict=True))

    def emit(op: Any) -> SSAValue:
        op.verify()
        with machine.quiet():
            known[op.results[0]] = run_scalar(op, [known[v] for v in op.operands], machine)
        return op.results[0]

    return [known[value] for value in make(block.args, emit)]


def number(type_: Attribute, value: Any) -> Any:
    return np.asarray(value, NUMBERS[type_][0])


def kinds(type_: Attribute) -> list[str]:
    """But sums of booleans, which `arith` counts modulo 2, and nobody asks for."""
    if isinstance(type_, AnyFloat):
        return ["add", "mul", "max", "min"]
    return [kind for kind in WHOLE if (kind, type_) != ("add", i1)]


CASES = [(kind, type_) for type_ in NUMBERS for kind in kinds(type_)]


@pytest.mark.parametrize(("kind", "type_"), CASES, ids=[f"{kind}-{type_}" for kind, type_ in CASES])
def test_two_numbers_are_combined_as_numpy_does(kind: str, type_: Attribute) -> None:
    for one, other in product(NUMBERS[type_][1], repeat=2):
        lhs, rhs = number(type_, one), number(type_, other)
        (found,) = made([type_, type_], [lhs, rhs], lambda args, emit: [combine(kind, *args, emit)])
        with np.errstate(all="ignore"):
            expected = WHOLE[kind](lhs, rhs)
        assert np.array_equal(found, expected, equal_nan=type_ in (f32, f64)), (one, other)


@pytest.mark.parametrize(("kind", "type_"), CASES, ids=[f"{kind}-{type_}" for kind, type_ in CASES])
def test_the_identity_changes_no_number(kind: str, type_: Attribute) -> None:
    def both(args: Sequence[SSAValue], emit: Emit) -> list[SSAValue]:
        none = emit(constant(identity(kind, type_)))
        return [combine(kind, none, args[0], emit), combine(kind, args[0], none, emit)]

    for value in NUMBERS[type_][1]:
        given = number(type_, value)
        for found in made([type_], [given], both):
            assert np.array_equal(found, given, equal_nan=type_ in (f32, f64)), value


@pytest.mark.parametrize("type_", [f16, bf16], ids=str)
def test_halves_have_identities_of_their_type(type_: AnyFloat) -> None:
    assert identity("max", type_).type == type_
    assert identity("mul", type_).value.data == 1  # pyright: ignore[reportAttributeAccessIssue]


def test_logarithms_of_sums_of_exponentials() -> None:
    for one, other in product([-INF, -2.5, 0.0, 3.0, 700.0, INF, NAN], repeat=2):
        given = [number(f64, one), number(f64, other)]
        (found,) = made([f64, f64], given, lambda args, emit: [combine(LOG_ADD_EXP, *args, emit)])
        with np.errstate(all="ignore"):
            assert np.allclose(found, np.logaddexp(*given), rtol=1e-15, equal_nan=True), (one, other)
    assert identity(LOG_ADD_EXP, f64).value.data == -INF  # pyright: ignore[reportAttributeAccessIssue]


def test_a_step_of_a_recurrence() -> None:
    given = [number(f32, v) for v in (2.0, 3.0, 0.5)]
    (found,) = made([f32] * 3, given, lambda args, emit: [linear(*args, emit)])
    assert found == 4.0


POSITIONS = {
    "a larger one": ("max", (1.0, 4), (2.0, 9), (2.0, 9)),
    "a smaller one": ("min", (1.0, 4), (-2.0, 9), (-2.0, 9)),
    "none that is better": ("max", (3.0, 4), (2.0, 1), (3.0, 4)),
    "an equal one that is earlier": ("max", (2.0, 4), (2.0, 1), (2.0, 1)),
    "an equal one that is later": ("max", (2.0, 4), (2.0, 9), (2.0, 4)),
    "zeros of both signs, which are equal": ("max", (-0.0, 4), (0.0, 1), (0.0, 1)),
    "NaN beside a number": ("max", (2.0, 4), (NAN, 9), (NAN, 9)),
    "a number beside NaN": ("min", (NAN, 4), (2.0, 1), (NAN, 4)),
    "NaN twice": ("max", (NAN, 4), (NAN, 9), (NAN, 4)),
}


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(("kind", "acc", "new", "best"), POSITIONS.values(), ids=POSITIONS)
def test_the_better_of_two(
    kind: str, acc: tuple[float, int], new: tuple[float, int], best: tuple[float, int], ordered: bool
) -> None:
    if ordered and new[1] < acc[1]:  # what comes first has the lower position then
        acc, new = new, acc
    given = [number(f32, acc[0]), number(i64, acc[1]), number(f32, new[0]), number(i64, new[1])]
    value, position = made(
        [f32, i64, f32, i64],
        given,
        lambda args, emit: combine_positions(
            kind, (args[0], args[1]), (args[2], args[3]), emit, ordered=ordered
        ),
    )
    assert np.array_equal(value, np.float32(best[0]), equal_nan=True)
    assert position == best[1]


@pytest.mark.parametrize("type_", [i1, i32], ids=str)
@pytest.mark.parametrize("kind", ["max", "min"])
def test_the_better_of_two_integers(kind: str, type_: Attribute) -> None:
    for one, other in product(NUMBERS[type_][1], repeat=2):
        given = [number(type_, one), number(i64, 4), number(type_, other), number(i64, 9)]
        value, position = made(
            [type_, i64, type_, i64],
            given,
            lambda args, emit: combine_positions(kind, (args[0], args[1]), (args[2], args[3]), emit),
        )
        expected = max(one, other) if kind == "max" else min(one, other)
        assert value == expected
        assert position == (4 if one == expected else 9)
