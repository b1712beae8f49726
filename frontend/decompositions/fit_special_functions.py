"""Derive the tables of `special_coefficients.py`.

    python -m tilewright.frontend.decompositions.fit_special_functions

Each function is reduced to a smooth `g(t)` on [-1, 1], interpolated at Chebyshev points in 60 digits, and cut
where the rest of its Chebyshev series is below the precision. Needs mpmath, which the compiler does not.
"""

from __future__ import annotations

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
    """As many powers as leave an error below `precision`, relative to the least value."""
    series = _series(g)
    least = min(abs(g(mp.mpf(i) / 20)) for i in range(-20, 21))
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


def _erfcx(t: Number) -> Number:
    """erfcx(x) (1 + 2 x) as a function of t = 1 - 2 m / (x + m)."""
    if t > 1 - mp.mpf("1e-12"):
        return 2 / mp.sqrt(mp.pi)
    x = 2 * ERFCX_MIDDLE / (1 - t) - ERFCX_MIDDLE
    if x < 2000:
        return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)
    return (1 - 1 / (2 * x * x) + 3 / (4 * x**4)) / (x * mp.sqrt(mp.pi)) * (1 + 2 * x)


FITS: Mapping[str, Function] = {
    "I0_SMALL": between(0, 8, lambda x: _bessel(0, x)),
    "I0_LARGE": between(0, 0.125, lambda u: _bessel_tail(0, u)),
    "I1_SMALL": between(0, 8, lambda x: _bessel(1, x)),
    "I1_LARGE": between(0, 0.125, lambda u: _bessel_tail(1, u)),
    "ERFINV_MIDDLE": between(0, 5, _erfinv),
    "ERFINV_OUTER": between(2.2, 6.2, lambda s: _erfinv(s * s)),
    "ERFINV_FAR": between(6.2, 27.4, lambda s: _erfinv(s * s)),
    "ERFCX": _erfcx,
}


def main() -> None:
    """Print the module of tables."""
    print('"""Polynomials of `fit_special_functions.py`: powers of t from -1 to 1, the lowest first."""\n')
    print("from __future__ import annotations\n\nfrom collections.abc import Mapping, Sequence\n")
    print("COEFFICIENTS: Mapping[str, Mapping[str, Sequence[float]]] = {")
    for name, g in FITS.items():
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
