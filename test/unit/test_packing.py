"""Offsets in the arena: what lives at one time lies apart, and gaps are those that a plain search finds."""

import random

import pytest

from tilewright.passes.host.packing import Interval, pack

MANY = 300
"""More intervals than are also packed by size, which may find another place."""


def plain(intervals: list[Interval]) -> list[int]:
    """In program order: the smallest gap between the places of those alive, of those the first."""
    places: dict[int, int] = {}
    for i in sorted(range(len(intervals)), key=lambda i: (intervals[i].start, -intervals[i].size)):
        item, top, gaps = intervals[i], 0, list[tuple[int, int]]()
        alive = [j for j in places if intervals[j].end >= item.start]
        for start, end in sorted((places[j], places[j] + intervals[j].size) for j in alive):
            gaps += [(start - top, top)] if start - top >= item.size else []
            top = end
        places[i] = min(gaps)[1] if gaps else top
    return [places[i] for i in range(len(intervals))]


def drawn(seed: int, count: int, least: int) -> list[Interval]:
    rng = random.Random(seed)
    starts = [rng.randrange(count) for _ in range(count)]
    longest = rng.choice((3, 20, count))
    return [Interval(a, a + rng.randrange(longest), 64 * rng.randrange(least, 9)) for a in starts]


@pytest.mark.parametrize("seed", range(12))
def test_gaps_are_those_of_a_plain_search(seed: int) -> None:
    intervals = drawn(seed, MANY, least=1)
    offsets, total = pack(intervals)
    assert offsets == plain(intervals)
    assert total == max(at + item.size for at, item in zip(offsets, intervals, strict=True))


@pytest.mark.parametrize("count", [5, 40, MANY])
def test_what_lives_at_one_time_lies_apart(count: int) -> None:
    for seed in range(10):
        intervals = drawn(seed, count, least=0)
        offsets, total = pack(intervals)
        for i, a in enumerate(intervals):
            assert offsets[i] + a.size <= total
            for j, b in enumerate(intervals[:i]):
                together = a.start <= b.end and b.start <= a.end
                apart = offsets[i] + a.size <= offsets[j] or offsets[j] + b.size <= offsets[i]
                assert apart or not together or not a.size or not b.size
