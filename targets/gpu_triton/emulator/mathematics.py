"""Elementwise functions of `tl`, `tl.math` and libdevice.

f32 functions compute in f32 with torch's correctly or nearly correctly rounded versions; the
hardware's approximations (`ex2.approx` and the like) are within the same tolerances.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from .casts import unsigned_less, widened
from .division import exact_fmod
from .dtypes import BadText, DType, float32, float64, int1, int32
from .values import Value, aligned, as_value, converted, operands, true_division

Tensor = torch.Tensor
_special: Any = torch.special


def _halves(name: str, value: Value, allowed: tuple[DType, ...] = (float32, float64)) -> None:
    if value.dtype not in allowed:
        raise BadText(f"{name} of {value.dtype}")


def unary(name: str, function: Callable[[Tensor], Tensor]) -> Callable[[Any], Value]:
    """A function of f32 or f64, as Triton checks them."""

    def call(x: Any) -> Value:
        value = as_value(x)
        _halves(name, value)
        return Value(function(value.data), value.dtype)

    return call


def predicate(name: str, function: Callable[[Tensor], Tensor]) -> Callable[[Any], Value]:
    """libdevice's tests give an int32."""

    def call(x: Any) -> Value:
        value = as_value(x)
        _halves(name, value)
        return Value(function(value.data).to(torch.int32), int32)

    return call


def binary(name: str, function: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Any, Any], Value]:
    def call(x: Any, y: Any) -> Value:
        left, right = operands(x, y)
        _halves(name, left)
        return Value(function(left.data, right.data), left.dtype)

    return call


def absolute(x: Any) -> Value:
    value = as_value(x)
    if value.dtype.kind in ("uint", "bool"):
        return value
    return Value(value.data.abs(), value.dtype)


def fused_multiply_add(x: Any, y: Any, z: Any) -> Value:
    """One rounding: f32 in f64 is exact enough, f64 has two roundings here."""
    a, b = operands(x, y)
    a, c = operands(a, z)
    b = converted(b, a.dtype)
    a, b, c = aligned(a, b, c)
    if a.dtype.floating and a.dtype != float64:
        wide = a.data.double() * b.data.double() + c.data.double()
        return Value(wide.to(a.dtype.payload), a.dtype)
    return Value(a.data * b.data + c.data, a.dtype)


def multiply_high(x: Any, y: Any) -> Value:
    """The upper half of the product of two integers without sign."""
    left, right = operands(x, y)
    dtype = left.dtype
    if dtype.bits == 32 and dtype.integer:
        mask = (1 << 32) - 1
        product = (left.data.to(torch.int64) & mask) * (right.data.to(torch.int64) & mask)
        return Value(((product >> 32) & mask).to(torch.int32), dtype)
    if dtype.bits != 64 or not dtype.integer:
        raise BadText(f"umulhi of {dtype}")
    return Value(_high_of_64(left.data, right.data), dtype)


def _high_of_64(a: Tensor, b: Tensor) -> Tensor:
    mask = (1 << 32) - 1
    a0, a1, b0, b1 = a & mask, (a >> 32) & mask, b & mask, (b >> 32) & mask
    low, first, second = a0 * b0, a1 * b0, a0 * b1
    middle = first + ((low >> 32) & mask)
    carry = unsigned_less(middle, first)
    middle_low = (middle & mask) + second
    over = unsigned_less(middle_low, second)
    upper = ((middle >> 32) & mask) + (carry.to(torch.int64) << 32)
    return a1 * b1 + upper + ((middle_low >> 32) & mask) + (over.to(torch.int64) << 32)


def _extreme(name: str, x: Any, y: Any, propagate_nan: str | None) -> Value:
    left, right = operands(x, y)
    a, b = left.data, right.data
    if left.dtype.floating:
        with_nan, without = (torch.maximum, torch.fmax) if name == "max" else (torch.minimum, torch.fmin)
        return Value((with_nan if propagate_nan == "all" else without)(a, b), left.dtype)
    if left.dtype == int1:
        return Value(a | b if name == "max" else a & b, int1)
    first = widened(a, left.dtype), widened(b, left.dtype)
    less = unsigned_less(*first) if left.dtype.kind == "uint" else first[0] < first[1]
    return Value(torch.where(less, b, a) if name == "max" else torch.where(less, a, b), left.dtype)


