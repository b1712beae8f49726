"""Sliding windows, and what they add up to where they overlap: `im2col`, `col2im`, the gradient of `unfold`.

torch's own decompositions look positions up and add in memory; these are views, pads and sums, which fuse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._ops import OperatorBase
from torch.nn import functional

_MOST_ADDED = 4
"""Windows that share an element whose values are added one by one; those of more are summed."""


def unfolded(x: Tensor, sizes: Sequence[int], strides: Sequence[int], dilation: Sequence[int]) -> Tensor:
    """The windows along the last dimensions, `[..., *counts, *sizes]`: views, one behind the other."""
    first = x.dim() - len(sizes)
    for d, (length, step, apart) in enumerate(zip(sizes, strides, dilation, strict=True), start=first):
        x = x.unfold(d, (length - 1) * apart + 1, step)
        x = x if apart == 1 else x[..., ::apart]
    return x


def _summed(windows: Tensor, dim: int, step: int, low: int, size: Any) -> Tensor:
    """What windows add up to: element i gets the values at `low + i - n*step` of the windows n that have it.

    `windows` is `[..., count, ..., length]`, with `count` windows along `dim`; the result `[..., size, ...]`.
    A window is `most` pieces of `step` elements, of which piece m of window n adds to piece n + m of what
    the result is cut out of. Floats are added in f32 at least.
    """
    count, most = windows.shape[dim], -(-windows.shape[-1] // step)
    first, end = low // step, count + most
    if isinstance(count, int) and isinstance(size, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        end = -(-(low + size) // step)
    if most > 1 and windows.is_floating_point():
        windows = windows.to(torch.promote_types(windows.dtype, torch.float32))
    windows = functional.pad(windows, (0, most * step - windows.shape[-1]))
    pieces = _split(windows, windows.dim() - 1, most, step).movedim(-2, dim)
    outer = [0, 0] * (windows.dim() - 1 - dim)
    if most <= _MOST_ADDED:
        placed = [
            functional.pad(piece, (*outer, m - first, end - count - m))
            for m, piece in enumerate(pieces.unbind(dim))
        ]
        whole = sum(placed[1:], placed[0])
    else:
        # In one row, in which each piece begins one place further behind the piece before.
        row = functional.pad(pieces.flip(dim), (*outer, most - 1, most)).flatten(dim, dim + 1)
        shifted = _split(functional.pad(row, (*outer, 0, most)), dim, most, count + 2 * most)
        whole = shifted.narrow(dim + 1, first, end - first).sum(dim)
    return whole.movedim(-1, dim + 1).flatten(dim, dim + 1).narrow(dim, low - first * step, size)


def _split(x: Tensor, dim: int, *sizes: Any) -> Tensor:
    return x.reshape(*x.shape[:dim], *sizes, *x.shape[dim + 1 :])


def _as_eager(found: Tensor, x: Tensor) -> Tensor:
    """In row-major order, with the dtype of `x`, and never a view of it."""
    return found.to(x.dtype).clone(memory_format=torch.contiguous_format)


def _unfold_backward(gradient: Tensor, sizes: Sequence[Any], dim: int, size: int, step: int) -> Tensor:
    if not size or not sizes:
        return gradient.sum().reshape(()) if size else gradient.new_zeros(tuple(sizes))
    dim %= len(sizes)
    return _as_eager(_summed(gradient, dim, step, 0, sizes[dim]), gradient)


def _im2col(
    x: Tensor, window: Sequence[int], dilation: Sequence[int], padding: Sequence[int], strides: Sequence[int]
) -> Tensor:
    found = functional.pad(x, (padding[1], padding[1], padding[0], padding[0]))
    found = unfolded(found, window, strides, dilation)
    return _as_eager(found.movedim((-2, -1), (-4, -3)).flatten(-2).flatten(-4, -2), x)


def _col2im(
    x: Tensor,
    sizes: Sequence[Any],
    window: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    strides: Sequence[int],
) -> Tensor:
    counts = [
        (n + 2 * low - (length - 1) * apart - 1) // step + 1
        for n, length, apart, low, step in zip(sizes, window, dilation, padding, strides, strict=True)
    ]
    channels = x.shape[-2] // (window[0] * window[1])
    found = x.reshape(*x.shape[:-2], channels, *window, *counts)
    for d in (1, 0):  # columns, then rows
        found = found.movedim(-3, -1)
        if dilation[d] > 1:
            spread = functional.pad(found.unsqueeze(-1), (0, dilation[d] - 1)).flatten(-2)
            found = spread.narrow(-1, 0, (window[d] - 1) * dilation[d] + 1)
        found = _summed(found, found.dim() - 3 + d, strides[d], padding[d], sizes[d])
    return _as_eager(found, x)


def windows() -> dict[OperatorBase, Callable[..., Any]]:
    """Windows of lines and of planes, and what they add up to."""
    return {
        torch.ops.aten.unfold_backward.default: _unfold_backward,
        torch.ops.aten.im2col.default: _im2col,
        torch.ops.aten.col2im.default: _col2im,
    }
