"""Bits of numbers read as other numbers: kernels where both have 8, 32 or 64 bits, and what eager gives."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

import tilewright

PAIRS = ((torch.float32, torch.int32, 23, 127), (torch.float64, torch.int64, 52, 1023))
SPECIAL = (0.0, -0.0, 1.5, -2.75, torch.inf, -torch.inf, torch.nan, 1e-310, 1e-42, 3e38)
BOTH = pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
EACH = pytest.mark.parametrize(("floats", "integers", "mantissa", "bias"), PAIRS)

Program = Callable[..., Any]


def results(function: Program, *args: Any, target: str, fallbacks: int = 0) -> Any:
    """Compiled, with so many calls that ATen runs in place of kernels."""
    torch._dynamo.reset()
    found = tilewright.explain(function, *args, options={"target": target})
    assert found.fallbacks == fallbacks
    return found.result


def powers(x: Tensor, mantissa: int, bias: int, floats: torch.dtype, integers: torch.dtype) -> Tensor:
    """Two to the power of whole numbers, through the exponent, and the exponent of that."""
    power = ((x.to(integers) + bias) << mantissa).view(floats)
    return power * (power.view(integers) >> mantissa)


@BOTH
@EACH
def test_reads_bits(target: str, floats: torch.dtype, integers: torch.dtype, mantissa: int, bias: int):
    def function(x: Tensor, y: Tensor, n: Tensor) -> tuple[Tensor, ...]:
        last = torch.full((3,), 1, dtype=integers).view(floats)
        places = torch.arange(5, dtype=integers).view(floats)
        return x.view(integers) ^ 1, y.T.view(floats).abs(), n.view(integers) + 1, last, places

    x = torch.tensor(SPECIAL, dtype=floats)
    y = torch.arange(-6, 6, dtype=integers).reshape(3, 4) << 20
    args = (x, y, torch.tensor(-1.0, dtype=floats))
    for got, expected in zip(results(function, *args, target=target), function(*args), strict=True):
        assert got.dtype == expected.dtype
        assert torch.equal(got.view(integers), expected.view(integers))


@BOTH
@EACH
def test_powers_of_two(target: str, floats: torch.dtype, integers: torch.dtype, mantissa: int, bias: int):
    for shape in ((7, 9), (0, 3), ()):
        x = torch.randint(-20, 20, shape).to(floats)
        program = partial(powers, mantissa=mantissa, bias=bias, floats=floats, integers=integers)
        assert torch.equal(results(program, x, target=target), program(x))


@BOTH
def test_bits_are_changed_in_place(target: str):
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        y = x * 1.0
        bits = y.view(torch.int32)
        bits.bitwise_and_(-(1 << 16))
        return y, bits

    x = torch.randn(5, 7)
    for got, expected in zip(results(function, x, target=target), function(x), strict=True):
        assert torch.equal(got, expected)


@BOTH
def test_bytes_are_read_with_a_sign_and_without(target: str):
    def function(x: Tensor, y: Tensor, m: Tensor) -> tuple[Tensor, ...]:
        low = (x.view(torch.int8) << 4).view(torch.uint8) >> 4
        z = x + 1
        z.view(torch.int8).neg_()
        return (
            x.view(torch.int8) // 3,
            y.t().view(torch.uint8) / 3,
            low,
            z,
            m.view(torch.uint8) + 200,
            x.view(torch.int8),
        )

    x = torch.arange(256, dtype=torch.uint8).view(8, 32)
    args = (x, x.view(torch.int8).flip(1), x > 99)
    for got, expected in zip(results(function, *args, target=target), function(*args), strict=True):
        assert got.dtype == expected.dtype
        assert torch.equal(got, expected)


@BOTH
def test_bits_of_other_sizes_are_left_to_aten(target: str):
    def function(x: Tensor) -> tuple[Tensor, ...]:
        return x.view(torch.int16) + 1, x.float().view(torch.uint8) ^ 1

    x = torch.randn(5, 8).bfloat16()
    for got, expected in zip(results(function, x, target=target, fallbacks=2), function(x), strict=True):
        assert torch.equal(got, expected)
