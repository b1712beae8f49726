"""Halves round as in eager where the program asks for it and where they decide, also inside one kernel."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from benchmarks.numerics import rmse

FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


def compiled(function: Any, **how: Any) -> Any:
    torch.compiler.reset()
    return torch.compile(function, backend="mlir", options={"fallback": False}, **how)


@pytest.mark.parametrize("between", FLOATS, ids=str)
@pytest.mark.parametrize("around", FLOATS, ids=str)
def test_there_and_back(around: torch.dtype, between: torch.dtype) -> None:
    """Nothing but conversions, negation and absolute values: the results are the same numbers."""

    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        return -x.to(between).to(around), (x.abs().to(between) - x.abs()).to(around)

    x = torch.linspace(-3, 900, 77, dtype=torch.float64).reshape(7, 11).to(around)[:, ::2]
    torch.testing.assert_close(compiled(function)(x), function(x), rtol=0, atol=0)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16], ids=str)
def test_integers_by_way_of_halves(half: torch.dtype) -> None:
    def function(x: Tensor) -> Tensor:
        return x.to(half).long() + torch.arange(77).to(half).int()

    x = torch.arange(2000, 2077)
    assert torch.equal(compiled(function)(x), function(x))


def test_a_check_sees_the_rounded_index() -> None:
    """1003 is 1004 in bf16."""

    def function(x: Tensor) -> Tensor:
        return x[torch.arange(len(x)).bfloat16().long()]

    found = compiled(function)
    assert torch.equal(found(torch.arange(1003.0)), function(torch.arange(1003.0)))
    with pytest.raises(IndexError):
        found(torch.arange(1004.0))


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16], ids=str)
def test_nothing_leaves_the_domain_of_a_function(half: torch.dtype) -> None:
    """A number times its rounded inverse is 1 as a half in most places, and more than 1 in f32 in many."""

    def function(x: Tensor, inverse: Tensor, same: Tensor) -> tuple[Tensor, ...]:
        one = x * inverse
        return (
            one.acos(),
            one.asin(),
            one.atanh(),
            one.acosh(),
            (x * same - x * x).sqrt(),
            (x * same - x * x).log(),
        )

    x = torch.linspace(0.01, 3, 333).to(half)
    inputs = x, 1 / x, x.clone()
    assert (x.float() * inputs[1].float() > 1).any()
    for found, wanted in zip(compiled(function)(*inputs), function(*inputs), strict=True):
        assert torch.equal(found.isnan(), wanted.isnan())


def test_written_into_a_half() -> None:
    def function(x: Tensor) -> Tensor:
        y = torch.empty(x.shape, dtype=torch.bfloat16)
        y.copy_(x)
        return y.float() * 3

    x = torch.linspace(0, 1, 33)
    torch.testing.assert_close(compiled(function)(x), function(x), rtol=0, atol=0)


def test_gradients_round_where_values_do() -> None:
    def function(x: Tensor) -> Tensor:
        return (x.bfloat16().float() * torch.linspace(1, 2, 33)).sum()

    grads: list[Tensor | None] = []
    for run in (function, compiled(function)):
        x = torch.linspace(0, 1, 33, requires_grad=True)
        run(x).backward()
        grads.append(x.grad)
    torch.testing.assert_close(grads[1], grads[0], rtol=0, atol=0)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16], ids=str)
def test_what_decides_is_rounded(half: torch.dtype) -> None:
    """Some products are 70000 and more, which is infinite in f16; many are equal as halves."""

    def function(a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
        y, s = a * b, a + b
        top = y.amax(-1, keepdim=True)
        return (
            y == top, top, y.isinf(), s.argmax(1), s.long(), s.bool(), s > a, s.floor(), s.round(), s.sign(),
            s.remainder(3), torch.floor_divide(s, 3), torch.where(y.isnan(), 0, y).sort(1).indices[:, :0],
        )  # fmt: skip

    torch.manual_seed(0)
    a, b = ((torch.randn(64, 33) * 200).to(half) for _ in range(2))
    torch.testing.assert_close(compiled(function)(a, b), function(a, b), rtol=0, atol=0)


@pytest.mark.parametrize("target", ["auto", "reference", "gpu_emulated"])
@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16], ids=str)
def test_numbers_are_halves_beside_halves(half: torch.dtype, target: str) -> None:
    """`half(0.1) == 0.1`, as eager compares; 2049 is 2048 as either half, and 1e5 an infinity as f16."""
    numbers = (0.1, -1 / 3, 1e-8, 2049, 1e5)

    def function(x: Tensor) -> tuple[Tensor, ...]:
        found = [(x == n, x != n, x < n, x <= n, x > n, x >= n) for n in numbers]
        return *(made for six in found for made in six), torch.where(x.clamp(max=0.1) == 0.1, 1, x)

    x = torch.tensor([0.0, 6e4, -7.0, *numbers], dtype=torch.float64).to(half)
    how = {"target": target, "fallback": False}
    torch.compiler.reset()
    for got, want in zip(torch.compile(function, backend="mlir", options=how)(x), function(x), strict=True):
        assert torch.equal(got, want)


def test_numbers_too_large_are_infinities() -> None:
    def function(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return x < 1e39, x - 1e39, torch.where(y > 0, y, -1e5), y.half() == 1e5

    args = torch.tensor([0.0, -torch.inf, 3e38]), torch.tensor([1.0, 0.0, 6e4, torch.inf]).half()
    for got, want in zip(compiled(function)(*args), function(*args), strict=True):
        assert torch.equal(got, want)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("size", [1, 3, 16, 37, 1000])
def test_products_are_rounded_before_they_are_added(dtype: torch.dtype, size: int) -> None:
    """A fused multiply-add would leave what one product loses, of either sign: NaN as a square root."""

    def function(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        e = x.exp()
        return (
            (x * x - y * y).sqrt(), x * 0.1 - y * 0.1, -(x * y) + y * x, 2 * x * y - x * y * 2,
            e * x - (y.exp() * y), torch.where(x > 0.5, x * x, 0) - torch.where(y > 0.5, y * y, 0),
            (x * x - y * y).sum(), x * y - torch.addcmul(torch.zeros_like(x), x, y),
        )  # fmt: skip

    x = torch.rand(size, dtype=dtype)
    for result in compiled(function)(x, x.clone()):
        assert torch.count_nonzero(result) == 0


def test_elementwise_arithmetic_is_that_of_eager() -> None:
    """Sums, differences, products and quotients round in one way only."""

    def function(x: Tensor, y: Tensor) -> Tensor:
        return ((x * y + x) * 3 - y / 7 + (x * x + y * y)) * x - 1 / (y + 2) + x * y * y

    x, y = torch.rand(2, 1003)
    assert torch.equal(compiled(function)(x, y), function(x, y))


@pytest.mark.parametrize("columns", [16, 70])
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_errors_of_long_sums_do_not_pile_up(dynamic: bool, columns: int) -> None:
    """Sums of 9000 blocks of 64 rows one after the other would be five times as far off as eager's."""

    def function(x: Tensor) -> Tensor:
        return x.sum(0)

    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    x = torch.randn(600_001, columns)
    if dynamic:
        torch._dynamo.mark_dynamic(x, 0)
    exact = function(x.double())
    assert rmse(compiled(function)(x), exact) <= 2 * rmse(function(x), exact)


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.parametrize("rows", [1, 4])
def test_what_is_left_of_a_long_sum_is_no_small_addend(rows: int, target: str) -> None:
    """Numbers close together behind the last whole block, which were added to all before them one by one."""
    torch.compiler.reset()
    program = torch.compile(lambda x: x.sum(-1), backend="mlir", options={"target": target})
    for length in (20_000, 99_999, 1_000_001):
        noise = torch.randn(rows, length, generator=torch.Generator().manual_seed(length))
        x = 100.3 + 1e-4 * noise
        exact = x.double().sum(-1)
        assert ((program(x) - exact).abs() <= 8e-7 * exact).all()
