"""Samples of an image or a volume at the places that a grid names, and their gradients, in tensor functions.

A sample is a sum over places near the one asked for (*taps*), of weights that multiply, one per dimension:
one tap per dimension is the nearest place, two are linear and four are cubic interpolation. So the gradient
of the image is a scatter of the same products, and that of the grid takes their slopes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod
from operator import add
from typing import Any

import torch
from torch import Tensor
from torch._ops import OperatorBase

LINEAR, NEAREST, CUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)
SHARPNESS = -0.75
"""Of cubic interpolation, as torch has it."""


@dataclass(frozen=True)
class Sampling:
    """How a sample is taken, in the numbers of ATen's arguments."""

    mode: int
    padding: int
    align_corners: bool


@dataclass(frozen=True)
class Tap:
    """One place along one dimension, for each sample."""

    place: Tensor
    """In range, whatever was asked for."""
    inside: Tensor | None
    """Whether it was in range; None where it always is."""
    weight: Tensor | None
    """None is 1."""
    slope: Tensor | None
    """The derivative of the weight by the number in the grid; None is 0."""


def _scaled(t: Tensor, size: Any, how: Sampling) -> Tensor:
    """From units of the grid, two of which are the whole size, to places."""
    return t * (size - 1 if how.align_corners else size) * 0.5


def _place(coordinate: Tensor, size: Any, how: Sampling) -> Tensor:
    place = _scaled(coordinate + 1, size, how)
    return place if how.align_corners else place - 0.5


def _reflected(place: Tensor, size: Any, how: Sampling) -> tuple[Tensor, Tensor | None]:
    """`place` between the outermost places (or their outer edges), and 1 or -1, its derivative."""
    low = 0.0 if how.align_corners else -0.5
    period = 2 * (size - 1) if how.align_corners else 2 * size
    if isinstance(period, int) and period == 0:
        return torch.zeros_like(place), None
    away = place - low
    extra = away.abs().fmod(period)
    back = period - extra
    sign = torch.where((away < 0) ^ (back < extra), -1.0, 1.0)
    return torch.minimum(extra, back) + low, sign.to(place.dtype)


def _kept_inside(place: Tensor, size: Any, how: Sampling) -> tuple[Tensor, Tensor | None]:
    """`place` as padding has it, and its derivative; None where that is 1. What is no number is 0."""
    if how.padding == ZEROS:
        return place, None
    sign: Tensor | None = None
    if how.padding == REFLECTION:
        place, sign = _reflected(place, size, how)
    moves = (place > 0) & (place < size - 1)
    slope = torch.where(moves, 1.0 if sign is None else sign, 0.0).to(place.dtype)
    return torch.where(place > 0, place, 0.0).clamp(max=size - 1), slope


def _tap(place: Tensor, size: Any, weight: Tensor | None, slope: Tensor | None, *, safe: bool = False) -> Tap:
    """`safe`: what is a number is in range."""
    wide = torch.int32 if isinstance(size, int) and size < 1 << 31 else torch.int64
    inside = None if safe else (place >= 0) & (place <= size - 1)
    return Tap(place.to(wide).clamp(0, size - 1), inside, weight, slope)


