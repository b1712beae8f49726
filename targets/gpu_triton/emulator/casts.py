"""Conversions between element types, as the hardware does them."""

from __future__ import annotations

import torch

from .dtypes import FLOAT8, DType, float32


def widened(data: torch.Tensor, dtype: DType) -> torch.Tensor:
    """Integers as int64 of their own value; 64-bit unsigned ones keep their bits."""
    if dtype.kind == "uint" and dtype.bits < 64:
        return data.to(torch.int64) & ((1 << dtype.bits) - 1)
    return data.to(torch.int64)


def unsigned_less(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """`a < b` of 64-bit patterns as unsigned integers."""
    low = torch.iinfo(torch.int64).min
    return (a ^ low) < (b ^ low)


def cast_payload(data: torch.Tensor, source: DType, to: DType) -> torch.Tensor:
    """`data` of type `source` as type `to`."""
    if to.kind == "bool":
        return data.to(torch.float32) != 0 if source in FLOAT8 else data != 0
    if source.floating and to.floating:
        return _between_floats(data, source, to)
    if source.floating:
        return _to_integer(data.to(torch.float64), to)
    if to.floating:
        return _between_floats(_to_double_or_single(data, source, to), source, to)
    return data.to(to.payload) if source.kind == "bool" else widened(data, source).to(to.payload)


def _between_floats(data: torch.Tensor, source: DType, to: DType) -> torch.Tensor:
    if to not in FLOAT8:
        return data.to(torch.float32).to(to.payload) if source in FLOAT8 else data.to(to.payload)
    largest = torch.finfo(to.payload).max  # conversions to float8 saturate
    wide = data.to(float32.payload)
    return torch.where(wide.isnan(), wide, wide.clamp(-largest, largest)).to(to.payload)


def _to_double_or_single(data: torch.Tensor, source: DType, to: DType) -> torch.Tensor:
    """One rounding alone: integers go to the target type directly where torch can."""
    if source.kind == "bool":
        return data.to(torch.float32)
    if source.kind == "uint" and source.bits == 64:
        return _unsigned_to_double(data) if to.bits == 64 else _unsigned_to_double(data).to(torch.float32)
    wide = widened(data, source)
    return wide.to(torch.float64) if to.bits == 64 else wide.to(torch.float32)


def _unsigned_to_double(data: torch.Tensor) -> torch.Tensor:
    halved = ((data >> 1) & ((1 << 63) - 1)) | (data & 1)
    return torch.where(data < 0, halved.to(torch.float64) * 2, data.to(torch.float64))


def _to_integer(data: torch.Tensor, to: DType) -> torch.Tensor:
    """Towards zero; out of range saturates at 32 bits at least, NaN gives 0 (`cvt.rzi`)."""
    wide = data.trunc().nan_to_num(nan=0.0, posinf=float("inf"), neginf=float("-inf"))
    bits = max(to.bits, 32)
    low, high = (0, (1 << bits) - 1) if to.kind == "uint" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    above, below = wide >= float(high), wide <= float(low)
    inside = torch.where(above | below, torch.zeros_like(wide), wide)
    if to.kind == "uint" and to.bits == 64:  # beyond the signed range: subtract, convert, add back
        upper = inside >= 2.0**63
        inside = torch.where(upper, inside - 2.0**63, inside)
        result = inside.to(torch.int64) ^ torch.where(upper, torch.iinfo(torch.int64).min, 0)
        high = -1
    else:
        result = inside.to(torch.int64)
    result = torch.where(above, torch.full_like(result, high), result)
    result = torch.where(below, torch.full_like(result, low), result)
    return result.to(to.payload)
