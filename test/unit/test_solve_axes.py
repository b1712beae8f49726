"""Axes solved for are where a kernel stores what another one reads; others are not guessed."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from tilewright.dialects.index_expr import Bounds, Var, dim, parse_exprs
from tilewright.passes.kernels.body import solve_axes

READER = (6, 7)
SOLVED = {
    # axes of the producer, where it stores
    "in order": ("4, 3", "d0, d1"),
    "turned": ("4, 3, 5", "d2, d0, d1"),
    "in one": ("4, 3, 5", "d0*15 + d1*5 + d2"),
    "in one, turned": ("4, 3", "d1*4 + d0"),
    "two in one": ("4, 3, 5", "d2, d0*3 + d1"),
    "with an axis of one element": ("4, 1, 5", "d0, d2"),
    "with one between two": ("4, 1, 5", "d0*5 + d1*5 + d2"),
    "backwards": ("4", "3 - d0"),
    "rows from their ends": ("4, 3, 5", "d2, d0*3 + 2 - d1"),
    "all backwards": ("4, 3", "11 - d0*3 - d1"),
    "backwards, of a size that only the run knows": ("s0, 4", "s0 - 1 - d0, d1"),
    "of sizes that only the run knows": ("4, s0", "d1, d0"),
    "rows of a size that only the run knows": ("4, s0", "d0*s0 + d1"),
    "rows of a size that only the run knows, turned": ("s0, 4, 2", "d2*4*s0 + d1*s0 + d0"),
}
REFUSED = {
    "a diagonal": ("4, 3", "d0 + d1"),
    "gaps": ("4", "d0*2"),
    "gaps between rows": ("4, 3", "d0*4 + d1"),
    "backwards from another place on": ("4", "4 - d0"),
    "backwards, with gaps": ("4", "6 - d0*2"),
    "from another place on": ("4", "d0 + 1"),
    "one axis twice": ("4", "d0, d0"),
    "a part of an axis": ("8", "d0 floordiv 2"),
    "by an index": ("4", "i0"),
    "from a place on that only the run knows": ("4", "d0 + s0"),
    "gaps between rows of a size that only the run knows": ("4, s0", "d0*s0*2 + d1"),
}


@pytest.mark.parametrize(("sizes", "stored"), SOLVED.values(), ids=SOLVED)
def test_the_store_at_these_axes_is_what_is_read(sizes: str, stored: str) -> None:
    space, places, random = parse_exprs(sizes), parse_exprs(stored), Random(0)
    symbols = {Var("s", 0): 3}
    extents = [size.evaluate(symbols) for size in space]
    # How many places each subscript has: one more than the last one.
    corners = [
        {Var("d", axis): n for axis, n in enumerate(at)} for at in product(*((0, n - 1) for n in extents))
    ]
    counts = [max(place.evaluate({**at, **symbols}) for at in corners) + 1 for place in places]
    for _ in range(20):
        read = [(dim(0) * random.randrange(4) + dim(1) * random.randrange(4)) % n for n in counts]
        found = solve_axes(places, read, space)
        assert found is not None
        for at in product(*map(range, READER)):
            here = {**{Var("d", axis): n for axis, n in enumerate(at)}, **symbols}
            axes = {Var("d", axis): value.evaluate(here) for axis, value in found.items()}
            assert [place.evaluate({**axes, **symbols}) for place in places] == [
                e.evaluate(here) for e in read
            ]
            assert all(0 <= n < extents[axis.index] for axis, n in axes.items())


@pytest.mark.parametrize(("sizes", "stored"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_solved(sizes: str, stored: str) -> None:
    places = parse_exprs(stored)
    assert solve_axes(places, [dim(0)] * len(places), parse_exprs(sizes)) is None


@pytest.mark.parametrize(
    ("sizes", "stored", "read", "found"),
    [
        ("8", "d0 - 2", "d0", ["d0 + 2"]),
        ("4, 8", "d0, d1 - 2", "d1, d0 + 3", ["d1", "d0 + 5"]),
        ("4, 8", "d0*8 + d1 - 8", "d0*8 + d1", ["d0 + 1", "d1"]),
        ("8", "9 - d0", "d0", ["-d0 + 9"]),
    ],
)
def test_masked_stores_start_elsewhere(sizes: str, stored: str, read: str, found: list[str]) -> None:
    space, bounds = parse_exprs(sizes), Bounds(parse_exprs("4, 8"))
    values = solve_axes(parse_exprs(stored), parse_exprs(read), space, part=True)
    assert values is not None
    assert [str(bounds.simplify(values[axis])) for axis in range(len(space))] == found
    assert solve_axes(parse_exprs(stored), parse_exprs(read), space) is None
