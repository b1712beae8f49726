"""The floats of 8 bits, by torch's names: what each of the 256 patterns stands for.

e4m3fn and e5m2 are those of the OCP 8-bit Floating Point Specification (OFP8, 2023; Micikevicius et al.,
"FP8 Formats for Deep Learning", 2022); the fnuz kinds those of Noune et al., "8-bit Numerical Formats for
Deep Neural Networks", 2022.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import Attribute

from .arrays import Array, Arrays
from .types import FLOAT8


@dataclass(frozen=True)
class Float8:
    """A sign, an exponent and `mantissa` bits; with exponent 0 there is no leading 1."""

    mantissa: int
    bias: int
    largest: int
    """The greatest finite number, as its 7 bits below the sign."""
    infinite: bool
    """What follows it is infinity; then, and without this at once, come numbers that are none."""
    negative_zero: bool
    """-0.0 exists; else its pattern is the one that is no number."""

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The number of each pattern, read as an unsigned integer."""
        return tuple(self._value(bits) for bits in range(256))

    def _value(self, bits: int) -> float:
        size = bits & 127
        if bits == 128 and not self.negative_zero:
            return math.nan
        if size > self.largest:
            found = math.inf if self.infinite and size == self.largest + 1 else math.nan
        else:
            exponent, fraction = size >> self.mantissa, size & ((1 << self.mantissa) - 1)
            leading = (1 << self.mantissa) if exponent else 0
            found = math.ldexp(leading + fraction, max(exponent, 1) - self.bias - self.mantissa)
        return -found if bits > 127 else found


FORMATS: Mapping[Attribute, Float8] = {
    FLOAT8["e4m3fn"]: Float8(3, 7, 126, infinite=False, negative_zero=True),
    FLOAT8["e4m3fnuz"]: Float8(3, 8, 127, infinite=False, negative_zero=False),
    FLOAT8["e5m2"]: Float8(2, 15, 123, infinite=True, negative_zero=True),
    FLOAT8["e5m2fnuz"]: Float8(2, 16, 127, infinite=False, negative_zero=False),
}


def decoded(arrays: Arrays, bits: Array, format_: Float8, dtype: object) -> Array:
    """What integers of 8 bits stand for, in a float dtype of the namespace."""
    return arrays.asarray(format_.values, dtype)[arrays.cast(bits, arrays.xp.int64) & 255]
