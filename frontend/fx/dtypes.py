"""torch.dtype and element types, and how dtypes that the IR lacks travel through it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute

from tilewright.dialects.types import ui8

ELEMENTS: Mapping[torch.dtype, Attribute] = {
    torch.float64: f64,
    torch.float32: f32,
    torch.bfloat16: bf16,
    torch.float16: f16,
    torch.int64: i64,
    torch.int32: i32,
    torch.int16: i16,
    torch.int8: i8,
    torch.uint8: ui8,
    torch.bool: i1,
}
DTYPES: Mapping[Attribute, torch.dtype] = {element: dtype for dtype, element in ELEMENTS.items()}


@dataclass(frozen=True)
class Carrier:
    """A dtype without an element type is carried, bit by bit, as another one.

    A complex tensor is carried as real numbers with a trailing dimension of 2, others as
    integers of the same size. Only `tw.aten` computes on the dtype itself.
    """

    dtype: torch.dtype
    pair: bool = False


CARRIERS: Mapping[torch.dtype, Carrier] = {
    torch.complex32: Carrier(torch.float16, pair=True),
    torch.complex64: Carrier(torch.float32, pair=True),
    torch.complex128: Carrier(torch.float64, pair=True),
    torch.uint16: Carrier(torch.int16),
    torch.uint32: Carrier(torch.int32),
    torch.uint64: Carrier(torch.int64),
    torch.float8_e4m3fn: Carrier(torch.int8),
    torch.float8_e4m3fnuz: Carrier(torch.int8),
    torch.float8_e5m2: Carrier(torch.int8),
    torch.float8_e5m2fnuz: Carrier(torch.int8),
    torch.float8_e8m0fnu: Carrier(torch.int8),
}


def element_of_dtype(dtype: torch.dtype) -> Attribute | None:
    """The element type, None for a dtype that the IR lacks."""
    return ELEMENTS.get(dtype)


def encode(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor as it travels through the IR (itself, where its dtype has an element type)."""
    carrier = CARRIERS.get(tensor.dtype)
    if carrier is None:
        return tensor
    if carrier.pair:
        return torch.view_as_real(tensor.resolve_conj())
    return tensor.view(carrier.dtype)


def decode(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The inverse of `encode`, of the same strides wherever a tensor of that dtype can have them."""
    carrier = CARRIERS.get(dtype)
    if carrier is None:
        return tensor
    if carrier.pair:
        return torch.view_as_complex(tensor if _holds_pairs(tensor) else tensor.contiguous())
    return tensor.view(dtype)


def _holds_pairs(tensor: torch.Tensor) -> bool:
    *outer, last = tensor.stride()
    return last == 1 and not any(step % 2 for step in (*outer, tensor.storage_offset()))


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def dtype_of_name(name: str) -> torch.dtype:
    dtype = getattr(torch, name.removeprefix("torch."))
    assert isinstance(dtype, torch.dtype)
    return dtype
