"""Adaptive pooling whose windows have different sizes, and the gradients of averages: windows are read whole.

Window `i` of `count` over `size` elements begins at `i * size // count` and ends at the beginning of the next
one, rounded up. The windows that hold element `j` are given by the same rule with the roles exchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._ops import OperatorBase
from torch._prims_common import suggest_memory_format


@dataclass(frozen=True)
class Uneven:
    """The windows along one dimension."""

    size: int
    count: int

    @property
    def longest(self) -> int:
        ends = ((i + 1) * self.size for i in range(self.count))
        return max(-(-end // self.count) - i * self.size // self.count for i, end in enumerate(ends))

    def places(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Of the elements of each window, in range, and whether they are any."""
        window = torch.arange(self.count, device=device).unsqueeze(-1)
        place = window * self.size // self.count + torch.arange(self.longest, device=device)
        end = ((window + 1) * self.size + self.count - 1) // self.count
        return place.clamp(max=self.size - 1), place < end

    def lengths(self, device: torch.device) -> Tensor:
        window = torch.arange(self.count, device=device)
        return ((window + 1) * self.size + self.count - 1) // self.count - window * self.size // self.count


def uneven_windows(sizes: Sequence[Any], counts: Sequence[Any]) -> list[Uneven] | None:
    """None where sizes are symbols, or there is nothing."""
    if not all(isinstance(n, int) and n for n in (*sizes, *counts)):
        return None
    return [Uneven(size, count) for size, count in zip(sizes, counts, strict=True)]


def spread(line: Tensor, d: int, rank: int) -> Tensor:
    """`line`, whose dimensions are those of dimension `d`, beside the other ones."""
    shape = [1] * (rank * line.dim())
    for place, n in enumerate(line.shape):
        shape[place * rank + d] = n
    return line.reshape(shape)


def read_windows(x: Tensor, windows: Sequence[Uneven], beyond: float) -> tuple[Tensor, Tensor]:
    """Trailing dimensions for the elements of each window, and where these are in the plane."""
    rank = len(windows)
    leading = x.dim() - rank
    inside, place = None, None
    for d, line in enumerate(windows):
        places, within = line.places(x.device)
        x = x.index_select(leading + d, places.flatten())
        x = x.reshape(*x.shape[: leading + d], line.count, line.longest, *x.shape[leading + d + 1 :])
        x = x.movedim(leading + d + 1, -1)
        own, within = spread(places, d, rank), spread(within, d, rank)
        place = own if place is None else place * line.size + own
        inside = within if inside is None else inside & within
    assert inside is not None
    assert place is not None
    return torch.where(inside, x, beyond), place


def trailing(windows: Sequence[Any]) -> tuple[int, ...]:
    return tuple(range(-len(windows), 0))


def _areas(windows: Sequence[Uneven], device: torch.device) -> Tensor:
    """How many elements each window has."""
    area: Any = 1
    for d, line in enumerate(windows):
        area = area * spread(line.lengths(device), d, len(windows))
    return area


def _work(x: Tensor) -> torch.dtype:
    return torch.promote_types(x.dtype, torch.float32)


def _average(x: Tensor, result: Sequence[int]) -> Tensor:
    """Where all windows have one size a pass writes sums of windows."""
    windows = uneven_windows(x.shape[-len(result) :], result)
    if windows is None or not x.is_floating_point() or all(w.size % w.count == 0 for w in windows):
        return NotImplemented
    read, _ = read_windows(x.to(_work(x)), windows, 0.0)
    found = read.sum(trailing(windows)) / _areas(windows, x.device)
    return found.to(x.dtype).contiguous(memory_format=suggest_memory_format(x))


def _average_backward(gradient: Tensor, x: Tensor, rank: int) -> Tensor:
    windows = uneven_windows(x.shape[-rank:], gradient.shape[-rank:])
    if windows is None:
        return NotImplemented
    shares = gradient.to(_work(x)) / _areas(windows, x.device)
    back = [Uneven(w.count, w.size) for w in windows]
    read, _ = read_windows(shares, back, 0.0)
    return read.sum(trailing(back)).to(x.dtype).contiguous(memory_format=suggest_memory_format(x))


def _of_rank(rank: int) -> Callable[[Tensor, Tensor], Tensor]:
    def gradient(gradient: Tensor, x: Tensor) -> Tensor:
        return _average_backward(gradient, x, rank)

    return gradient


def adaptive_averages() -> dict[OperatorBase, Callable[..., Any]]:
    """What replaces each of these operators."""
    aten = torch.ops.aten
    return {
        aten._adaptive_avg_pool2d.default: _average,
        aten._adaptive_avg_pool3d.default: _average,
        aten._adaptive_avg_pool2d_backward.default: _of_rank(2),
        aten._adaptive_avg_pool3d_backward.default: _of_rank(3),
    }
