"""Offsets for intervals of memory: which may overlap in space because they do not in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

_EXACT_LIMIT = 256
"""Up to this many intervals, both strategies are tried and the smaller result is taken."""


@dataclass(frozen=True)
class Interval:
    """`size` bytes from op `start` to op `end`, both included."""

    start: int
    end: int
    size: int


def pack(intervals: Sequence[Interval]) -> tuple[list[int], int]:
    """An offset per interval, and the bytes that are needed altogether."""
    best = _first_come(intervals)
    if len(intervals) <= _EXACT_LIMIT:
        best = min(_largest_first(intervals), best, key=lambda packed: packed[1])
    return best


def _largest_first(intervals: Sequence[Interval]) -> tuple[list[int], int]:
    """Place large intervals first, each in the smallest gap between those alive with it."""
    offsets = [0] * len(intervals)
    placed: list[tuple[int, Interval]] = []
    total = 0
    order = sorted(range(len(intervals)), key=lambda i: (-intervals[i].size, intervals[i].start))
    for i in order:
        item = intervals[i]
        alive = [p for p in placed if p[1].start <= item.end and item.start <= p[1].end]
        offsets[i] = _best_gap(sorted((at, at + other.size) for at, other in alive), item.size)
        placed.append((offsets[i], item))
        total = max(total, offsets[i] + item.size)
    return offsets, total


def _best_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    best: tuple[int, int] | None = None
    top = 0
    for start, end in taken:
        gap = start - top
        if gap >= size and (best is None or gap < best[0]):
            best = (gap, top)
        top = max(top, end)
    return top if best is None else best[1]


def _first_come(intervals: Sequence[Interval]) -> tuple[list[int], int]:
    """Place in program order, each in the smallest free gap that holds it; linear in practice."""
    offsets = [0] * len(intervals)
    alive: list[tuple[int, int]] = []
    total = 0
    taken: dict[int, tuple[int, int]] = {}
    for i in sorted(range(len(intervals)), key=lambda i: (intervals[i].start, -intervals[i].size)):
        item = intervals[i]
        while alive and alive[0][0] < item.start:
            del taken[heappop(alive)[1]]
        offsets[i] = _best_gap(sorted(taken.values()), item.size)
        taken[i] = (offsets[i], offsets[i] + item.size)
        heappush(alive, (item.end, i))
        total = max(total, offsets[i] + item.size)
    return offsets, total
