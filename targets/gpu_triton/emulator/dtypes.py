"""Triton's element types, how they are held in torch tensors, and how two of them combine.

Unsigned integers are held in signed tensors of their width: additions, products and bit
operations are the same on both, and what differs (`values.py`) asks `signed`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

Number = bool | int | float


class BadText(Exception):
    """What Triton's own front end would refuse; the launcher adds kernel and line."""


class Unknown(Exception):
    """What Triton has and the emulator lacks."""


@dataclass(frozen=True)
class DType:
    """An element type as `tl` names it."""

    name: str
    kind: Literal["bool", "uint", "int", "float"]
    bits: int
    payload: torch.dtype

    @property
    def rank(self) -> int:
        """The order in which a scalar's kind may lose against a tensor's."""
        return ("bool", "uint", "int", "float").index(self.kind)

    @property
    def signed(self) -> bool:
        return self.kind in ("int", "float")

    @property
    def floating(self) -> bool:
        return self.kind == "float"

    @property
    def integer(self) -> bool:
        """True of booleans, too: Triton counts them as integers of one bit."""
        return self.kind != "float"

    @property
    def primitive_bitwidth(self) -> int:
        return self.bits

    def is_floating(self) -> bool:
        return self.floating

    def is_int(self) -> bool:
        return self.integer

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and largest integer."""
        if self.kind == "int":
            return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        return 0, (1 << self.bits) - 1

    def __str__(self) -> str:
        return self.name


int1 = DType("int1", "bool", 1, torch.bool)
int8 = DType("int8", "int", 8, torch.int8)
int16 = DType("int16", "int", 16, torch.int16)
int32 = DType("int32", "int", 32, torch.int32)
int64 = DType("int64", "int", 64, torch.int64)
uint8 = DType("uint8", "uint", 8, torch.int8)
uint16 = DType("uint16", "uint", 16, torch.int16)
uint32 = DType("uint32", "uint", 32, torch.int32)
uint64 = DType("uint64", "uint", 64, torch.int64)
float16 = DType("float16", "float", 16, torch.float16)
bfloat16 = DType("bfloat16", "float", 16, torch.bfloat16)
float32 = DType("float32", "float", 32, torch.float32)
float64 = DType("float64", "float", 64, torch.float64)
float8e4nv = DType("float8e4nv", "float", 8, torch.float8_e4m3fn)
float8e5 = DType("float8e5", "float", 8, torch.float8_e5m2)
float8e4b8 = DType("float8e4b8", "float", 8, torch.float8_e4m3fnuz)
float8e5b16 = DType("float8e5b16", "float", 8, torch.float8_e5m2fnuz)

FLOAT8 = (float8e4nv, float8e5, float8e4b8, float8e5b16)
ALL = (
    *(int1, int8, int16, int32, int64, uint8, uint16, uint32, uint64),
    *(float16, bfloat16, float32, float64, *FLOAT8),
)

POINTERS = {
    "i1": int1,
    "i8": int8,
    "i16": int16,
    "i32": int32,
    "i64": int64,
    "u1": int1,
    "u8": uint8,
    "u16": uint16,
    "u32": uint32,
    "u64": uint64,
    "fp16": float16,
    "bf16": bfloat16,
    "fp32": float32,
    "fp64": float64,
    "fp8e4nv": float8e4nv,
    "fp8e5": float8e5,
    "fp8e4b8": float8e4b8,
    "fp8e5b16": float8e5b16,
}
"""What a signature calls an element type."""

_FLOAT32_RANGE = (2.0**-126, (2 - 2.0**-23) * 2.0**127)


def type_of_number(value: Number) -> DType:
    """The type that Triton gives to a Python number."""
    if isinstance(value, bool):
        return int1
    if isinstance(value, int):
        for dtype in (int32, uint32, int64, uint64):
            if dtype.limits[0] <= value <= dtype.limits[1]:
                return dtype
        raise BadText(f"no integer type holds {value}")
    size = abs(value)
    ordinary = size in (0.0, float("inf")) or value != value or _FLOAT32_RANGE[0] <= size <= _FLOAT32_RANGE[1]
    return float32 if ordinary else float64


def promote(a: DType, a_number: bool, b: DType, b_number: bool, division: bool = False) -> DType:
    """The type in which an operation on `a` and `b` computes; `_number` marks Python numbers."""
    if a_number != b_number:
        number, tensor = (a, b) if a_number else (b, a)
        if number.rank <= tensor.rank:
            a = b = tensor
    if a.floating or b.floating:
        return _promote_floats(a, b, division)
    if division and a.signed != b.signed:
        raise BadText(f"division of {a} by {b}: their signedness differs")
    return _promote_integers(a, b)


def _promote_floats(a: DType, b: DType, division: bool) -> DType:
    if float64 in (a, b):
        return float64
    if division or float32 in (a, b):
        return float32
    if float16 in (a, b):
        return float16
    if bfloat16 in (a, b):
        return bfloat16 if a == b else float32
    if a in FLOAT8 and b in FLOAT8:
        return a if a == b else float16
    raise BadText(f"no common type of {a} and {b}")


def _promote_integers(a: DType, b: DType) -> DType:
    if a.signed == b.signed:
        return a if a.bits > b.bits else b
    unsigned, signed = (b, a) if a.signed else (a, b)
    return unsigned if unsigned.bits >= signed.bits else signed
