"""Fake quantization in tensor functions: floats are rounded to the steps of a narrow integer.

    q = clamp(zero_point + round(x / scale), quant_min, quant_max);  result = (q - zero_point) * scale

Each function takes what ATen's operator takes and gives the result and its mask, both of the shape of `x`:
where q was not clamped, which is where the gradient passes. NotImplemented leaves a call to ATen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._ops import OperatorBase


def _rounded(x: Tensor, scale: Tensor, zero: Tensor, low: int, high: int) -> tuple[Tensor, Tensor]:
    """Of zero points in f32; `scale` and `zero` broadcast against `x`. NaN becomes `low`.

    As in ATen's kernels `x`, halves as f32, is multiplied by the inverse of the scale, rounded to f32.
    """
    inverse = (1 / scale.double()).float()
    step = zero + (x.to(torch.promote_types(x.dtype, torch.float32)) * inverse).round()
    inside = (step >= low) & (step <= high)
    kept = torch.where(step >= low, step.clamp(max=high), low)
    return ((kept - zero) * scale).to(x.dtype), inside


def _by_numbers(x: Tensor, scale: float, zero_point: int, low: int, high: int) -> tuple[Tensor, Tensor]:
    if type(scale) is not float or not low <= zero_point <= high:  # which ATen refuses
        return NotImplemented
    factor = torch.full((), scale, dtype=torch.float32, device=x.device)
    zero = torch.full((), zero_point, dtype=torch.float32, device=x.device)
    return _rounded(x, factor, zero, low, high)


def _by_tensors(
    x: Tensor, scale: Tensor, zero_point: Tensor, enabled: Tensor, low: int, high: int
) -> tuple[Tensor, Tensor]:
    if not _known(scale, zero_point) or scale.numel() != 1 or zero_point.numel() != 1:
        return NotImplemented
    found, inside = _rounded(x, scale.reshape(()), zero_point.reshape(()).float(), low, high)
    idle = enabled.reshape(()) == 0
    return torch.where(idle, x, found), inside | idle


def _by_channels(
    x: Tensor, scale: Tensor, zero_point: Tensor, axis: int, low: int, high: int
) -> tuple[Tensor, Tensor]:
    if not _known(scale, zero_point):
        return NotImplemented
    row = [-1 if dim == axis else 1 for dim in range(x.dim())]
    return _rounded(x, scale.view(row), zero_point.float().view(row), low, high)


def _known(scale: Tensor, zero_point: Tensor) -> bool:
    """Whether the formula above holds: zero points that are floats are added before the rounding.

    Unlike eager mode, which waits for the tensor to look, nothing asks whether zero points are in range.
    """
    return scale.dtype == torch.float32 and not zero_point.is_floating_point()


def fake_quantizations() -> dict[OperatorBase, Callable[..., Any]]:
    """What replaces each of these operators."""
    aten = torch.ops.aten
    return {
        aten.fake_quantize_per_tensor_affine_cachemask.default: _by_numbers,
        aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default: _by_tensors,
        aten.fake_quantize_per_channel_affine_cachemask.default: _by_channels,
    }
