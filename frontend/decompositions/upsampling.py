"""Gradients of resized lines, images and volumes: each element reads the results that were made of it.

Along each dimension a result is a weighted sum of elements near one place. What torch writes for it has a
scatter for each of these as its gradient; here an element looks at the few results that may be made of it,
and adds up what each gives it. The weight of those that are not is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from math import ceil, frexp, prod
from operator import add, mul
from typing import Any, cast

import torch
from torch import Tensor
from torch._prims_common import suggest_memory_format

from ..eager_facts import facts_of
from ..torch_internals import Operator
from .adaptive_pooling import spread, trailing

SHARPNESS = -0.75
"""Of cubic interpolation, as torch has it."""
_MARGIN = 0.01
"""Results: what rounding may move the first or the last one of an element."""
_LONGEST = 1 << 14
"""Elements or results of one dimension, whose places f32 has as exactly as that."""

_WRITTEN_OUT = 16
"""Results of a window that are added one by one."""

Reach = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """So many elements and results, of which number `i` lies at `(i + shift) * scale - shift`."""

    size: int
    count: int
    scale: float
    shift: float

    def place(self, result: Tensor) -> Tensor:
        return (result + self.shift) * self.scale - self.shift

    @property
    def _margin(self) -> float:
        """0 where nothing is rounded: there are twice, or four times, as many results as elements."""
        return 0.0 if self.scale <= 1 and frexp(self.scale)[0] == 0.5 else _MARGIN

    def window(self, reach: Reach) -> int:
        """How many results may be made of one element: those at places that far before and behind it."""
        if not self.scale or self.size == 1:
            return self.count
        longest, (low, high) = 0, reach
        for j in range(self.size):
            first = max(0, ceil(self._result(j - low) - 2 * self._margin))
            end = ceil(self._result(j + high) + self._margin) if j < self.size - 1 else self.count
            longest = max(longest, min(end, self.count) - first)
        return min(longest, self.count)

    def _result(self, place: Any) -> Any:
        """The number that lies there, as `place` has it the other way round."""
        return (place + self.shift) * (1 / self.scale) - self.shift

    def results(self, element: Tensor, reach: Reach) -> Tensor:
        """Of each element so many, one after the other, all of those that may be made of it."""
        length = self.window(reach)
        behind = torch.arange(length, device=element.device).to(element.dtype)
        if length == self.count:
            return behind.expand(self.size, length)
        first = (self._result(element - reach[0]) - self._margin).ceil().clamp(0, self.count - length)
        return first.unsqueeze(-1) + behind


Weights = Callable[[Line, Tensor, Tensor], Tensor]
"""Of results and elements: what each of these gets of each of those."""


@dataclass(frozen=True)
class Filter:
    """How a result is made of the elements along one dimension."""

    reach: Reach
    """Of an element are made results at places from so far before it, up to so far behind it."""
    weights: Weights


def _hat(line: Line, result: Tensor, element: Tensor) -> Tensor:
    place = line.place(result).clamp(0, line.size - 1)
    return (1 - (place - element).abs()).clamp(min=0)


def _cubic_weights(t: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Of elements around a place, `t` behind the first one before it: how far behind that, and the weight."""
    a = SHARPNESS
    for offset in (-1, 0, 1, 2):
        x = (t - offset) if offset < 1 else (offset - t)
        if offset in (0, 1):
            yield offset, ((a + 2) * x - (a + 3)) * x * x + 1
        else:
            yield offset, ((x - 5) * x + 8) * x * a - 4 * a


def _cubic(line: Line, result: Tensor, element: Tensor) -> Tensor:
    """What would be read beyond an end is the last element there."""
    place = line.place(result)
    first = place.floor()
    parts = (
        torch.where((first + offset).clamp(0, line.size - 1) == element, weight, 0.0)
        for offset, weight in _cubic_weights(place - first)
    )
    return reduce(add, parts)


def _nearest(line: Line, result: Tensor, element: Tensor) -> Tensor:
    """Which is found in f32, whatever is computed."""
    place = ((result.to(torch.float32) + line.shift) * line.scale).floor().clamp(max=line.size - 1)
    return (place == element).to(result.dtype)


LINEAR, CUBIC = Filter((1, 1), _hat), Filter((2, 2), _cubic)
NEAREST, NEAREST_MIDDLE = Filter((0, 1), _nearest), Filter((0.5, 0.5), _nearest)


def lines_of(
    sizes: Sequence[Any],
    counts: Sequence[Any],
    align_corners: bool,
    scales: Sequence[float] | None,
    shift: float = 0.5,
) -> list[Line] | None:
    """None where sizes are symbols, or there is nothing, or too much."""
    if not all(isinstance(n, int) and 0 < n <= _LONGEST for n in (*sizes, *counts)):
        return None
    found: list[Line] = []
    for d, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        if align_corners:
            found.append(Line(size, count, (size - 1) / (count - 1) if count > 1 else 0.0, 0.0))
        else:
            found.append(Line(size, count, 1 / scales[d] if scales else size / count, shift))
    return found


