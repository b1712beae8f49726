"""Tensors of 8-bit floats: their bits travel as i8; rows that compute on them decode and encode them."""

from __future__ import annotations

from functools import cache

import torch
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from tilewright.dialects.tw.float8 import DecodeFloat8Op, EncodeFloat8Op
from tilewright.dialects.types import FLOAT8, is_float

from ..errors import Unsupported
from ..fx.dtypes import dtype_name
from ..torch_internals import real_tensors
from .builder import Builder, element_of

DECODING = frozenset(
    ("aten._scaled_mm.default", "aten._scaled_mm_v2.default", "prims.convert_element_type.default")
)
"""Operators whose rows take 8-bit floats."""


def decoded(b: Builder, value: SSAValue) -> SSAValue:
    """`value`, in f32 where it holds the bits of 8-bit floats."""
    if (fake := b.carried.get(value)) is None:
        return value
    if (kind := kind_of(fake.dtype)) is None:
        raise Unsupported(f"{fake.dtype} has no element type in the IR", "TW1103")
    return b.emit(DecodeFloat8Op(value, kind))


def encoded(b: Builder, value: SSAValue, kind: str) -> SSAValue:
    """The bits of `value` as 8-bit floats; other types than halves go by way of f32, as in ATen."""
    element = element_of(value)
    if not is_float(element) or element == f64:
        value = b.cast(value, f32)
    return b.emit(EncodeFloat8Op(value, kind, clamped=_clamps(kind)))


@cache
def _clamps(kind: str) -> bool:
    """Whether this torch makes the largest number of what is too large: 2.13 does for e4m3fn."""
    with real_tensors():
        large = torch.tensor(3e38, device="cpu")
        return bool(large.to(getattr(torch, f"float8_{kind}")).float().isfinite())


def kind_of(dtype: torch.dtype) -> str | None:
    """The kind of 8-bit floats that a dtype is, None of others."""
    kind = dtype_name(dtype).removeprefix("float8_")
    return kind if kind in FLOAT8 else None
