"""How many numbers are in each of so many equal ranges, in tensor functions: additions at computed places."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

import torch
from torch import Tensor
from torch._ops import OperatorBase


def _histc(x: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """As ATen's kernels place numbers; what is beyond both ends, or NaN, counts nowhere.

    Where the ends are to be those of the numbers, ATen looks whether these are finite; on CPUs it rounds each
    step of a half. Counts are integers, so that none is too large for a float to count on.
    """
    known = all(type(value) in (int, float) for value in (bins, min, max))
    if not known or bins < 1 or x.is_complex() or x.dtype == torch.bool:
        return NotImplemented
    if x.device.type == "cpu" and x.is_floating_point() and x.element_size() < 4:
        return NotImplemented
    exact = not x.is_floating_point()
    low, high = (int(min), int(max)) if exact else (min, max)
    if low >= high or not isfinite(high - low):
        return NotImplemented
    work = torch.int64 if exact else torch.promote_types(x.dtype, torch.float32)
    first, last = (torch.full((), end, dtype=x.dtype, device=x.device).to(work) for end in (low, high))
    flat = x.reshape(-1).to(work)
    inside = (flat >= first) & (flat <= last)
    behind = torch.where(inside, flat - first, 0) * bins
    if exact:
        place = torch.div(behind, last - first, rounding_mode="floor")
    else:  # a quotient of f32 is rounded as ATen's, which Triton's division is not
        place = (behind.double() / (last - first).double()).to(work)
    few = isinstance(flat.shape[0], int) and flat.shape[0] < 1 << 31  # pyright: ignore[reportUnnecessaryIsInstance]
    count = torch.int32 if few else torch.int64
    counts = torch.zeros(bins, dtype=count, device=x.device)
    found = counts.scatter_add(0, place.to(torch.int64).clamp(max=bins - 1), inside.to(count))
    return found.to(x.dtype)


def histograms() -> dict[OperatorBase, Callable[..., Any]]:
    """What replaces each of these operators."""
    return {torch.ops.aten.histc.default: _histc}
