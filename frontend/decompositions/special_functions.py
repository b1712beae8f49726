"""Functions of physics and statistics, written out in tensor functions: polynomials, series, exponentials.

f32 and halves compute in f32, f64 in f64 with longer polynomials; integers count as floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import reduce, wraps
from typing import Any

import torch
from torch import Tensor
from torch._ops import OperatorBase

from .bessel_functions import BESSEL_FUNCTIONS
from .horner import horner
from .special_coefficients import COEFFICIENTS

INF, NAN = math.inf, math.nan
Unary = Callable[[Tensor], Tensor]


def _computed(function: Unary) -> Unary:
    """In f32 or f64; the result has the type that torch gives it."""

    @wraps(function)
    def row(x: Tensor) -> Tensor:
        if x.is_complex():
            return NotImplemented
        result = x.dtype if x.is_floating_point() else torch.get_default_dtype()
        work = torch.float64 if result == torch.float64 else torch.float32
        return function(x.to(work)).to(result)

    return row


def _polynomial(t: Tensor, name: str) -> Tensor:
    """One that was fitted, for `t` between -1 and 1."""
    powers = COEFFICIENTS[name]["f64" if t.dtype == torch.float64 else "f32"]
    return horner(t, powers)


# Modified Bessel functions of the first kind


def _scaled_bessel(order: int) -> Unary:
    """exp(-|x|) I(x)."""
    small, large = f"I{order}_SMALL", f"I{order}_LARGE"

    def function(x: Tensor) -> Tensor:
        size = x.abs()
        inner = _polynomial(size.clamp(max=8) * 0.25 - 1, small)
        tail = size.clamp(min=8)
        outer = _polynomial(16 / tail - 1, large) * tail.rsqrt()
        if not order:
            return torch.where(size <= 8, inner, outer)
        return torch.where(size <= 8, inner * x, outer.copysign(x))

    return function


def _bessel(order: int) -> Unary:
    scaled = _scaled_bessel(order)
    return lambda x: x.abs().exp() * scaled(x)


# The normal distribution


def _inverse_of_error(y: Tensor, w: Tensor) -> Tensor:
    """`y` times a function of `w`, which is -log(1 - y * y).

    Polynomials are small beside what they are added to, and so is their rounding.
    """
    near, root = w.clamp(max=5), w.sqrt()
    middle = near * _polynomial(near * 0.4 - 1, "ERFINV_MIDDLE") + math.sqrt(math.pi) / 2
    outer = _polynomial((root.clamp(2.2, 6.2) - 4.2) * 0.5, "ERFINV_OUTER") + root
    far = _polynomial((root.clamp(6.2, 27.4) - 16.8) * (1 / 10.6), "ERFINV_FAR") + root
    return y * torch.where(w <= 5, middle, torch.where(root <= 6.2, outer, far))


def _erfinv(x: Tensor) -> Tensor:
    found = _inverse_of_error(x, -((1 - x) * (1 + x)).log())
    return torch.where(x.abs() == 1, torch.full_like(x, INF).copysign(x), found)


def _ndtri(p: Tensor) -> Tensor:
    y = 2 * p - 1
    found = _inverse_of_error(y, -(4 * p * (1 - p)).log()) * math.sqrt(2)
    return torch.where((p == 0) | (p == 1), torch.full_like(y, INF).copysign(y), found)


def _erfcx(x: Tensor) -> Tensor:
    size = x.abs()
    right = _polynomial(1 - 7.5 / (size + 3.75), "ERFCX") * 0.5 / (size + 0.5)
    return torch.where(x < 0, 2 * (x * x).exp() - right, right)


# Derivatives of the logarithm of the gamma function

HIGHEST_ORDER = 6
"""Of polygamma functions that are written out."""


def _bernoulli(count: int) -> list[Fraction]:
    """B(2), B(4) and so on."""
    numbers = [Fraction(1)]
    for m in range(1, 2 * count + 1):
        total = sum((math.comb(m + 1, k) * b for k, b in enumerate(numbers)), Fraction(0))
        numbers.append(-total / (m + 1))
    return numbers[2::2]


def _power(x: Tensor, exponent: int) -> Tensor:
    result = x
    for bit in bin(exponent)[3:]:
        result = result * result * x if bit == "1" else result * result
    return result


def _right_of_zero(n: int, x: Tensor) -> Tensor:
    """The polygamma function of order `n` of positive numbers, but for its sign: that of `(-1) ** (n + 1)`.

    A series in `1 / z` for large numbers; small ones are so many steps of the recurrence away from them.
    """
    count = 10 + 2 * n
    z = torch.where(x < count, x + count, x)
    inverse = 1 / z
    factors = [
        b * math.factorial(2 * k + n - 1) / math.factorial(2 * k) for k, b in enumerate(_bernoulli(8), 1)
    ]
    rest = horner(inverse * inverse, [float(f) for f in factors]) * _power(inverse, n + 2)
    if n:
        lead = _power(inverse, n) * math.factorial(n - 1) + _power(inverse, n + 1) * (math.factorial(n) / 2)
    else:
        lead = 0.5 * inverse - z.log()
    terms = [_power(1 / (x + k), n + 1) for k in range(count)]
    steps = reduce(torch.add, reversed(terms)) * math.factorial(n)
    return lead + rest + torch.where(x < count, steps, 0.0)


def _slopes_of_cotangent(n: int) -> list[int]:
    """The derivative of order `n` as a polynomial in the cotangent: D p(c) = -(1 + c * c) p'(c)."""
    powers = [0, 1]
    for _ in range(n):
        slope = [k * c for k, c in enumerate(powers)][1:]
        powers = [0] * (len(slope) + 2)
        for k, c in enumerate(slope):
            powers[k] -= c
            powers[k + 2] -= c
    return powers


