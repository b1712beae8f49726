"""Tensors of 8-bit floats: their bits travel as i8, and rows that compute on them decode them first."""

from __future__ import annotations

from xdsl.ir import SSAValue

from tilewright.dialects.tw.float8 import DecodeFloat8Op
from tilewright.dialects.types import FLOAT8

from ..dtypes import dtype_name
from ..errors import Unsupported
from .builder import Builder

DECODING = frozenset(
    ("aten._scaled_mm.default", "aten._scaled_mm_v2.default", "prims.convert_element_type.default")
)
"""Operators whose rows take 8-bit floats."""


def decoded(b: Builder, value: SSAValue) -> SSAValue:
    """`value`, in f32 where it holds the bits of 8-bit floats."""
    if (fake := b.carried.get(value)) is None:
        return value
    kind = dtype_name(fake.dtype).removeprefix("float8_")
    if kind not in FLOAT8:
        raise Unsupported(f"{fake.dtype} has no element type in the IR", "TW1103")
    return b.emit(DecodeFloat8Op(value, kind))
