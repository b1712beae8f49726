"""Buffers of a launch: every access is checked against bounds and against other programs.

Programs run in no particular order, so two of them may not write different values to one
element, nor may one read what another changes, except by atomic operations. Nor do the threads
of a program: it may not read what it wrote. Where programs part ways after an atomic operation,
some may have waited for others: then only bounds are checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch

from .dtypes import DType, Unknown

NOBODY, SEVERAL = -1, -2
"""Stand for programs in `Region.writer` and `Region.reader`."""

POISON = 0x7FFF
"""This pattern, repeated, is NaN in every float type and large in every integer type."""

_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def poison(count: int, dtype: torch.dtype) -> torch.Tensor:
    """Memory that nobody wrote."""
    size = torch.empty(0, dtype=dtype).element_size()
    pairs = torch.full((count * size // 2 + 1,), POISON, dtype=torch.int16)
    return pairs.view(torch.int8)[: count * size].clone().view(dtype)


class AccessError(Exception):
    """An access that is wrong: the launcher adds kernel and line."""

    def __init__(self, how: str, buffer: Buffer, index: int, program: int) -> None:
        super().__init__(how)
        self.how, self.buffer, self.index, self.program = how, buffer, index, program


@dataclass
class Region:
    """Bytes that one or several parameters share, and which programs touched them."""

    data: torch.Tensor
    """As bytes."""
    grain: int
    """Bytes per entry of the logs: the smallest element of the parameters."""
    writer: torch.Tensor = field(init=False)
    reader: torch.Tensor = field(init=False)
    ordered: bool = False
    """Atomic operations may have put programs into an order: no races are looked for."""
    _written: bool = False
    _reads: list[tuple[torch.Tensor, torch.Tensor]] = field(
        default_factory=list[tuple[torch.Tensor, torch.Tensor]]
    )
    """Reads that `reader` does not know yet: most regions are never written, and need no log."""
    _saved: torch.Tensor | None = None

    def __post_init__(self) -> None:
        entries = self.data.numel() // self.grain + 1
        self.writer = torch.full((entries,), NOBODY, dtype=torch.int32)
        self.reader = torch.full((entries,), NOBODY, dtype=torch.int32)

    def save(self) -> None:
        """Remember the contents before the first change since `keep`."""
        if self._saved is None:
            self._saved = self.data.clone()

    def keep(self) -> None:
        self._saved = None

    def restore(self) -> None:
        """The contents at the last `keep`; the logs stay, since the same programs run again."""
        if self._saved is not None:
            self.data.copy_(self._saved)
        self._saved = None

    def writers(self, at: torch.Tensor) -> torch.Tensor | None:
        """Who wrote these entries, if any of the region was written."""
        return self.writer[at] if self._written and not self.ordered else None

    def log_read(self, at: torch.Tensor, programs: torch.Tensor) -> None:
        if not self.ordered:
            self._reads.append((at, programs))

    def log_write(self, at: torch.Tensor, programs: torch.Tensor) -> None:
        self.writer[at] = programs
        self._written = True

    def readers(self, at: torch.Tensor) -> torch.Tensor:
        """Who read these entries."""
        for entries, programs in self._reads:
            before = self.reader[entries]
            now = torch.where((before == NOBODY) | (before == programs), programs, SEVERAL)
            self.reader[entries] = now
            self.reader[entries[self.reader[entries] != now]] = SEVERAL
        self._reads.clear()
        return self.reader[at]


@dataclass(frozen=True)
class Buffer:
    """What a pointer parameter points to."""

    name: str
    flat: torch.Tensor
    """One-dimensional, of the payload type."""
    dtype: DType
    region: Region
    start: int
    """Its first byte in the region."""
    contested: bool = False
    """Several may store to one element, of which any value may remain."""

    def read_as(self, dtype: DType) -> Buffer:
        """The same memory, as elements of another type and the same width."""
        if dtype.payload.itemsize != self.dtype.payload.itemsize:
            raise Unknown(f"it does not read {self.dtype} as {dtype}, which has another width")
        return replace(self, flat=self.flat.view(dtype.payload), dtype=dtype)

    def _entries(self, index: torch.Tensor) -> torch.Tensor:
        size, grain = self.flat.element_size(), self.region.grain
        if size == grain and self.start % grain == 0:  # as nearly always; divisions are slow
            return index + self.start // grain if self.start else index
        return (self.start + index * size) // grain

    def _report(self, how: str, bad: torch.Tensor, index: torch.Tensor, programs: torch.Tensor) -> None:
        if bool(bad.any()):
            first = int(bad.nonzero()[0])
            raise AccessError(how, self, int(index[first]), int(programs[first]))

    def _check(self, verb: str, index: torch.Tensor, programs: torch.Tensor) -> None:
        if index.numel() == 0:
            return
        low, high = index.aminmax()
        if int(low) < 0 or int(high) >= self.flat.numel():
            self._report(verb, (index < 0) | (index >= self.flat.numel()), index, programs)

    def read(self, index: torch.Tensor, programs: torch.Tensor) -> torch.Tensor:
        """Elements at flat `index`, read by `programs` (of the same length)."""
        self._check("reads", index, programs)
        region, at = self.region, self._entries(index)
        if (last := region.writers(at)) is not None:
            bad = (last != NOBODY) & (last != programs)
            self._report("another program writes what this one reads", bad, index, programs)
            how = "a thread reads what another one of its program may not have written yet"
            self._report(how, last == programs, index, programs)
        region.log_read(at, programs)
        return self.flat[index]

    def write(self, index: torch.Tensor, values: torch.Tensor, programs: torch.Tensor) -> None:
        """Store `values` at flat `index`, all three of one length."""
        self._check("writes", index, programs)
        region, at = self.region, self._entries(index)
        region.save()
        if not region.ordered:
            changed = self._differs(index, values)
            last, reader = region.writer[at], region.readers(at)
            if not self.contested:
                bad = changed & (last != NOBODY) & (last != programs)
                self._report("another program stores another value", bad, index, programs)
            bad = changed & (reader != NOBODY) & (reader != programs)
            self._report("another program reads what this one writes", bad, index, programs)
        self.flat[index] = values
        if not self.contested:
            self._report("two lanes store different values", self._differs(index, values), index, programs)
        region.log_write(at, programs)

    def _differs(self, index: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        if self.flat.dtype == torch.bool:
            return self.flat[index] != values
        bits = _BITS[self.flat.element_size()]
        return self.flat.view(bits)[index] != values.contiguous().view(bits)

    def update(
        self,
        index: torch.Tensor,
        programs: torch.Tensor,
        combine: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    ) -> torch.Tensor:
        """Atomically put `combine(old, lanes)` at each index, one after the other; gives the old values."""
        self._check("updates", index, programs)
        self.region.save()
        self.region.ordered = True
        old = torch.empty(index.shape, dtype=self.flat.dtype)
        for lanes in _rounds(index):
            where = index[lanes]
            old[lanes] = self.flat[where]
            self.flat[where] = combine(old[lanes], lanes)
        return old


def _rounds(index: torch.Tensor) -> list[torch.Tensor]:
    """Lanes such that no index comes twice in a round, and equal ones keep their order."""
    if index.numel() == 0:
        return []
    order = torch.argsort(index, stable=True)
    ordered = index[order]
    positions = torch.arange(index.numel())
    starts = torch.where(
        torch.cat([torch.ones(1, dtype=torch.bool), ordered[1:] != ordered[:-1]]), positions, 0
    )
    rank = torch.empty_like(index)
    rank[order] = positions - starts.cummax(0).values
    by_rank = torch.argsort(rank, stable=True)
    return list(torch.split(by_rank, [int(n) for n in torch.bincount(rank)]))


def buffers(
    names: Sequence[str], tensors: Sequence[torch.Tensor], types: Sequence[DType], contested: Sequence[bool]
) -> list[Buffer]:
    """Buffers of contiguous tensors; those that share memory share a region."""
    spans = [_span(t) for t in tensors]
    regions: list[tuple[int, int, Region]] = []
    order = sorted(range(len(spans)), key=lambda i: (spans[i], i))
    group: list[int] = []
    end = -1
    for i in [*order, -1]:
        if group and (i < 0 or spans[i][0] >= end):
            regions.append(
                (spans[group[0]][0], end, _region([tensors[j] for j in group], spans[group[0]][0], end))
            )
            group, end = [], -1
        if i >= 0 and spans[i][1] > spans[i][0]:
            group.append(i)
            end = max(end, spans[i][1])
    empty = Region(torch.empty(0, dtype=torch.uint8), 1)
    made: list[Buffer] = []
    each = zip(names, tensors, types, contested, spans, strict=True)
    for name, tensor, dtype, several, (low, high) in each:
        start, _, region = next(
            (r for r in regions if r[0] <= low and high <= r[1] and high > low), (low, low, empty)
        )
        made.append(Buffer(name, tensor.view(dtype.payload), dtype, region, low - start, several))
    return made


def _span(tensor: torch.Tensor) -> tuple[int, int]:
    start = tensor.data_ptr()
    return start, start + tensor.numel() * tensor.element_size()


def _region(tensors: Sequence[torch.Tensor], start: int, end: int) -> Region:
    first = min(tensors, key=lambda t: t.data_ptr())
    offset = first.storage_offset() * first.element_size()
    data = torch.empty(0, dtype=torch.uint8).set_(first.untyped_storage(), offset, (end - start,), (1,))
    return Region(data, min(t.element_size() for t in tensors))