def maximum(x: Any, y: Any, propagate_nan: str | None = None) -> Value:
    """Where one is NaN, the other, unless NaN is to propagate."""
    return _extreme("max", x, y, propagate_nan)


def minimum(x: Any, y: Any, propagate_nan: str | None = None) -> Value:
    """Where one is NaN, the other, unless NaN is to propagate."""
    return _extreme("min", x, y, propagate_nan)


def clamp(x: Any, min: Any, max: Any, propagate_nan: str | None = None) -> Value:
    return minimum(maximum(x, min, propagate_nan), max, propagate_nan)


def where(condition: Any, x: Any, y: Any) -> Value:
    chosen = converted(as_value(condition), int1)
    left, right = operands(x, y)
    chosen, left, right = aligned(chosen, left, right)
    return Value(torch.where(chosen.data, left.data, right.data), left.dtype)


def sigmoid(x: Any) -> Value:
    return true_division(1, 1 + TL["exp"](-as_value(x)))


def ceil_div(x: Any, div: Any) -> Any:
    return (x + (div - 1)) // div


def divide(x: Any, y: Any, ieee_rounding: bool = False, approx: bool = False) -> Value:
    return true_division(x, y)


TL: Mapping[str, Callable[..., Any]] = {
    **{name: unary(name, getattr(torch, name)) for name in ("exp", "exp2", "log", "log2", "cos", "sin")},
    **{name: unary(name, getattr(torch, name)) for name in ("sqrt", "erf", "floor", "ceil")},
    "rsqrt": unary("rsqrt", torch.rsqrt),
    "sqrt_rn": unary("sqrt_rn", torch.sqrt),
    "abs": absolute,
    "fma": fused_multiply_add,
    "umulhi": multiply_high,
    "fdiv": divide,
    "div_rn": divide,
    "cdiv": ceil_div,
    "sigmoid": sigmoid,
    "maximum": maximum,
    "minimum": minimum,
    "clamp": clamp,
    "where": where,
}
"""Functions of `tl` that also stand in `tl.math`."""


def _round_away(x: Tensor) -> Tensor:
    """C's `round`: halves go away from zero."""
    whole = x.trunc()
    return torch.where((x - whole).abs() >= 0.5, whole + x.sign(), whole).copysign(x)


_SAME = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "asin"),
    *("acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "floor"),
    *("ceil", "trunc", "lgamma"),
)


LIBDEVICE: Mapping[str, Callable[..., Any]] = {
    **{name: unary(name, getattr(torch, name)) for name in _SAME},
    "round": unary("round", _round_away),
    "rint": unary("rint", torch.round),
    "nearbyint": unary("nearbyint", torch.round),
    "abs": absolute,
    "fabs": absolute,
    "isnan": predicate("isnan", torch.isnan),
    "isinf": predicate("isinf", torch.isinf),
    "isfinited": predicate("isfinited", torch.isfinite),
    "finitef": predicate("finitef", torch.isfinite),
    "signbit": predicate("signbit", torch.signbit),
    "j0": unary("j0", _special.bessel_j0),
    "j1": unary("j1", _special.bessel_j1),
    "y0": unary("y0", _special.bessel_y0),
    "y1": unary("y1", _special.bessel_y1),
    "cyl_bessel_i0": unary("cyl_bessel_i0", _special.i0),
    "cyl_bessel_i1": unary("cyl_bessel_i1", _special.i1),
    "normcdf": unary("normcdf", _special.ndtr),
    "normcdfinv": unary("normcdfinv", _special.ndtri),
    "pow": binary("pow", torch.pow),
    "atan2": binary("atan2", torch.atan2),
    "fmod": binary("fmod", exact_fmod),
    "copysign": binary("copysign", torch.copysign),
    "hypot": binary("hypot", torch.hypot),
    "nextafter": binary("nextafter", torch.nextafter),
    "div_rn": binary("div_rn", torch.div),
    "fma": fused_multiply_add,
}
"""Functions of `triton.language.extra.libdevice`."""
