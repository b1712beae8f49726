"""Parts of memory that have no element in common, against all elements of both."""

from __future__ import annotations

import random
from itertools import product

import pytest

from tilewright.dialects.index_expr import as_expr, dim, parse_expr, parse_exprs
from tilewright.passes.memory.disjoint import Region, apart
from tilewright.passes.memory.layouts import Layout


def elements(region: Region) -> set[int]:
    ways = [[step * i for i in range(count)] for step, count in region.steps]
    return {region.first + sum(way) for way in product(*ways)}


@pytest.mark.parametrize("seed", range(8))
def test_what_is_disjoint_has_nothing_in_common(seed: int) -> None:
    drawn, found = random.Random(seed), 0
    for _ in range(400):
        one, other = (
            Region(
                drawn.randrange(12),
                tuple((drawn.choice([-6, -1, 0, 1, 2, 6, 12]), drawn.randrange(4)) for _ in range(2)),
            )
            for _ in range(2)
        )
        if one.disjoint(other):
            assert elements(one).isdisjoint(elements(other))
            found += 1
        assert one.disjoint(other) == other.disjoint(one)
    assert found > 50


SLICES = {
    # offset and strides of two parts of [4, 6] elements, and their sizes
    "columns": (("0", "6, 1", "4, 3"), ("3", "6, 1", "4, 3")),
    "rows": (("0", "6, 1", "2, 6"), ("12", "6, 1", "2, 6")),
    "every other row": (("0", "12, 1", "2, 6"), ("6", "12, 1", "2, 6")),
    "every other column": (("0", "6, 2", "4, 3"), ("1", "6, 2", "4, 3")),
    "columns of what is turned": (("0", "1, 6", "3, 4"), ("3", "1, 6", "3, 4")),
    "nothing": (("0", "6, 1", "4, 6"), ("0", "6, 1", "4, 0")),
}


def region(offset: str, strides: str, sizes: str) -> Region | None:
    return Region.of(Layout(parse_expr(offset), parse_exprs(sizes), parse_exprs(strides)))


@pytest.mark.parametrize(("one", "other"), SLICES.values(), ids=SLICES)
def test_slices(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    assert apart(region(*one), region(*other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("0", "6, 1", "4, 3"), ("2", "6, 1", "4, 3")),
        (("0", "6, 1", "3, 6"), ("12", "6, 1", "2, 6")),
        (("0", "6, 1", "4, 6"), ("7", "1, 6", "2, 2")),
    ],
)
def test_slices_that_meet(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    assert not apart(region(*one), region(*other))


def test_what_only_the_run_knows() -> None:
    assert region("s0", "6, 1", "4, 3") is None
    assert region("0", "s0, 1", "4, 3") is None
    assert region("0", "6, 1", "s0, 3") is None


def test_places_of_a_subscript() -> None:
    sizes = (as_expr(4), as_expr(3), as_expr(2))
    assert Region.at(dim(0) * 6 + dim(2) * 2 + 5, sizes) == Region(5, ((6, 4), (2, 2)))
    assert Region.at(parse_expr("d0 floordiv 2"), sizes) is None
    assert Region.at(parse_expr("d0*d1"), sizes) is None
    assert Region.at(parse_expr("d0*s0"), sizes) is None
    assert Region.at(parse_expr("d0 + s0"), sizes) is None
    assert Region.at(parse_expr("d0 + i0"), sizes) is None
