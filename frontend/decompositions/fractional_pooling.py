"""Max pooling by windows that begin at drawn places, and its gradient, in tensor functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch._ops import OperatorBase

from .pooling import place_of


def _starts(samples: Tensor, size: int, window: int, count: int) -> Tensor:
    """Where the windows begin along one dimension, a row of them for each number that was drawn.

    They are about `alpha` apart, and the last one ends with the dimension.
    """
    last = size - window
    alpha = last / (count - 1) if count > 1 else 0.0
    drawn = samples.unsqueeze(-1)
    number = torch.arange(count, device=samples.device)
    found = ((number.to(samples.dtype) + drawn) * alpha).to(torch.int64) - (drawn * alpha).to(torch.int64)
    return torch.where(number < count - 1, found, last)


def _fractional_max_pool(rank: int) -> Callable[..., Any]:
    def pooled(
        x: Tensor, window: Sequence[int], counts: Sequence[int], samples: Tensor
    ) -> tuple[Tensor, Tensor]:
        planes, sizes = x.shape[:-rank], x.shape[-rank:]
        known = all(type(n) is int for n in (*x.shape, *window, *counts, samples.numel()))
        rounded = x.device.type == "cpu" and x.element_size() < 4  # there places are computed in halves
        if not known or rounded or not all(x.shape) or samples.numel() != prod(planes) * rank:
            return NotImplemented
        work = torch.promote_types(x.dtype, torch.float32)
        drawn = samples.reshape(*planes, rank).to(work)
        place: Any = 0
        for d in range(rank):
            number = d if rank == 3 else rank - 1 - d  # planes have that of their rows first
            first = _starts(drawn[..., number], sizes[d], window[d], counts[d])
            step = torch.arange(window[d], device=x.device)
            along = first.unsqueeze(-1) + step
            shape = [1] * (2 * rank)
            shape[d], shape[rank + d] = counts[d], window[d]
            place = place + along.reshape(*planes, *shape) * prod(sizes[d + 1 :])
        found = x.flatten(-rank).gather(-1, place.flatten(len(planes))).reshape(place.shape)
        values = found.amax(tuple(range(-rank, 0)))
        return values, place_of(values, found, place)

    return pooled


def _fractional_max_pool_backward(rank: int) -> Callable[..., Any]:
    def gradient(
        gradient: Tensor, x: Tensor, window: Sequence[int], counts: Sequence[int], indices: Tensor
    ) -> Tensor:
        zeros = torch.zeros_like(x).flatten(-rank)
        return zeros.scatter_add(-1, indices.flatten(-rank), gradient.flatten(-rank)).reshape(x.shape)

    return gradient


def fractional_poolings() -> dict[OperatorBase, Callable[..., Any]]:
    """Of planes and of volumes."""
    aten = torch.ops.aten
    return {
        aten.fractional_max_pool2d.default: _fractional_max_pool(2),
        aten.fractional_max_pool3d.default: _fractional_max_pool(3),
        aten.fractional_max_pool2d_backward.default: _fractional_max_pool_backward(2),
        aten.fractional_max_pool3d_backward.default: _fractional_max_pool_backward(3),
    }
