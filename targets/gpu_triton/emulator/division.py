"""Quotients and remainders as C has them, of tensors that broadcast."""

from __future__ import annotations

import numpy as np
import torch

from .casts import unsigned_less, widened
from .dtypes import DType

Tensor = torch.Tensor


def exact_fmod(x: Tensor, y: Tensor) -> Tensor:
    """C's `fmod`, which is exact; torch's vector code gives NaN for large quotients (1e28 by 1e-14)."""
    kind = torch.promote_types(x.dtype, torch.float32)  # numpy has no bf16
    with np.errstate(all="ignore"):
        rest = np.fmod(x.to(kind).numpy(), y.to(kind).numpy())
    return torch.as_tensor(rest).to(x.dtype)


def truncated(x: Tensor, y: Tensor, dtype: DType) -> tuple[Tensor, Tensor]:
    """Truncated quotient and remainder of integers; by zero, where C says nothing, all bits are set."""
    if (by := _positive_number(y)) is not None and dtype.kind == "int":
        quotient = torch.div(x, by, rounding_mode="trunc")
        return quotient, x - quotient * by
    a, b = widened(x, dtype), widened(y, dtype)
    zero = b == 0
    divisor = torch.where(zero | (b == -1), torch.ones_like(b), b)
    if dtype.kind == "uint" and dtype.bits == 64:
        quotient = _unsigned_quotient(a, torch.where(zero, torch.ones_like(b), b))
    else:
        quotient = torch.div(a, divisor, rounding_mode="trunc")
        quotient = torch.where(b == -1, -a, quotient)  # the smallest integer wraps, where torch would trap
    quotient = torch.where(zero, torch.full_like(quotient, -1), quotient)
    remainder = torch.where(zero, torch.full_like(a, -1), a - quotient * b)
    return quotient.to(dtype.payload), remainder.to(dtype.payload)


def _positive_number(value: Tensor) -> int | None:
    """The one number that `value` holds, for whatever programs and lanes, if it is positive."""
    if any(stride for size, stride in zip(value.shape, value.stride(), strict=True) if size > 1):
        return None
    number = int(value.reshape(-1)[0]) if value.numel() else 0
    return number if number > 0 else None


def _unsigned_quotient(a: Tensor, b: Tensor) -> Tensor:
    """64-bit unsigned division by way of a signed one of half the dividend."""
    half = (a >> 1) & ((1 << 63) - 1)
    large = b < 0
    safe = torch.where(large, torch.ones_like(b), b)
    estimate = torch.div(half, safe, rounding_mode="trunc") << 1
    estimate = estimate + (~unsigned_less(a - estimate * safe, safe)).to(a.dtype)
    return torch.where(large, (~unsigned_less(a, b)).to(a.dtype), estimate)
