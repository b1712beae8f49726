"""Derive the tables of the modules whose names end in `_coefficients`.

    python -m tilewright.frontend.decompositions.fit_special_functions bessel_coefficients

Each function is reduced to a smooth `g(t)` on [-1, 1], interpolated at Chebyshev points in 60 digits, and cut
where the rest of its Chebyshev series is below the precision. Needs mpmath, which the compiler does not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

Number = Any  # mpmath has no types
Function = Callable[[Number], Number]
mp: Any = import_module("mpmath")
mp.mp.dps = 60

POINTS = 80
PRECISIONS = {"f32": 2.0**-27, "f64": 2.0**-56}
ERFCX_MIDDLE = mp.mpf("3.75")


def _series(g: Function) -> list[Number]:
    """The coefficients of the Chebyshev polynomials."""
    angles = [(k + mp.mpf(1) / 2) * mp.pi / POINTS for k in range(POINTS)]
    values = [g(mp.cos(angle)) for angle in angles]
    found = [
        2 * mp.fsum(v * mp.cos(j * a) for v, a in zip(values, angles, strict=True)) / POINTS
        for j in range(POINTS)
    ]
    return [found[0] / 2, *found[1:]]


def _powers(series: list[Number]) -> list[Number]:
    """The same polynomial in powers of `t`, the lowest first."""
    total = [mp.mpf(0)] * len(series)
    before, here = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    for c in series:
        for i, p in enumerate(before):
            total[i] += c * p
        following = [mp.mpf(0), *(2 * p for p in here)]
        for i, p in enumerate(before):
            following[i] -= p
        before, here = here, following
    return total


def fit(g: Function, precision: float) -> list[float]:
    """As many powers as leave an error below `precision`, of the least value or, beside zeros, of 1."""
    series = _series(g)
    values = [g(mp.mpf(i) / 20) for i in range(-20, 21)]
    least = min(abs(value) for value in values) if min(values) * max(values) > 0 else 1
    rest, count = mp.mpf(0), len(series)
    while rest + abs(series[count - 1]) < precision * least:
        count -= 1
        rest += abs(series[count])
    return [float(c) for c in _powers(series[:count])]


def between(low: float, high: float, g: Function) -> Function:
    """`g` of a number between `low` and `high` as a function of one between -1 and 1."""
    a, b = mp.mpf(low), mp.mpf(high)
    return lambda t: g((a + b) / 2 + t * (b - a) / 2)


def _bessel(order: int, x: Number) -> Number:
    """exp(-x) I(x), divided by x for order 1."""
    if x == 0:
        return mp.mpf(1) / (order + 1)
    return mp.exp(-x) * mp.besseli(order, x) / x**order


def _bessel_tail(order: int, inverse: Number) -> Number:
    """exp(-x) I(x) sqrt(x) as a function of 1 / x."""
    if inverse < mp.mpf("1e-12"):
        return (1 - (4 * order - 1) * inverse / 8) / mp.sqrt(2 * mp.pi)
    return mp.exp(-1 / inverse) * mp.besseli(order, 1 / inverse) / mp.sqrt(inverse)


def _squared(f: Function) -> Function:
    """An even function as one of the square; near 0 of a number beside it."""
    return lambda u: f(mp.sqrt(max(u, mp.mpf("1e-30"))))


def _log_free(order: int, x: Number) -> Number:
    """Y(x) without what its logarithm multiplies; for order 1 without 2 / (pi x), divided by x."""
    rest = mp.bessely(order, x) - 2 / mp.pi * mp.log(x) * mp.besselj(order, x)
    return rest if not order else (rest + 2 / (mp.pi * x)) / x


def _waves(order: int, inverse: Number) -> tuple[Number, Number]:
    """P and Q of J(x) = sqrt(2 / (pi x)) (P cos(a) - Q sin(a)), a = x - pi / 4 - order pi / 2, at 1 / x."""
    if inverse < mp.mpf("1e-12"):
        return mp.mpf(1), (4 * order - 1) * inverse / 8
    x = 1 / inverse
    angle, scale = x - mp.pi / 4 - order * mp.pi / 2, mp.sqrt(mp.pi * x / 2)
    j, y = mp.besselj(order, x) * scale, mp.bessely(order, x) * scale
    return j * mp.cos(angle) + y * mp.sin(angle), y * mp.cos(angle) - j * mp.sin(angle)


def _slow_waves(order: int, v: Number) -> Number:
    """Q x as a function of (8 / x) ** 2."""
    inverse = mp.sqrt(max(v, mp.mpf("1e-20"))) / 8
    return _waves(order, inverse)[1] / inverse


def _decay_free(order: int, x: Number) -> Number:
    """K(x) without what the logarithm of x / 2 multiplies; for order 1 times x."""
    if order:
        return (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x)) * x
    return mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)


def _decay(order: int, half: Number) -> Number:
    """exp(x) K(x) sqrt(x) as a function of 2 / x."""
    if half < mp.mpf("1e-12"):
        return (1 + (4 * order - 1) * half / 16) * mp.sqrt(mp.pi / 2)
    x = 2 / half
    return mp.exp(x) * mp.besselk(order, x) * mp.sqrt(x)


def _erfinv(w: Number) -> Number:
    """erfinv(y) / y as a function of w = -log(1 - y^2)."""
    if w < mp.mpf("1e-25"):
        return mp.sqrt(mp.pi) / 2
    y = mp.sqrt(-mp.expm1(-w))
    if w < 30:
        return mp.erfinv(y) / y
    tail = mp.exp(-w) / (1 + y)  # 1 - y
    x = mp.sqrt(w - mp.log(mp.pi * w) / 2)
    for _ in range(12):  # Newton's iteration for log(erfc(x)) = log(tail)
        value = mp.erfc(x)
        x += (mp.log(value) - mp.log(tail)) * value * mp.sqrt(mp.pi) / (2 * mp.exp(-x * x))
    return x / y


def _erfinv_slope(w: Number) -> Number:
    """(erfinv(y) / y - its value at 0) / w."""
    least = mp.sqrt(mp.pi) / 2
    return least * mp.pi / 12 if w < mp.mpf("1e-20") else (_erfinv(w) - least) / w


def _erfcx(t: Number) -> Number:
    """erfcx(x) (1 + 2 x) as a function of t = 1 - 2 m / (x + m)."""
    if t > 1 - mp.mpf("1e-12"):
        return 2 / mp.sqrt(mp.pi)
    x = 2 * ERFCX_MIDDLE / (1 - t) - ERFCX_MIDDLE
    if x < 2000:
        return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)
    return (1 - 1 / (2 * x * x) + 3 / (4 * x**4)) / (x * mp.sqrt(mp.pi)) * (1 + 2 * x)


SPECIAL: Mapping[str, Function] = {
    "I0_SMALL": between(0, 8, lambda x: _bessel(0, x)),
    "I0_LARGE": between(0, 0.125, lambda u: _bessel_tail(0, u)),
    "I1_SMALL": between(0, 8, lambda x: _bessel(1, x)),
    "I1_LARGE": between(0, 0.125, lambda u: _bessel_tail(1, u)),
    "ERFINV_MIDDLE": between(0, 5, _erfinv_slope),
    "ERFINV_OUTER": between(2.2, 6.2, lambda s: _erfinv(s * s) - s),
    "ERFINV_FAR": between(6.2, 27.4, lambda s: _erfinv(s * s) - s),
    "ERFCX": _erfcx,
}


def _waving(order: int) -> dict[str, Function]:
    """J and Y between 0 and 8, in squares, and beyond."""

    def regular(x: Number) -> Number:
        return mp.besselj(order, x) / x**order

    return {
        f"J{order}_SMALL": between(0, 64, _squared(regular)),
        f"Y{order}_SMALL": between(0, 64, _squared(lambda x: _log_free(order, x))),
        f"P{order}": between(0, 1, lambda v: _waves(order, mp.sqrt(v) / 8)[0]),
        f"Q{order}": between(0, 1, lambda v: _slow_waves(order, v)),
    }


def _decaying(order: int) -> dict[str, Function]:
    """K between 0 and 2, in squares, and beyond, and I between 0 and 2."""

    def regular(x: Number) -> Number:
        return mp.besseli(order, x) / x**order

    return {
        f"I{order}_INNER": between(0, 4, _squared(regular)),
        f"K{order}_SMALL": between(0, 4, _squared(lambda x: _decay_free(order, x))),
        f"K{order}_LARGE": between(0, 1, lambda h: _decay(order, h)),
    }


MODULES: Mapping[str, Mapping[str, Function]] = {
    "special_coefficients": SPECIAL,
    "bessel_coefficients": {**_waving(0), **_waving(1)},
    "modified_bessel_coefficients": {**_decaying(0), **_decaying(1)},
}


def main() -> None:
    """Print the module of tables that the command line names."""
    print('"""Polynomials of `fit_special_functions.py`: powers of t from -1 to 1, the lowest first."""\n')
    print("from __future__ import annotations\n\nfrom collections.abc import Mapping, Sequence\n")
    print("COEFFICIENTS: Mapping[str, Mapping[str, Sequence[float]]] = {")
    for name, g in MODULES[sys.argv[1]].items():
        print(f'    "{name}": {{')
        for precision, bound in PRECISIONS.items():
            print(f'        "{precision}": (')
            for c in fit(g, bound):
                print(f"            {float(c)!r},")
            print("        ),")
        print("    },")
    print("}")


if __name__ == "__main__":
    main()
