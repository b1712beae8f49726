"""Offsets for intervals of memory: which may overlap in space because they do not in time."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

_LARGEST_FIRST_LIMIT = 256
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
    if len(intervals) <= _LARGEST_FIRST_LIMIT:
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
    total, space = 0, _Space()
    for i in sorted(range(len(intervals)), key=lambda i: (intervals[i].start, -intervals[i].size)):
        item = intervals[i]
        while alive and alive[0][0] < item.start:
            done = heappop(alive)[1]
            space.give_back(offsets[done], intervals[done].size)
        if not item.size:
            continue  # takes no place, and must not cut a gap in two
        offsets[i] = space.take(item.size)
        heappush(alive, (item.end, i))
        total = max(total, offsets[i] + item.size)
    return offsets, total


@dataclass
class _Space:
    """Memory without end: the free gaps below `top`, kept in order instead of found anew for each request."""

    top: int = 0
    sizes: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """(size, start) of every gap, sorted."""
    ends: dict[int, int] = field(default_factory=dict[int, int])
    """Start of a gap -> where it ends."""
    starts: dict[int, int] = field(default_factory=dict[int, int])
    """End of a gap -> where it starts."""

    def take(self, size: int) -> int:
        """The start of `size` bytes: of the smallest gap that has them, of those the first."""
        at = bisect_left(self.sizes, (size, 0))
        if at == len(self.sizes):
            start, self.top = self.top, self.top + size
            return start
        gap, start = self.sizes[at]
        self._drop(start, start + gap)
        if gap > size:
            self._add(start + size, start + gap)
        return start

    def give_back(self, start: int, size: int) -> None:
        """Join what is free again with the gaps on both sides."""
        end = start + size
        if (before := self.starts.get(start)) is not None:
            self._drop(before, start)
            start = before
        if (behind := self.ends.get(end)) is not None:
            self._drop(end, behind)
            end = behind
        if end == self.top:
            self.top = start
        else:
            self._add(start, end)

    def _add(self, start: int, end: int) -> None:
        insort(self.sizes, (end - start, start))
        self.ends[start], self.starts[end] = end, start

    def _drop(self, start: int, end: int) -> None:
        del self.sizes[bisect_left(self.sizes, (end - start, start))]
        del self.ends[start], self.starts[end]
