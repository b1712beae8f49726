"""Max pooling whose positions are read, and gradients of pooling, in tensor functions: what fuses.

The forward pass keeps how far each maximum lies behind the corner of its window, in as few bytes as hold it;
the positions that torch returns are that and the place of the corner, which the backward pass adds again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any

import torch
from torch import Tensor
from torch._ops import OperatorBase
from torch._prims_common import suggest_memory_format
from torch.nn import functional

from ..eager_facts import facts_of
from .adaptive_pooling import adaptive_averages, read_windows, trailing, uneven_windows
from .windows import unfolded


@dataclass(frozen=True)
class Windows:
    """Along each of the last dimensions: windows, strides, dilations, padding before, how many there are."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    low: tuple[int, ...]
    counts: tuple[Any, ...]

    @property
    def rank(self) -> int:
        return len(self.sizes)

    def reach(self, d: int) -> int:
        """From the first element of a window to its last one."""
        return (self.sizes[d] - 1) * self.dilation[d]

    @property
    def shared(self) -> tuple[int, ...]:
        """How many windows an element lies between the ends of, at most, along each dimension."""
        return tuple(self.reach(d) // self.strides[d] + 1 for d in range(self.rank))


_MOST_WINDOWS = 25
"""Elements that lie in more do not look through them all: the gradient is added at the positions."""


def _known(*values: object) -> bool:
    return all(isinstance(value, int) for value in values)


def _of_positions(most: object) -> torch.dtype:
    """The type of numbers that are less than `most`: 32 bits, if that is known and they hold it."""
    return torch.int32 if isinstance(most, int) and most < 1 << 31 else torch.int64


def _each(values: int | Sequence[int], rank: int) -> tuple[int, ...]:
    values = (values,) if isinstance(values, int) else tuple(values)
    return values if len(values) == rank else values * rank


def _windows(
    x: Tensor,
    rank: int,
    window: Sequence[int],
    strides: Sequence[int] = (),
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
) -> Windows | None:
    """None where a symbol decides whether there is a last window, or what these are is no size."""
    sizes, low, steps = _each(window, rank), _each(padding, rank), _each(dilation, rank)
    strides = _each(strides, rank) if strides else sizes
    if not x.is_floating_point() or (ceil_mode and not _known(*x.shape[-rank:])):
        return None
    counts: list[Any] = []
    for n, k, s, p, d in zip(x.shape[-rank:], sizes, strides, low, steps, strict=True):
        room = n + 2 * p - d * (k - 1) - 1
        count = (room + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (count - 1) * s >= n + p:  # it would start in the padding behind
            count -= 1
        counts.append(count)
    return Windows(sizes, tuple(strides), steps, low, tuple(counts))


def _even_windows(x: Tensor, result: Sequence[int]) -> Windows | None:
    """Those of adaptive pooling, where all have the same size."""
    sizes = x.shape[len(x.shape) - len(result) :]
    if not _known(*sizes, *result) or not x.is_floating_point():
        return None
    if not all(result) or any(n % count for n, count in zip(sizes, result, strict=True)):
        return None
    window = tuple(n // count for n, count in zip(sizes, result, strict=True))
    rank = len(window)
    return Windows(window, window, (1,) * rank, (0,) * rank, tuple(result)) if all(window) else None


def _along(d: int, rank: int, line: Tensor) -> Tensor:
    return line.reshape((-1, *[1] * (rank - 1 - d)))


def _line(x: Tensor, start: Any, step: Any, count: Any, dtype: torch.dtype = torch.int64) -> Tensor:
    return torch.arange(start, start + step * count, step, dtype=dtype, device=x.device)


def _in_windows(x: Tensor, windows: Windows) -> Tensor:
    """Trailing dimensions for the places inside of the windows."""
    rank = windows.rank
    sizes = x.shape[-rank:]
    padding: list[Any] = []
    for d in reversed(range(rank)):
        end = (windows.counts[d] - 1) * windows.strides[d] + windows.reach(d) + 1
        needed = end - sizes[d] - windows.low[d]
        padding += [windows.low[d], max(0, needed) if _known(needed) else windows.low[d]]
    if any(padding):
        x = functional.pad(x, padding, value=-inf)
    return unfolded(x, windows.sizes, windows.strides, windows.dilation)


def _behind_corner(x: Tensor, windows: Windows, strides: Sequence[Any]) -> tuple[Tensor, Tensor]:
    """The maxima, and how far behind the corner of its window each is: the first of equals, the last NaN."""
    rank, dims = windows.rank, tuple(range(-windows.rank, 0))
    found = _in_windows(x, windows)
    values = found.amax(dims)
    farthest = sum(windows.reach(d) * strides[d] for d in range(rank))
    wide = _of_positions(farthest)
    place: Any = 0
    for d in range(rank):
        place = place + _along(d, rank, _line(x, 0, windows.dilation[d] * strides[d], windows.sizes[d], wide))
    key = place_of(values, found, place)
    if any(windows.low):  # where all are -inf, the first that is no padding
        inside: Any = 0
        for d, (step, low) in enumerate(zip(windows.dilation, windows.low, strict=True)):
            missing = (low - _line(x, 0, windows.strides[d], windows.counts[d], wide)).clamp(min=0)
            missing = missing if step == 1 else (missing + (step - 1)) // step * step
            inside = inside + _along(d, rank, missing * strides[d])
        key = torch.maximum(key, inside)
    small = torch.int16 if _known(farthest) and farthest < 1 << 15 else wide
    return values, key.to(small)


def place_of(values: Tensor, found: Tensor, place: Tensor) -> Tensor:
    """Of each maximum in its window: the first of equals, the last NaN."""
    rank = found.dim() - values.dim()
    largest = found == values[(..., *[None] * rank)]
    key = torch.where(largest, place, torch.iinfo(place.dtype).max)
    key = torch.where(found.isnan(), ~place, key).amin(tuple(range(-rank, 0)))
    return torch.where(key < 0, ~key, key)


def _strides(sizes: Sequence[Any]) -> list[Any]:
    return [prod(sizes[d + 1 :]) for d in range(len(sizes))]


def _pooled(x: Tensor, windows: Windows | None) -> tuple[Tensor, Tensor]:
    if windows is None:
        return NotImplemented
    strides = _strides(x.shape[-windows.rank :])
    values, behind = _behind_corner(x, windows, strides)
    order = suggest_memory_format(x)
    positions = _corners(x, windows, strides) + behind
    return values.contiguous(memory_format=order), positions.contiguous(memory_format=order)


def _corners(x: Tensor, windows: Windows, strides: Sequence[Any]) -> Any:
    """The position of the first place of each window, in the padding, too."""
    found: Any = 0
    for d in range(windows.rank):
        start, step = -windows.low[d] * strides[d], windows.strides[d] * strides[d]
        found = found + _along(d, windows.rank, _line(x, start, step, windows.counts[d]))
    return found


def _gradient(gradient: Tensor, x: Tensor, indices: Tensor, rank: int, windows: Windows | None) -> Tensor:
    order = suggest_memory_format(x)
    adds = facts_of(gradient.device).adds_pooled_gradients
    if windows is None or adds or prod(windows.shared) > _MOST_WINDOWS:
        first = x.dim() - rank
        zeros = gradient.new_zeros((*x.shape[:first], prod(x.shape[first:])))
        found = zeros.scatter_add(first, indices.flatten(first), gradient.flatten(first)).reshape(x.shape)
        return found.contiguous(memory_format=order)
    sizes, strides = x.shape[-rank:], _strides(x.shape[-rank:])
    behind = indices - _corners(x, windows, strides)  # as it was kept
    wide = _of_positions(prod(sizes))
    own: Any = 0
    for d, stride in enumerate(strides):
        own = own + _behind(x, windows, d, wide) * stride
    named = _of_elements(behind.to(wide), -1, sizes, windows) == own
    taken = torch.where(named, _of_elements(gradient, 0, sizes, windows), 0)
    return taken.sum(tuple(range(-rank, 0))).contiguous(memory_format=order)


def _of_elements(t: Tensor, outside: int, sizes: Sequence[Any], windows: Windows) -> Tensor:
    """What `t` has for the windows that may hold an element, as trailing dimensions of each element."""
    rank = windows.rank
    first = t.dim() - rank
    most = windows.shared
    padding: list[Any] = []
    for d in reversed(range(rank)):
        last = (sizes[d] - 1 + windows.low[d]) // windows.strides[d]
        missing = last + 1 - windows.counts[d]
        padding += [most[d] - 1, max(0, missing) if _known(missing) else most[d]]
    if any(padding):
        t = functional.pad(t, padding, value=outside)
    for d in range(rank):
        t = t.unfold(first + d, most[d], 1)
    for d in range(rank):
        at, s = first + d, windows.strides[d]
        if s > 1:
            t = t.unsqueeze(at + 1).expand(*t.shape[: at + 1], s, *t.shape[at + 1 :]).flatten(at, at + 1)
        t = t.narrow(at, windows.low[d], sizes[d])
    return t


def _max_pool(rank: int) -> Callable[..., Any]:
    def pooled(x: Tensor, *geometry: Any, **named: Any) -> tuple[Tensor, Tensor]:
        return _pooled(x, _windows(x, rank, *geometry, **named))

    return pooled


def _max_pool_backward(rank: int) -> Callable[..., Any]:
    def gradient(gradient: Tensor, x: Tensor, *others: Any) -> Tensor:
        *geometry, indices = others
        return _gradient(gradient, x, indices, rank, _windows(x, rank, *geometry))

    return gradient


def _adaptive_max_pool(x: Tensor, result: Sequence[int]) -> tuple[Tensor, Tensor]:
    if (windows := _even_windows(x, result)) is not None:
        return _pooled(x, windows)
    uneven = uneven_windows(x.shape[x.dim() - len(result) :], result)
    if uneven is None or not x.is_floating_point():
        return NotImplemented
    found, place = read_windows(x, uneven, -inf)
    values = found.amax(trailing(uneven))
    order = suggest_memory_format(x)
    indices = place_of(values, found, place).contiguous(memory_format=order)
    return values.contiguous(memory_format=order), indices


def _adaptive_max_pool_backward(rank: int) -> Callable[..., Any]:
    def gradient(gradient: Tensor, x: Tensor, indices: Tensor) -> Tensor:
        return _gradient(gradient, x, indices, rank, _even_windows(x, gradient.shape[-rank:]))

    return gradient


def _avg_pool_backward(rank: int) -> Callable[..., Any]:
    def gradient(
        gradient: Tensor,
        x: Tensor,
        window: Sequence[int],
        strides: Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        """Each element looks at the windows that hold it."""
        if rank == 2 and facts_of(gradient.device).spreads_averages:
            return NotImplemented
        windows = _windows(x, rank, window, strides, padding, 1, ceil_mode)
        if windows is None:
            return NotImplemented
        divisor = divisor_override or _numbers_averaged(x, windows, padded=count_include_pad)
        shares = gradient.to(torch.promote_types(x.dtype, torch.float32)) / divisor
        found = _of_elements(shares, 0, x.shape[-rank:], windows)
        for d in range(rank):
            if windows.sizes[d] % windows.strides[d]:
                found = torch.where(_within(x, windows, d), found, 0.0)
        found = found.sum(tuple(range(-rank, 0)))
        return found.to(x.dtype).contiguous(memory_format=suggest_memory_format(x))

    return gradient


def _numbers_averaged(x: Tensor, windows: Windows, *, padded: bool) -> Any:
    """How many numbers each window has; `padded` where those of the padding count."""
    divisor: Any = 1
    for d, (n, k, low) in enumerate(zip(x.shape[-windows.rank :], windows.sizes, windows.low, strict=True)):
        count, step = windows.counts[d], windows.strides[d]
        end, stop = (count - 1) * step + k - low, n + low if padded else n
        number: Any = k
        if not padded and low:
            number = _line(x, k - low, step, count, _of_positions(stop + k)).clamp(max=k)
        if not (_known(end, stop) and end <= stop):
            number = _line(x, stop + low, -step, count, _of_positions(stop + k)).clamp(max=number)
        if not padded and not (_known(n) and k <= n):
            number = number.clamp(max=n)
        divisor = divisor * (number if number is k else _along(d, windows.rank, number))
    return divisor


def _within(x: Tensor, windows: Windows, d: int) -> Tensor:
    """Whether each element is in each of the windows that may hold it, along `d`."""
    wide = _of_positions(x.shape[d - windows.rank] + windows.reach(d) + windows.strides[d])
    return _behind(x, windows, d, wide) < windows.sizes[d]


def _behind(x: Tensor, windows: Windows, d: int, dtype: torch.dtype) -> Tensor:
    """How far each element is behind the corner of each of the windows that may hold it, along `d`."""
    n, step, rank = x.shape[d - windows.rank], windows.strides[d], windows.rank
    most = windows.shared[d]
    count = (n + windows.low[d] + step - 1) // step
    ring = _line(x, 0, 1, step, dtype).expand(count, step).reshape(-1).narrow(0, windows.low[d], n)
    shape = [1] * (2 * rank)
    shape[d], shape[rank + d] = n, most
    return (ring.unsqueeze(-1) + _line(x, (most - 1) * step, -step, most, dtype)).reshape(shape)


_ROWS: Mapping[str, Callable[..., Any]] = {
    "max_pool2d_with_indices": _max_pool(2),
    "max_pool3d_with_indices": _max_pool(3),
    "adaptive_max_pool2d": _adaptive_max_pool,
    "adaptive_max_pool3d": _adaptive_max_pool,
    "max_pool2d_with_indices_backward": _max_pool_backward(2),
    "max_pool3d_with_indices_backward": _max_pool_backward(3),
    "adaptive_max_pool2d_backward": _adaptive_max_pool_backward(2),
    "adaptive_max_pool3d_backward": _adaptive_max_pool_backward(3),
}
MAX_POOLING = frozenset(f"aten::{name}" for name in _ROWS)
"""What is written with windows here; where it is not, ATen has kernels for it."""


def poolings() -> dict[OperatorBase, Callable[..., Any]]:
    """Pooling of planes and volumes (lines are planes of one row), and the gradients."""
    table: dict[OperatorBase, Callable[..., Any]] = {
        getattr(torch.ops.aten, name).default: row for name, row in _ROWS.items()
    }
    table[torch.ops.aten.avg_pool2d_backward.default] = _avg_pool_backward(2)
    table[torch.ops.aten.avg_pool3d_backward.default] = _avg_pool_backward(3)
    return {**table, **adaptive_averages()}