def _cubic_weights(t: Tensor) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Of the places around one: offset, weight and its derivative by `t`, which lies between 0 and 1."""
    a = SHARPNESS
    for offset in (-1, 0, 1, 2):
        x = (t - offset) if offset < 1 else (offset - t)
        sign = 1 if offset < 1 else -1
        if offset in (0, 1):
            weight = ((a + 2) * x - (a + 3)) * x * x + 1
            slope = (3 * (a + 2) * x - 2 * (a + 3)) * x
        else:
            weight = ((x - 5) * x + 8) * x * a - 4 * a
            slope = (3 * x - 10) * x * a + 8 * a
        yield offset, weight, slope * sign


def _taps(coordinate: Tensor, size: Any, how: Sampling) -> list[Tap]:
    place, safe = _place(coordinate, size, how), how.padding != ZEROS
    if how.mode == CUBIC:
        first = place.floor()
        taps: list[Tap] = []
        for offset, weight, slope in _cubic_weights(place - first):
            near, _ = _kept_inside(first + offset, size, how)
            taps.append(_tap(near, size, weight, _scaled(slope, size, how), safe=safe))
        return taps
    place, moved = _kept_inside(place, size, how)
    if how.mode == NEAREST:
        return [_tap(place.round(), size, None, None, safe=safe)]
    first = place.floor()
    right = place - first
    slope = _scaled(torch.ones_like(place) if moved is None else moved, size, how)
    return [_tap(first, size, 1 - right, -slope), _tap(first + 1, size, right, slope)]


def _product(first: Tensor, *others: Tensor | None) -> Tensor:
    for other in others:
        first = first if other is None else first * other
    return first


def _sum(parts: Iterable[Tensor]) -> Tensor:
    return reduce(add, parts)


class _Samples:
    """Of `x` at the places of `grid`: one dimension for the image, one for the samples."""

    def __init__(self, x: Tensor, grid: Tensor, how: Sampling) -> None:
        self.sizes = x.shape[2:]
        self.rank = len(self.sizes)
        self.work = torch.promote_types(x.dtype, torch.float32)
        self.image = x.flatten(2)
        points = grid.to(self.work).flatten(1, -2).unsqueeze(1)
        self.taps = [_taps(points[..., -1 - d], size, how) for d, size in enumerate(self.sizes)]

    def near(self) -> Iterator[tuple[tuple[Tap, ...], Tensor, Tensor | None]]:
        """The taps of one place, which one it is, and whether it is one."""
        wide = torch.int64
        for taps in product(*self.taps):
            index: Any = 0
            inside: Tensor | None = None
            for tap, size in zip(taps, self.sizes, strict=True):
                index = index * size + tap.place.to(wide)
                inside = (
                    tap.inside if inside is None else inside if tap.inside is None else inside & tap.inside
                )
            yield taps, index, inside

    def at(self, index: Tensor, inside: Tensor | None) -> Tensor:
        """What the image has there, 0 beyond it."""
        found = self.image.gather(2, index.expand(-1, self.image.shape[1], -1)).to(self.work)
        return found if inside is None else torch.where(inside, found, 0.0)


def _sampled(x: Tensor, grid: Tensor, how: Sampling) -> Tensor:
    if not prod(x.shape[2:]):
        return NotImplemented
    samples = _Samples(x, grid, how)
    parts = [
        _product(samples.at(index, inside), *(tap.weight for tap in taps))
        for taps, index, inside in samples.near()
    ]
    return _sum(parts).reshape(*x.shape[:2], *grid.shape[1:-1]).to(x.dtype)


def _gradient_of_image(gradient: Tensor, samples: _Samples) -> Tensor:
    found = torch.zeros_like(samples.image, dtype=samples.work)
    for taps, index, inside in samples.near():
        part = _product(gradient, *(tap.weight for tap in taps))
        part = part if inside is None else torch.where(inside, part, 0.0)
        found = found.scatter_add(2, index.expand_as(part), part)
    return found


def _gradient_of_grid(gradient: Tensor, samples: _Samples) -> Tensor:
    """Along each dimension the weight of the others times the slope of its own, over all channels."""
    sums: list[list[Tensor]] = [[] for _ in range(samples.rank)]
    for taps, index, inside in samples.near():
        value = samples.at(index, inside)
        for d, tap in enumerate(taps):
            others = (other.weight for e, other in enumerate(taps) if e != d)
            if tap.slope is not None:
                sums[d].append(_product(value, tap.slope, *others))
    found = [(gradient * _sum(parts)).sum(1) if parts else torch.zeros_like(gradient[:, 0]) for parts in sums]
    return torch.stack(found[::-1], -1)


def _gradients(
    gradient: Tensor, x: Tensor, grid: Tensor, how: Sampling, wanted: Sequence[bool]
) -> tuple[Tensor | None, Tensor]:
    if not prod(x.shape[2:]):
        return NotImplemented
    samples = _Samples(x, grid, how)
    wide = gradient.flatten(2).to(samples.work)
    image = _gradient_of_image(wide, samples).reshape(x.shape).to(x.dtype) if wanted[0] else None
    return image, _gradient_of_grid(wide, samples).reshape(grid.shape).to(grid.dtype)


def _sample(x: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool) -> Tensor:
    return _sampled(x, grid, Sampling(mode, padding, align_corners))


def _sample_backward(
    gradient: Tensor,
    x: Tensor,
    grid: Tensor,
    mode: int,
    padding: int,
    align_corners: bool,
    wanted: Sequence[bool] = (True, True),
) -> tuple[Tensor | None, Tensor]:
    return _gradients(gradient, x, grid, Sampling(mode, padding, align_corners), wanted)


_OF_CUDNN = Sampling(LINEAR, ZEROS, align_corners=True)


def _sample_as_cudnn(x: Tensor, grid: Tensor) -> Tensor:
    return _sampled(x, grid, _OF_CUDNN)


def _sample_as_cudnn_backward(x: Tensor, grid: Tensor, gradient: Tensor) -> tuple[Tensor | None, Tensor]:
    return _gradients(gradient, x, grid, _OF_CUDNN, (True, True))


def samplings() -> dict[OperatorBase, Callable[..., Any]]:
    """What replaces ATen's samplers of planes and volumes, and their gradients."""
    rows: Mapping[str, Callable[..., Any]] = {
        "grid_sampler_2d": _sample,
        "grid_sampler_3d": _sample,
        "grid_sampler_2d_backward": _sample_backward,
        "grid_sampler_3d_backward": _sample_backward,
        "cudnn_grid_sampler": _sample_as_cudnn,
        "cudnn_grid_sampler_backward": _sample_as_cudnn_backward,
    }
    return {getattr(torch.ops.aten, name).default: row for name, row in rows.items()}
