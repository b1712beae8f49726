"""Images of another size without aliasing: weighted means of windows, along one dimension after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import torch
from torch import Tensor
from torch._ops import OperatorBase
from torch._prims_common import suggest_memory_format

SHARPNESS = -0.5
"""Of cubic filters, as torch has it here."""
Filter = Callable[[Tensor], Tensor]


def _triangle(x: Tensor) -> Tensor:
    return (1 - x.abs()).clamp(min=0)


def _cubic(x: Tensor) -> Tensor:
    a, x = SHARPNESS, x.abs()
    inner = ((a + 2) * x - (a + 3)) * x * x + 1
    outer = (((x - 5) * x + 8) * x - 4) * a
    return torch.where(x < 1, inner, torch.where(x < 2, outer, 0.0))


@dataclass(frozen=True)
class Line:
    """One dimension: elements, results, elements per result, and a filter with its reach in results."""

    size: int
    count: int
    scale: float
    filter: Filter
    reach: float

    @property
    def support(self) -> float:
        return self.reach * max(self.scale, 1.0)

    def ends(self, like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Of each result: where it lies, and which elements it reads."""
        center = (torch.arange(self.count, device=like.device, dtype=like.dtype) + 0.5) * self.scale
        low = (center - self.support + 0.5).to(torch.int64).clamp(min=0)
        high = (center + self.support + 0.5).to(torch.int64).clamp(max=self.size)
        return center.unsqueeze(-1), low.unsqueeze(-1), high.unsqueeze(-1)

    def weights(self, like: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
        """Of the elements at these places for each result, and whether it reads them."""
        center, low, high = self.ends(like)
        inside = (place >= low) & (place < high)
        weight = self.filter((place - center + 0.5) * (1 / max(self.scale, 1.0)))
        weight = torch.where(inside, weight, 0.0)
        return weight / weight.sum(-1, keepdim=True), inside

    def read(self, x: Tensor, dim: int) -> Tensor:
        """The results along `dim`, one of the last two."""
        place = self.ends(x)[1] + torch.arange(2 * ceil(self.support) + 1, device=x.device)
        weight, inside = self.weights(x, place)
        if dim == -2:
            weight, inside = weight.unsqueeze(-1), inside.unsqueeze(-1)
        x = x.index_select(dim, place.clamp(max=self.size - 1).flatten())
        behind = x.shape[-1:] if dim == -2 else ()
        x = x.reshape(*x.shape[:dim], self.count, place.shape[-1], *behind)
        return torch.where(inside, x * weight, 0.0).sum(dim)

    def matrix(self, like: Tensor) -> Tensor:
        """All weights, for the gradient."""
        return self.weights(like, torch.arange(self.size, device=like.device))[0]


def _lines(
    filter_: Filter, reach: float, sizes: Sequence[Any], counts: Sequence[Any], scales: Sequence[float | None]
) -> list[Line] | None:
    """None where sizes are symbols, or there is nothing."""
    if not all(isinstance(n, int) and n for n in (*sizes, *counts)):
        return None
    found: list[Line] = []
    for size, count, scale in zip(sizes, counts, scales, strict=True):
        found.append(Line(size, count, 1 / scale if scale else size / count, filter_, reach))
    return found


def _resized(filter_: Filter, reach: float) -> Callable[..., Any]:
    def row(
        x: Tensor,
        counts: Sequence[int],
        align_corners: bool,
        vertical: float | None = None,
        horizontal: float | None = None,
    ) -> Tensor:
        lines = _lines(filter_, reach, x.shape[-2:], counts, (vertical, horizontal))
        if lines is None or align_corners or not x.is_floating_point():
            return NotImplemented
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        found = lines[0].read(lines[1].read(wide, -1), -2).to(x.dtype)
        return found.contiguous(memory_format=suggest_memory_format(x))

    return row


def _resized_backward(filter_: Filter, reach: float) -> Callable[..., Any]:
    def row(
        gradient: Tensor,
        counts: Sequence[int],
        sizes: Sequence[int],
        align_corners: bool,
        vertical: float | None = None,
        horizontal: float | None = None,
    ) -> Tensor:
        lines = _lines(filter_, reach, sizes[-2:], counts, (vertical, horizontal))
        if lines is None or align_corners:
            return NotImplemented
        wide = gradient.to(torch.promote_types(gradient.dtype, torch.float32))
        rows, columns = (line.matrix(wide) for line in lines)
        found = (rows.mT @ (wide @ columns)).to(gradient.dtype)
        return found.contiguous(memory_format=suggest_memory_format(gradient))

    return row


def resizings() -> dict[OperatorBase, Callable[..., Any]]:
    """What replaces each of these operators."""
    aten = torch.ops.aten
    linear, cubic = (_triangle, 1.0), (_cubic, 2.0)
    return {
        aten._upsample_bilinear2d_aa.default: _resized(*linear),
        aten._upsample_bicubic2d_aa.default: _resized(*cubic),
        aten._upsample_bilinear2d_aa_backward.default: _resized_backward(*linear),
        aten._upsample_bicubic2d_aa_backward.default: _resized_backward(*cubic),
    }
