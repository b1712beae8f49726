"""Attention of few queries: which of them share a tile, and in how many parts their keys are worth it."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.dialects.tw.attention import AttentionOp
from tilewright.dialects.types import sizes_of

from ..schedule.cost import estimate

_PROGRAMS = 128
"""So many keep a GPU busy."""
_FEW = 16
"""Rows of queries of one head that leave room in a tile for those of others."""
_TILE = 128
"""Rows of a tile that a program has at most."""
_LEAST = 128
"""Keys of a part: a program of fewer is over before it has begun."""
_WHOLE = 16
"""Keys are read by vectors, so that parts begin at multiples of that."""


@dataclass(frozen=True)
class Parts:
    """How an attention is computed."""

    group: int
    """Heads of queries that are rows of one tile."""
    count: int
    """Parts of the keys."""

    @property
    def is_plain(self) -> bool:
        return self.group == 1 and self.count == 1


def parts_of(op: AttentionOp) -> Parts | str:
    """The parts that keep a GPU busy, or why there are none."""
    if op.is_causal is not None or op.seed is not None:
        return "it asks where a key stands"
    batch, *sides = *sizes_of(op.query)[:3], *sizes_of(op.key)[1:3]
    heads, rows, shared, keys = (size.constant for size in sides)
    if heads is None or rows is None or shared is None or keys is None:
        return "a side of it is symbolic"
    if (pairs := estimate(batch) * shared) == 0:
        return Parts(1, 1)
    group = heads // shared
    together = rows <= _FEW
    tiles = -(-rows * group // _TILE) if together else -(-rows // _TILE) * group
    count = _divisor(keys, min(_PROGRAMS // (pairs * tiles), keys // _LEAST)) if rows else 1
    worth = together and (count > 1 or pairs * tiles >= _PROGRAMS)
    return Parts(group if worth else 1, count)


def _divisor(keys: int, most: int) -> int:
    """The most parts, of equal lengths."""
    return next((n for n in range(most, 1, -1) if keys % (n * _WHOLE) == 0), 1)