def _polygamma_of(n: int, x: Tensor) -> Tensor:
    right = _right_of_zero(n, torch.where(x > 0, x, 1 - x)) * (-1) ** (n + 1)
    away = x - x.round()
    cotangent = 1 / (away * math.pi).tan()
    powers = _slopes_of_cotangent(n)
    first = next(k for k, c in enumerate(powers) if c)
    slope = horner(cotangent * cotangent, [float(c) for c in powers[first::2]]) * math.pi ** (n + 1)
    mirrored = right * (-1) ** n - (slope * cotangent if first else slope)
    found = torch.where(x > 0, right, mirrored)
    if n:
        return found
    found = torch.where((x < 0) & (away == 0), NAN, found)
    return torch.where(x == 0, torch.full_like(x, INF).copysign(-x), found)


def _polygamma(n: int, x: Tensor) -> Tensor:
    """Orders from 2 on cross zero where large numbers cancel, so they compute in f64, as ATen's do."""
    if n > HIGHEST_ORDER:
        return NotImplemented
    return _computed(lambda t: _polygamma_of(n, t.double() if n > 1 else t).to(t.dtype))(x)


_UNARY: dict[str, Unary] = {
    **BESSEL_FUNCTIONS,
    "i0": _bessel(0),
    "special_i0e": _scaled_bessel(0),
    "special_i1": _bessel(1),
    "special_i1e": _scaled_bessel(1),
    "special_modified_bessel_i0": _bessel(0),
    "special_modified_bessel_i1": _bessel(1),
    "erfinv": _erfinv,
    "special_ndtri": _ndtri,
    "special_erfcx": _erfcx,
    "digamma": lambda x: _polygamma_of(0, x),
}


def special_functions() -> dict[OperatorBase, Callable[..., Any]]:
    """What replaces each of these operators."""
    aten = torch.ops.aten
    table: dict[OperatorBase, Callable[..., Any]] = {
        getattr(aten, name).default: _computed(function) for name, function in _UNARY.items()
    }
    table[aten.polygamma.default] = _polygamma
    return table
