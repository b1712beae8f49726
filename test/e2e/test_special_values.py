"""NaN, infinities, both zeros, subnormals and the limits of each type, through every function.

A result is right where it is NaN, infinite or of a sign as eager's or as the exact result's
(eager itself overflows early or flushes subnormals in places), and else within a few ulp.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

Function = Callable[..., Any]

UNARY: dict[str, Function] = {
    name: getattr(torch, name)
    for name in (
        "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh tanh"
        " asinh acosh atanh erf erfc lgamma sigmoid floor ceil round trunc frac neg abs sign sgn relu square"
        " signbit isnan isinf isfinite isposinf isneginf nan_to_num logit sinc angle logical_not"
    ).split()
} | {
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "mish": F.mish,
    "softplus": F.softplus,
    "elu": F.elu,
    "selu": F.selu,
    "relu6": F.relu6,
    "leaky_relu": F.leaky_relu,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "logsigmoid": F.logsigmoid,
    "clamp": lambda x: x.clamp(-1, 1),
    "clamp_min": lambda x: x.clamp(min=0.0),
    "clamp_max": lambda x: x.clamp(max=0.0),
    "square_root_by_pow": lambda x: x**0.5,
    "cube": lambda x: x**3,
    "inverse": lambda x: x**-1,
    "to_int32": lambda x: x.to(torch.int32),
    "to_int8": lambda x: x.to(torch.int8),
    "to_uint8": lambda x: x.to(torch.uint8),
    "to_bool": lambda x: x.to(torch.bool),
    "to_bfloat16": lambda x: x.to(torch.bfloat16),
    "to_float16": lambda x: x.to(torch.float16),
}
BINARY: dict[str, Function] = {
    name: getattr(torch, name)
    for name in (
        "add sub mul div atan2 copysign fmod remainder floor_divide pow maximum minimum fmax fmin hypot eq ne"
        " lt le gt ge xlogy heaviside logaddexp logaddexp2"
    ).split()
} | {
    "div_trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "where": lambda x, y: torch.where(x > y, x, y),
}
FREE_SIGN = {"maximum", "minimum", "fmax", "fmin"}  # of zeros: eager's vectors and tails disagree
CANCELLING = {"gelu_tanh", "logaddexp", "logaddexp2"}  # small differences of rounded numbers, in eager too
INTEGER_UNARY = ("neg", "abs", "sign", "bitwise_not", "logical_not", "signbit", "square")
INTEGER_BINARY = (
    "add sub mul fmod remainder floor_divide maximum minimum fmax fmin eq ne lt le gt ge bitwise_and"
    " bitwise_or bitwise_xor"
).split()


def values(dtype: torch.dtype) -> Tensor:
    info = torch.finfo(dtype)
    limits = [info.max, info.tiny, info.tiny / 4, info.tiny * info.eps, info.eps, info.max / 2]
    edges = [1 + info.eps, 1 - info.eps, 0.5, 1.5, 2.5, 3.0, math.pi, 5.0, 9.0, 10.0, 88.7, 103.9, 709.0]
    large = [1e3, 1e4, 1e6, 3e9, 1e10, 1e-3, 1e-5, 1e-10]
    positive = [0.0, 1.0, 2.0, *limits, *edges, *large, math.inf]
    return torch.tensor([*positive, *(-v for v in positive), math.nan], dtype=torch.float64).to(dtype)


def pairs(x: Tensor) -> tuple[Tensor, Tensor]:
    a, b = torch.meshgrid(x, x, indexing="ij")
    return a.flatten().contiguous(), b.flatten().contiguous()


def compiled(function: Function, *args: Tensor) -> Any:
    torch._dynamo.reset()
    return torch.compile(function, backend="mlir", dynamic=False, fullgraph=True)(*args)


def same_class(got: Tensor, want: Tensor, *, signs: bool) -> Tensor:
    """Where both are NaN, or both infinite or both finite, and of one sign."""
    same = (got.isnan() == want.isnan()) & (got.isinf() == want.isinf())
    return same & (got.isnan() | (got.signbit() == want.signbit())) if signs else same


def bad(name: str, got: Tensor, want: Tensor, truth: Tensor) -> Tensor:
    """Which elements are wrong."""
    assert got.dtype == want.dtype, name
    if not want.is_floating_point():
        return got != want
    exact, rounded = truth.double(), truth.to(want.dtype)
    eps, tiny = torch.finfo(want.dtype).eps, torch.finfo(want.dtype).tiny
    signs = name not in FREE_SIGN
    ok = same_class(got, want, signs=signs) | same_class(got, rounded, signs=signs)
    scale = torch.stack([exact.abs(), want.double().abs(), torch.full_like(exact, tiny)]).amax(0)
    error = (got.double() - exact).abs() / scale
    theirs = (want.double() - exact).abs() / scale
    allowed = torch.maximum(torch.full_like(error, (1024 if name in CANCELLING else 8) * eps), 3 * theirs)
    close = (error <= allowed) | ((got.double() - want.double()).abs() <= allowed * scale)
    finite = got.isfinite() & want.isfinite() & exact.isfinite()
    return ~ok | (finite & ~close)


def defined(name: str, a: Tensor, b: Tensor) -> Tensor:
    """Where eager is a reference: its vectors flush subnormals in places, fmod overflows in the quotient.

    A logarithm of 1 is its rounding error.
    """
    subnormal = [(t != 0) & (t.abs() < torch.finfo(t.dtype).tiny) for t in (a, b)]
    if name in ("fmod", "remainder", "floor_divide"):
        return ~subnormal[1] & ~((a / b).isinf() & a.isfinite() & (b != 0))
    if name in ("log1p", "logaddexp", "logaddexp2"):
        power = torch.exp2 if name == "logaddexp2" else torch.exp
        one = (power(a) + power(b) - 1).abs() < 4 * torch.finfo(a.dtype).eps
        return ~subnormal[0] & ~subnormal[1] & ~(one if name != "log1p" else torch.zeros_like(one))
    return torch.ones_like(a, dtype=torch.bool)


def report(name: str, wrong: Tensor, got: Tensor, want: Tensor, *operands: Tensor) -> list[str]:
    return [
        f"{name}({', '.join(str(t[i].item()) for t in operands)}) = {got[i].item()}, eager {want[i].item()}"
        for i in wrong.nonzero().flatten().tolist()[:4]
    ]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_unary_functions(dtype: torch.dtype) -> None:
    x = values(dtype)
    results = compiled(lambda x: [f(x) for f in UNARY.values()], x)
    found: list[str] = []
    for (name, function), got in zip(UNARY.items(), results, strict=True):
        want, truth = function(x), function(x.double())
        wrong = bad(name, got, want, truth) & defined(name, x, x)
        found += report(name, wrong, got, want, x)
    assert found == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_binary_functions(dtype: torch.dtype) -> None:
    a, b = pairs(values(dtype))
    results = compiled(lambda a, b: [f(a, b) for f in BINARY.values()], a, b)
    found: list[str] = []
    for (name, function), got in zip(BINARY.items(), results, strict=True):
        want, truth = function(a, b), function(a.double(), b.double())
        wrong = bad(name, got, want, truth) & defined(name, a, b)
        found += report(name, wrong, got, want, a, b)
    assert found == []


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8], ids=str)
def test_integers_at_their_limits(dtype: torch.dtype) -> None:
    info = torch.iinfo(dtype)
    some = {
        info.min,
        info.min + 1,
        info.max,
        info.max - 1,
        0,
        1,
        2,
        3,
        7,
        *([-1, -2, -3, -7] if info.min else []),
    }
    x = torch.tensor(sorted(some), dtype=dtype)
    a, b = pairs(x)
    keep = (b != 0) & ~((a == info.min) & (b == -1))  # both trap in eager
    a, b = a[keep], b[keep]

    def function(x: Tensor, a: Tensor, b: Tensor) -> Any:
        return [getattr(torch, n)(x) for n in INTEGER_UNARY], [
            getattr(torch, n)(a, b) for n in INTEGER_BINARY
        ]

    got, want = compiled(function, x, a, b), function(x, a, b)
    found: list[str] = []
    for name, have, expected in zip(INTEGER_UNARY, got[0], want[0], strict=True):
        found += report(name, have != expected, have, expected, x)
    for name, have, expected in zip(INTEGER_BINARY, got[1], want[1], strict=True):
        found += report(name, have != expected, have, expected, a, b)
    assert found == []


def test_saturation_is_exact() -> None:
    """0.5 x (1 + erf(x / sqrt 2)) is 0 far to the left only if erf is exactly -1 there."""
    x = -torch.logspace(1, 30, 64)
    got = compiled(lambda x: (F.gelu(x), F.gelu(x, approximate="tanh"), x.erf(), x.tanh()), x)
    assert [t.abs().max().item() for t in got[:2]] == [0, 0]
    assert all((t == -1).all() for t in got[2:])


def test_bytes_are_widened_without_a_sign() -> None:
    """The C++ compiler may narrow what is computed between widening and narrowing, if it does so rightly."""

    def function(x: Tensor) -> list[Tensor]:
        wide = x.int()
        made = [wide.abs(), -wide, wide.clamp(min=100), wide >> 1, wide // 3, wide * 3, (wide - 100).abs()]
        return [x.abs(), *(each.to(torch.uint8) for each in made)]

    x = torch.arange(256, dtype=torch.uint8)
    for got, want in zip(compiled(function, x), function(x), strict=True):
        assert torch.equal(got, want)
