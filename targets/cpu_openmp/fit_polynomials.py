"""Derive the polynomials of `prelude_math.h`: `python -m tilewright.targets.cpu_openmp.fit_polynomials`.

Each function is reduced to a smooth `g(t)` on a small interval and fitted in the
relative (or otherwise weighted) minimax sense on Chebyshev points: least squares whose
weights are multiplied by the error of the previous round (Lawson's iteration). Rationals
are linearised, `g*Q - P = 0`, and divided by the previous Q (Sanathanan-Koerner).
Needs numpy and mpmath, which the compiler itself does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Number = Any  # mpmath has no types
LSTSQ: Any = np.linalg.lstsq
mp: Any = import_module("mpmath")
mp.mp.dps = 40


@dataclass(frozen=True)
class Fit:
    """`g` on [low, high] as P (degree `top`) over Q (degree `bottom`), error times `weight`."""

    name: str
    g: Callable[[Number], Number]
    low: float
    high: float
    top: int
    bottom: int = 0
    weight: Callable[[Number], Number] | None = None


def _points(fit: Fit, count: int = 1200) -> Array:
    angles = (np.arange(count) + 0.5) * np.pi / count
    return 0.5 * (fit.low + fit.high) - 0.5 * (fit.high - fit.low) * np.cos(angles)


def solve(fit: Fit, rounds: int = 60) -> tuple[Array, Array, float]:
    """Coefficients of P and Q (lowest power first, Q starting with 1) and the largest error."""
    t = _points(fit)
    values = [fit.g(mp.mpf(float(x))) for x in t]
    g = np.array([float(v) for v in values])
    base = np.array([float(fit.weight(mp.mpf(float(x)))) for x in t]) if fit.weight else 1 / np.abs(g)
    top = np.vander(t, fit.top + 1, increasing=True)
    bottom = np.vander(t, fit.bottom + 1, increasing=True)
    lawson, q = np.ones_like(t), np.ones_like(t)
    best: tuple[Array, Array, float] | None = None
    for _ in range(rounds):
        weight = np.sqrt(lawson) * base / np.abs(q)
        matrix = np.concatenate([top, -g[:, None] * bottom[:, 1:]], axis=1) * weight[:, None]
        scale = np.linalg.norm(matrix, axis=0)
        answer: tuple[Array, ...] = LSTSQ(matrix / scale, g * weight, rcond=1e-17)
        solution: Array = answer[0] / scale
        p_c, q_c = solution[: fit.top + 1], np.concatenate([[1.0], solution[fit.top + 1 :]])
        q = bottom @ q_c
        error = np.abs((top @ p_c) / q - g) * base
        if best is None or error.max() < best[2]:
            best = (p_c, q_c, float(error.max()))
        lawson = lawson * (error / error.max() + 1e-3)
        lawson /= lawson.max()
    assert best is not None
    return best


def _log1p_tail(f: Number) -> Number:
    """(log(1 + f) - f + f^2/2) / f^3."""
    if abs(f) < mp.mpf("1e-8"):
        return mp.mpf(1) / 3 - f / 4
    return (mp.log1p(f) - f + f * f / 2) / f**3


def _odd(function: Callable[[Number], Number], slope: Number) -> Callable[[Number], Number]:
    """f(x)/x as a function of x^2."""
    return lambda s: function(mp.sqrt(s)) / mp.sqrt(s) if s > mp.mpf("1e-24") else slope


def _even_tail(s: Number) -> Number:
    """(cos(x) - 1 + x^2/2) / x^4 as a function of s = x^2."""
    if s < mp.mpf("1e-10"):
        return mp.mpf(1) / 24 - s / 720
    return (mp.cos(mp.sqrt(s)) - 1 + s / 2) / (s * s)


def _sin_tail(s: Number) -> Number:
    """(sin(x) - x) / x^3 as a function of s = x^2."""
    if s < mp.mpf("1e-10"):
        return -mp.mpf(1) / 6 + s / 120
    x = mp.sqrt(s)
    return (mp.sin(x) - x) / (x * s)


def _exp_tail(r: Number) -> Number:
    """(exp(r) - 1 - r) / r^2."""
    if abs(r) < mp.mpf("1e-10"):
        return mp.mpf(1) / 2 + r / 6
    return (mp.expm1(r) - r) / (r * r)


def _log2_ratio(t: Number) -> Number:
    """log2((1 + s) / (1 - s)) / s as a function of t = s^2."""
    if t < mp.mpf("1e-20"):
        return 2 / mp.log(2) * (1 + t / 3)
    s = mp.sqrt(t)
    return mp.log((1 + s) / (1 - s), 2) / s


_HALF_LN2 = 0.34657359027997264 * 1.0001
_QUARTER_PI = 0.7853981633974483 * 1.0001
_LARGEST_RATIO = 0.171573 * 1.0001  # (sqrt(2) - 1) / (sqrt(2) + 1)

FITS: Sequence[Fit] = (
    Fit("exp f32", _exp_tail, -_HALF_LN2, _HALF_LN2, 4, weight=lambda r: r * r / mp.exp(r)),
    Fit("exp2 f32", lambda r: mp.power(2, r), -0.50005, 0.50005, 6),
    Fit("exp f64", _exp_tail, -_HALF_LN2, _HALF_LN2, 9, weight=lambda r: r * r / mp.exp(r)),
    Fit("log f32", _log1p_tail, -0.29290, 0.41425, 7,
        weight=lambda f: abs(f**3 / mp.log1p(f)) if f else mp.mpf(0)),
    Fit("log2 of pow, f64", _log2_ratio, 0.0, _LARGEST_RATIO**2, 4),
    Fit("exp2 of pow, f64", lambda r: mp.power(2, r), -0.50005, 0.50005, 7),
    Fit("tanh f32", _odd(mp.tanh, mp.mpf(1)), 0.0, 81.5, 5, 4),
    Fit("erf f32", _odd(mp.erf, 2 / mp.sqrt(mp.pi)), 0.0, 15.6, 5, 5),
    Fit("sin f32", _sin_tail, 0.0, _QUARTER_PI**2, 3, weight=lambda s: s),
    Fit("cos f32", _even_tail, 0.0, _QUARTER_PI**2, 3, weight=lambda s: s * s),
)  # fmt: skip


def main() -> None:
    """Print every fit as C initialisers, with its error in units of 2^-24."""
    for fit in FITS:
        p, q, error = solve(fit)
        print(f"// {fit.name} on [{fit.low:g}, {fit.high:g}]: error {error * 2**24:.3g} * 2^-24")
        print("P", ", ".join(f"{c:.9g}f" if "f32" in fit.name else f"{c:.17g}" for c in p))
        if fit.bottom:
            print("Q", ", ".join(f"{c:.9g}f" for c in q))


if __name__ == "__main__":
    main()
