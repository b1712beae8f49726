"""Functions that torch has and NumPy lacks, on either."""

from __future__ import annotations

import math
from collections.abc import Callable

from .arrays import Array, Arrays


def erf(arrays: Arrays, x: Array) -> Array:
    return _computed(arrays, x, math.erf) if arrays.is_numpy else arrays.xp.erf(x)


def erfc(arrays: Arrays, x: Array) -> Array:
    return _computed(arrays, x, math.erfc) if arrays.is_numpy else arrays.xp.erfc(x)


def lgamma(arrays: Arrays, x: Array) -> Array:
    return _computed(arrays, x, _lgamma) if arrays.is_numpy else arrays.xp.lgamma(x)


def _computed(arrays: Arrays, x: Array, function: Callable[[float], float]) -> Array:
    """Python's function, element by element; NumPy's `vectorize` wants at least one."""
    return arrays.xp.vectorize(function, otypes=[x.dtype])(x) if x.size else x


def _lgamma(x: float) -> float:
    """Python's raises at the poles and where the result overflows."""
    if x <= 0 and (math.isinf(x) or x == math.floor(x)):
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf
