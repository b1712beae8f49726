"""Elements that are gathered so many times in turn are repeated, which kernels read in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import as_expr
from tilewright.dialects.tw.indexing import GatherOp
from tilewright.dialects.tw.view import BroadcastOp, ReshapeOp, SliceOp
from tilewright.dialects.types import sizes_of

from ..driver import Rewrite
from .listed_positions import Repeated, listed, repeated


@dataclass(frozen=True)
class _Along:
    """What is gathered along a dimension of the source, and where that lies in the result."""

    place: int
    found: Repeated


def repeat_rows(op: Operation, rw: Rewrite) -> SSAValue | None:
    """A gather along some dimensions, in order, at known positions that are counted one by one, or repeated.

    So images are resized to a whole multiple of their size: an element is read by its neighbours.
    """
    assert isinstance(op, GatherOp)
    if (along := _gathered(op)) is None or all(part.found.times == 1 for part in along.values()):
        return None
    source = sizes_of(op.source)
    counts = [as_expr(along[d].found.count) if d in along else n for d, n in enumerate(source)]
    starts = [along[d].found.first if d in along else 0 for d in range(len(source))]
    part = rw.value(SliceOp(op.source, starts, counts))
    twice = [(n, *_times(along.get(d))) for d, n in enumerate(counts)]
    kept = [sum(map(len, twice[:d])) for d in range(len(twice))]
    spread = rw.value(BroadcastOp(part, [n for sizes in twice for n in sizes], kept))
    whole = [counts[d] * along[d].found.times if d in along else n for d, n in enumerate(counts)]
    return rw.value(BroadcastOp(rw.value(ReshapeOp(spread, whole)), sizes_of(op.result), _places(op, along)))


def _times(along: _Along | None) -> Sequence[int]:
    return () if along is None or along.found.times == 1 else (along.found.times,)


def _gathered(op: GatherOp) -> dict[int, _Along] | None:
    """Of each dimension of the source that is gathered; None where it is no repetition in place."""
    along: dict[int, _Along] = {}
    for dim, index in zip(ints(op.dims), op.indices, strict=True):
        limit, numbers = sizes_of(op.source)[dim].constant, listed(index)
        if limit is None or numbers is None:
            return None
        wraps = op.strict is None
        found = repeated([n + limit if n < 0 and wraps else n for n in numbers.places])
        if found is None or found.first < 0 or found.first + found.count > limit:
            return None
        along[dim] = _Along(op.at.value.data + numbers.dim, found)
    places = _places(op, along)
    return along if places == sorted({*places}) else None


def _places(op: GatherOp, along: dict[int, _Along]) -> list[int]:
    """For each dimension of the source, that of the result."""
    rank, at = len(sizes_of(op.indices[0])), op.at.value.data
    others = [d for d in range(len(sizes_of(op.source))) if d not in along]
    kept = {d: n if n < at else n + rank for n, d in enumerate(others)}
    return [along[d].place if d in along else kept[d] for d in range(len(kept) + len(along))]