def gradient_of(gradient: Tensor, lines: Sequence[Line], how: Filter) -> Tensor:
    """Sums over the windows of each element, in f32 at least."""
    wide = gradient.to(torch.promote_types(gradient.dtype, torch.float32))
    windows = [_windows(line, how, wide) for line in lines]
    if prod(results.shape[1] for results, _ in windows) <= _WRITTEN_OUT:
        return _added_up(wide, windows)
    rank = len(windows)
    results = [spread(r.to(torch.int64), d, rank) for d, (r, _) in enumerate(windows)]
    weights = [spread(w, d, rank) for d, (_, w) in enumerate(windows)]
    return _weighted(wide[(..., *results)], reduce(mul, weights)).sum(trailing(lines))


def _added_up(wide: Tensor, windows: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """One by one: along the first dimension of `windows`, which are the last ones, sums along the others."""
    if not windows:
        return wide
    (results, weights), *others = windows
    shape, dim = (-1, *[1] * len(others)), wide.dim() - len(windows)
    along = zip(results.to(torch.int64).unbind(1), weights.unbind(1), strict=True)
    parts = [(_added_up(wide.index_select(dim, r), others), weight.reshape(shape)) for r, weight in along]
    return reduce(add, (_weighted(value, weight) for value, weight in parts))


def _windows(line: Line, how: Filter, wide: Tensor) -> tuple[Tensor, Tensor]:
    """The results of each element, and what it gets of them."""
    element = torch.arange(line.size, device=wide.device).to(wide.dtype)
    results = line.results(element, how.reach)
    return results, how.weights(line, results, element.unsqueeze(-1))


def _weighted(value: Tensor, weight: Tensor) -> Tensor:
    """0 where the weight is 0, whatever lies there."""
    return torch.where(weight != 0, value * weight, 0.0)


class _Resized(torch.autograd.Function):
    """torch's own result, with that gradient."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, resize: Callable[[], Tensor], lines: Sequence[Line], how: Filter
    ) -> Tensor:
        ctx.lines, ctx.how = lines, how
        return resize()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor, None, None, None]:
        (gradient,) = grad_outputs
        found = gradient_of(gradient, ctx.lines, ctx.how).to(gradient.dtype)
        return found.contiguous(memory_format=suggest_memory_format(gradient)), None, None, None


def _counts(
    sizes: Sequence[Any], given: Sequence[Any] | None, scales: Sequence[float] | None
) -> Sequence[Any]:
    if given is not None or scales is None:
        return given or ()
    return [int(n * scale) if isinstance(n, int) else n for n, scale in zip(sizes, scales, strict=True)]


def _resized(
    own: Callable[[], Tensor],
    x: Tensor,
    how: Filter,
    lines: Sequence[Line] | None,
) -> Tensor:
    wanted = torch.is_grad_enabled() and x.requires_grad and not facts_of(x.device).adds_resized_gradients
    if not wanted or lines is None:
        return own()
    return cast("Any", _Resized).apply(x, own, lines, how)


Row = Callable[[Callable[..., Tensor]], Callable[..., Tensor]]


def _interpolated(how: Filter) -> Row:
    def row(own: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def resized(
            x: Tensor,
            output_size: Sequence[Any] | None,
            align_corners: bool,
            scale_factors: Sequence[float] | None,
        ) -> Tensor:
            counts = _counts(x.shape[2:], output_size, scale_factors)
            lines = lines_of(x.shape[2:], counts, align_corners, scale_factors)
            return _resized(partial(own, x, output_size, align_corners, scale_factors), x, how, lines)

        return resized

    return row


def _repeated(how: Filter) -> Row:
    def row(own: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def resized(
            x: Tensor, output_size: Sequence[Any] | None, scale_factors: Sequence[float] | None
        ) -> Tensor:
            counts = _counts(x.shape[2:], output_size, scale_factors)
            lines = lines_of(x.shape[2:], counts, False, scale_factors, how.reach[0])
            return _resized(partial(own, x, output_size, scale_factors), x, how, lines)

        return resized

    return row


def resized_images() -> Mapping[Operator, Row]:
    """What these operators are traced as."""
    aten = torch.ops.aten
    rows: dict[Operator, Row] = {
        aten.upsample_linear1d.vec: _interpolated(LINEAR),
        aten.upsample_bilinear2d.vec: _interpolated(LINEAR),
        aten.upsample_trilinear3d.vec: _interpolated(LINEAR),
        aten.upsample_bicubic2d.vec: _interpolated(CUBIC),
    }
    for rank in (1, 2, 3):
        rows[getattr(aten, f"upsample_nearest{rank}d").vec] = _repeated(NEAREST)
        rows[getattr(aten, f"_upsample_nearest_exact{rank}d").vec] = _repeated(NEAREST_MIDDLE)
    return rows
