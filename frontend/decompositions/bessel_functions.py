"""Bessel functions of the first and second kind, of orders 0 and 1: polynomials of squares, waves, decay."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .bessel_coefficients import COEFFICIENTS
from .horner import horner
from .modified_bessel_coefficients import COEFFICIENTS as MODIFIED

_TABLES = {**COEFFICIENTS, **MODIFIED}
INF, NAN = math.inf, math.nan
Unary = Callable[[Tensor], Tensor]
ROOT = math.sqrt(1 / math.pi)
"""Of 2 / pi, times the sine of an eighth of a turn."""


def _polynomial(t: Tensor, name: str) -> Tensor:
    return horner(t, _TABLES[name]["f64" if t.dtype == torch.float64 else "f32"])


def _waves(order: int, x: Tensor, *, second: bool) -> Tensor:
    """J or Y beyond 8: P and Q times cosine and sine of an angle, one or three eighths of a turn behind."""
    inverse = 8 / x
    square = inverse * inverse * 2 - 1
    p, q = _polynomial(square, f"P{order}"), _polynomial(square, f"Q{order}") / x
    total, difference = x.sin() + x.cos(), x.sin() - x.cos()
    cosine, sine = (difference, -total) if order else (total, difference)
    return (p * sine + q * cosine if second else p * cosine - q * sine) * x.rsqrt() * ROOT


def _first_kind(order: int) -> Unary:
    def function(x: Tensor) -> Tensor:
        size = x.abs()
        inner = size.clamp(max=8)
        small = _polynomial(inner * inner * (1 / 32) - 1, f"J{order}_SMALL")
        large = _waves(order, size.clamp(min=8), second=False)
        if not order:
            return torch.where(size <= 8, small, large)
        return torch.where(size <= 8, small * x, torch.where(x < 0, -large, large))

    return function


def _second_kind(order: int) -> Unary:
    def function(x: Tensor) -> Tensor:
        inner = x.clamp(max=8)
        square = inner * inner * (1 / 32) - 1
        regular, rest = (_polynomial(square, f"{name}{order}_SMALL") for name in "JY")
        if order:
            regular, rest = regular * inner, rest * inner - (2 / math.pi) / inner
        small = rest + (2 / math.pi) * inner.log() * regular
        found = torch.where(x <= 8, small, _waves(order, x.clamp(min=8), second=True))
        return torch.where(x > 0, found, torch.where(x == 0, -INF, NAN))

    return function


def _modified(order: int, *, scaled: bool) -> Unary:
    """K, times exp(x) if `scaled`."""

    def function(x: Tensor) -> Tensor:
        inner, outer = x.clamp(max=2), x.clamp(min=2)
        square = inner * inner * 0.5 - 1
        regular, rest = _polynomial(square, f"I{order}_INNER"), _polynomial(square, f"K{order}_SMALL")
        log = (inner * 0.5).log()
        small = rest / inner + log * regular * inner if order else rest - log * regular
        large = _polynomial(4 / outer - 1, f"K{order}_LARGE") * outer.rsqrt()
        small, large = (small * inner.exp(), large) if scaled else (small, large * (-outer).exp())
        found = torch.where(x <= 2, small, large)
        return torch.where(x > 0, found, torch.where(x == 0, INF, NAN))

    return function


BESSEL_FUNCTIONS: dict[str, Unary] = {
    "special_bessel_j0": _first_kind(0),
    "special_bessel_j1": _first_kind(1),
    "special_bessel_y0": _second_kind(0),
    "special_bessel_y1": _second_kind(1),
    "special_modified_bessel_k0": _modified(0, scaled=False),
    "special_modified_bessel_k1": _modified(1, scaled=False),
    "special_scaled_modified_bessel_k0": _modified(0, scaled=True),
    "special_scaled_modified_bessel_k1": _modified(1, scaled=True),
}
"""ATen's name -> the function of numbers in f32 or f64."""
