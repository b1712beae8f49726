"""Positions that are known numbers, as runs."""

from __future__ import annotations

from random import Random

import pytest
from xdsl.dialects.builtin import i64

from tilewright.dialects.tw.creation import IotaOp
from tilewright.dialects.tw.elementwise_binary import AddOp
from tilewright.dialects.tw.view import BroadcastOp
from tilewright.passes.tensor.listed_positions import Clamped, clamped, listed, repeated, runs


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((1, 2, 0), [(1, 1, 2), (0, 1, 1)]),
        ((2, 0, 1), [(2, 1, 1), (0, 1, 2)]),
        ((0, 2, 4, 1, 3, 5), [(0, 2, 3), (1, 2, 3)]),
        ((3, 2, 1, 0), [(3, -1, 4)]),
        ((0, 4, 8, 9, 10, 11), [(0, 4, 2), (8, 1, 4)]),
        ((5, 5), [(5, 1, 1), (5, 1, 1)]),
        ((), []),
    ],
)
def test_runs_are_few(numbers: tuple[int, ...], expected: list[tuple[int, int, int]]) -> None:
    found = runs(numbers)
    assert [(run.first, run.step, run.length) for run in found] == expected
    for run in found:
        assert run.lowest == min(run.first + run.step * i for i in range(run.length))


def test_runs_hold_all_numbers() -> None:
    random = Random(0)
    for _ in range(200):
        numbers = [random.randrange(4) for _ in range(random.randrange(12))]
        assert [run.first + run.step * i for run in runs(numbers) for i in range(run.length)] == numbers


def test_sums_of_sums_are_evaluated_once() -> None:
    value = IotaOp(i64, [4]).result
    for _ in range(60):
        value = AddOp(value, value).result
    found = listed(value)
    assert found is not None
    assert found.places == tuple(i * 2**60 for i in range(4))


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((0, 0, 1, 1, 2, 2), (0, 3, 2)),
        ((4, 5, 6), (4, 3, 1)),
        ((7, 7, 7), (7, 1, 3)),
        ((-1, -1, 0, 0), (-1, 2, 2)),
        ((0, 0, 1, 1, 2), None),
        ((0, 0, 1, 2, 2), None),
        ((0, 0, 2, 2), None),
        ((1, 1, 0, 0), None),
    ],
)
def test_numbers_that_are_repeated(numbers: tuple[int, ...], expected: tuple[int, int, int] | None) -> None:
    found = repeated(numbers)
    assert (found and (found.first, found.count, found.times)) == expected


def test_numbers_along_one_dimension_of_many_elements() -> None:
    rows = BroadcastOp(IotaOp(i64, [300]).result, [64, 300, 5], [1]).result
    found = listed(BroadcastOp(rows, [2, 64, 300, 5]).result)
    assert found is not None
    assert (found.dim, found.places) == (2, tuple(range(300)))
    assert listed(IotaOp(i64, [5000]).result) is None


def test_of_very_many_numbers_each_is_a_run() -> None:
    assert len(runs(range(256))) == 1
    assert len(runs(range(257))) == 257


@pytest.mark.parametrize(
    ("numbers", "found"),
    [
        ([0, 1, 3, 5, 6], Clamped(-1, 2, 0, 6)),
        ([0, 2, 4, 6], Clamped(0, 2, 0, 6)),
        ([7, 6, 4, 2, 1], Clamped(8, -2, 1, 7)),
        ([0, 0, 1, 2, 2], Clamped(-1, 1, 0, 2)),
        ([0, 1, 3, 4, 6], None),
        ([5, 1, 3, 5, 6], None),
    ],
)
def test_steps_that_meet_the_ends(numbers: list[int], found: Clamped | None) -> None:
    assert clamped(numbers) == found
