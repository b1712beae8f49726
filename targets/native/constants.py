"""The bytes of a dense constant, as a kernel reads them."""

from __future__ import annotations

import struct

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

from tilewright.dialects.types import ELEMENT_TYPES

_FORMATS = {
    "f64": "d", "f32": "f", "f16": "e", "i64": "q", "i32": "i", "i16": "h", "i8": "b", "ui8": "B", "i1": "?",
}  # fmt: skip
_NAMES = {element: name for name, element in ELEMENT_TYPES.items()}


def numbers(value: DenseIntOrFPElementsAttr) -> list[float | int]:
    """The elements (there are no complex ones); a splat has one."""
    return [v for v in value.iter_values() if not isinstance(v, tuple)]


def constant_bytes(value: DenseIntOrFPElementsAttr) -> bytes:
    """Row-major, native byte order; a splat is written out."""
    count = 1
    for size in value.get_shape():
        count *= size
    values = numbers(value)
    if len(values) == 1 and count != 1:
        values *= count
    name = _NAMES[value.get_element_type()]
    if name == "bf16":
        return struct.pack(f"={count}H", *(_bf16(v) for v in values))
    if name == "i1":
        return struct.pack(f"={count}?", *(bool(v) for v in values))
    return struct.pack(f"={count}{_FORMATS[name]}", *values)


def _bf16(value: float) -> int:
    """The 16 bits of `value`, rounded to nearest even."""
    (bits,) = struct.unpack("=I", struct.pack("=f", value))
    if value != value:
        return (bits >> 16) | 0x40
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
