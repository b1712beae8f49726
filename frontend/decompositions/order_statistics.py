"""Medians, elements of a given rank, the commonest number: what is at some place of rows in order.

Rows that are too long for kernels that sort are left to ATen, which picks an element faster than it sorts.
Of equal elements the position is one of theirs, as torch has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._ops import OperatorBase

from ..eager_facts import facts_of
from .composites import searched

Pair = tuple[Tensor, Tensor]


def _is_sorted_here(x: Tensor, dim: int) -> bool:
    """Whether a kernel sorts the rows along `dim`; none is empty."""
    count = x.shape[dim] if x.dim() else 1
    most = facts_of(x.device).longest_selection // (4 if x.element_size() == 8 else 1)
    known = isinstance(count, int)  # pyright: ignore[reportUnnecessaryIsInstance]
    return known and 0 < count <= most and not x.is_complex() and x.dtype != torch.bool


def _at(ordered: Any, place: int | Tensor, dim: int, keepdim: bool) -> Pair:
    """The elements there, and where they were; dense, as those of torch are."""
    if isinstance(place, int):
        values, positions = (t.narrow(dim, place, 1).contiguous() for t in ordered)
    else:
        values, positions = (t.gather(dim, place) for t in ordered)
    return (values, positions) if keepdim else (values.squeeze(dim), positions.squeeze(dim))


def _kth(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Pair:
    known = isinstance(k, int)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not known or not _is_sorted_here(x, dim):
        return NotImplemented
    return _of_rank(x, k - 1, dim, keepdim)


def _of_rank(x: Tensor, rank: int | Tensor, dim: int, keepdim: bool) -> Pair:
    if not x.dim():
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    return _at(torch.sort(x, dim=dim, stable=True), rank, dim, keepdim)


def _median(x: Tensor, dim: int, keepdim: bool = False, *, skips_nan: bool = False) -> Pair:
    """The lower one of two. NaN of rows that have any, the first, or of all elements that are numbers."""
    if not _is_sorted_here(x, dim):
        return NotImplemented
    count = x.shape[dim] if x.dim() else 1
    if not x.dim() or not x.is_floating_point():
        return _of_rank(x, (count - 1) // 2, dim, keepdim)
    numbers = x.isnan().logical_not().sum(dim, keepdim=True)  # in order they come before NaN
    if skips_nan:
        place = ((numbers - 1) // 2).clamp(min=0)
    else:
        place = torch.where(numbers < count, numbers, (count - 1) // 2)
    return _of_rank(x, place, dim, keepdim)


def _nanmedian(x: Tensor, dim: int, keepdim: bool = False) -> Pair:
    return _median(x, dim, keepdim, skips_nan=True)


def _of_all(median: Callable[..., Pair]) -> Callable[[Tensor], Tensor]:
    def row(x: Tensor) -> Tensor:
        flat = x.reshape(-1)
        return median(flat, 0)[0] if _is_sorted_here(flat, 0) else NotImplemented

    return row


LONGEST_COMPARISON = 64
"""Elements of the longest row whose pairs are all compared; in longer ones equal numbers are searched for."""


def _mode(x: Tensor, dim: int = -1, keepdim: bool = False) -> Pair:
    """The least of those that are there most often, and where it stands last; NaN equals nothing."""
    if not _is_sorted_here(x, dim):
        return NotImplemented
    if not x.dim():
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    ordered = torch.sort(x, dim=dim, stable=True)
    rows = ordered.values.movedim(dim, -1)
    if x.shape[dim] <= LONGEST_COMPARISON:
        times = (rows.unsqueeze(-1) == rows.unsqueeze(-2)).sum(-1).clamp(min=1)
    else:
        times = torch.where(rows == rows, searched(rows, rows, right=True) - searched(rows, rows), 1)
    first = times.argmax(-1, keepdim=True)
    last = first + times.gather(-1, first) - 1
    return _at(ordered, last.movedim(-1, dim), dim, keepdim)


def order_statistics() -> dict[OperatorBase, Callable[..., Any]]:
    """What replaces each of these operators."""
    aten = torch.ops.aten
    return {
        aten.kthvalue.default: _kth,
        aten.median.dim: _median,
        aten.median.default: _of_all(_median),
        aten.nanmedian.dim: _nanmedian,
        aten.nanmedian.default: _of_all(_nanmedian),
        aten.mode.default: _mode,
    }
