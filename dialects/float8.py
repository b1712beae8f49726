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
from itertools import pairwise

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

    @property
    def nan(self) -> int:
        """The pattern that comes of what is no number, but for its sign."""
        return 127 if self.negative_zero else 128

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The number of each pattern, read as an unsigned integer."""
        return tuple(self._value(bits) for bits in range(256))

    @cached_property
    def halfway(self) -> tuple[float, ...]:
        """Between each finite number from 0 on and the next one; after the largest they would go on."""
        sizes = [self._size(bits) for bits in range(self.largest + 2)]
        return tuple((low + high) / 2 for low, high in pairwise(sizes))

    def _value(self, bits: int) -> float:
        size = bits & 127
        if bits == 128 and not self.negative_zero:
            return math.nan
        if size > self.largest:
            found = math.inf if self.infinite and size == self.largest + 1 else math.nan
        else:
            found = self._size(size)
        return -found if bits > 127 else found

    def _size(self, bits: int) -> float:
        exponent, fraction = bits >> self.mantissa, bits & ((1 << self.mantissa) - 1)
        leading = (1 << self.mantissa) if exponent else 0
        return math.ldexp(leading + fraction, max(exponent, 1) - self.bias - self.mantissa)


FORMATS: Mapping[Attribute, Float8] = {
    FLOAT8["e4m3fn"]: Float8(3, 7, 126, infinite=False, negative_zero=True),
    FLOAT8["e4m3fnuz"]: Float8(3, 8, 127, infinite=False, negative_zero=False),
    FLOAT8["e5m2"]: Float8(2, 15, 123, infinite=True, negative_zero=True),
    FLOAT8["e5m2fnuz"]: Float8(2, 16, 127, infinite=False, negative_zero=False),
}


def encoded(arrays: Arrays, numbers: Array, format_: Float8, *, clamped: bool = False) -> Array:
    """The bits of the nearest numbers of the format as i8, with ties to even; numbers are f32.

    What would be rounded beyond the largest, infinities too, is the largest if `clamped`; else it is
    infinite, or no number where there are no infinities.
    """
    xp = arrays.xp
    numbers = arrays.cast(numbers, xp.float32)
    if clamped:
        numbers = xp.clip(numbers, -format_.values[format_.largest], format_.values[format_.largest])
    sizes, bounds = arrays.cast(abs(numbers), xp.float64), arrays.asarray(format_.halfway, xp.float64)
    below, upto = (xp.searchsorted(bounds, sizes, side=side) for side in ("left", "right"))
    found = xp.where(xp.isnan(numbers), format_.nan, below + (upto - below) * (below & 1))
    bits = found | xp.where(xp.signbit(numbers), 128, 0)
    if not format_.negative_zero:
        bits = xp.where(found == 0, 0, bits)
    return arrays.cast(bits, xp.int8)


def decoded(arrays: Arrays, bits: Array, format_: Float8, dtype: object) -> Array:
    """What integers of 8 bits stand for, in a float dtype of the namespace."""
    return arrays.asarray(format_.values, dtype)[arrays.cast(bits, arrays.xp.int64) & 255]
