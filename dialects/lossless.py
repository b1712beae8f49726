"""Which conversions keep every value."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, Signedness, bf16, f16, f32, f64, i1
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from .types import is_float

_MANTISSA: dict[Attribute, int] = {f64: 53, f32: 24, f16: 11, bf16: 8}


def is_lossless(source: Attribute, target: Attribute) -> bool:
    """True where every value of `source` is a value of `target`."""
    if source == i1:
        return True
    if is_float(source):
        return target == f64 or (target == f32 and source != f64)
    assert isa(source, IntegerType)
    unsigned, bits = source.signedness.data is Signedness.UNSIGNED, source.width.data
    if is_float(target):
        return (bits if unsigned else bits - 1) <= _MANTISSA[target]
    assert isa(target, IntegerType)
    if target.signedness.data is Signedness.UNSIGNED:
        return unsigned and target.width.data >= bits
    return target.width.data > bits
