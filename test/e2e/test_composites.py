"""Operators that are written out with others: rolls, searches in short rows, random numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tilewright.frontend.explain import explain

TARGETS = ("cpu_openmp", "gpu_emulated")
INF, NAN = float("inf"), float("nan")


def numbers(*sizes: int) -> Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(0))


COUNTED = int((numbers(5, 7)[0] * 2).long().abs().sum())


def rolls(x: Tensor) -> tuple[Tensor, ...]:
    return (
        x.roll(1, 0) + x.roll(-1, 1) * x,
        x.roll(5),
        x.roll((2, -30), (0, -1)).sin(),
        x.roll(0, 0),
        x[:0].roll(1, 0),
        x[0, 0].roll(3),
        x.bool().roll(1, 1),
    )


def searches(x: Tensor) -> tuple[Tensor, ...]:
    bounds, rows = torch.linspace(-2, 2, 9), torch.linspace(-2, 2, 39).view(3, 13)
    x = torch.cat([x.reshape(-1), bounds, torch.tensor([INF, -INF, NAN])])
    return (
        torch.bucketize(x, bounds),
        torch.bucketize(x, bounds, right=True, out_int32=True),
        torch.bucketize((x * 2).nan_to_num(0.0, 5.0, -5.0).int(), bounds),
        torch.bucketize(x, torch.arange(-3, 4)),
        torch.bucketize(0.3, bounds),
        torch.searchsorted(rows, x[:30].view(3, 10), side="right"),
        torch.searchsorted(bounds[:0], x),
        torch.searchsorted(bounds, x.double()),
    )


def long_searches(x: Tensor) -> tuple[Tensor, ...]:
    """By halves: in rows of more numbers than are compared with each value."""
    bounds, rows = torch.linspace(-2, 2, 129), torch.linspace(-2, 2, 300).view(3, 100)
    mixed = x[:3].repeat(1, 10).cumsum(1)
    x = torch.cat([x.reshape(-1), bounds[::9], torch.tensor([INF, -INF, NAN])])
    return (
        torch.bucketize(x, bounds),
        torch.bucketize(x, bounds[:127], right=True, out_int32=True),
        torch.bucketize(
            (x * 20).nan_to_num(0.0, 500.0, -500.0).int(), torch.arange(-99, 99, dtype=torch.int32)
        ),
        torch.bucketize(0.3, bounds),
        torch.searchsorted(rows, x[:30].view(3, 10), side="right"),
        torch.searchsorted(mixed, x[:30].view(3, 10), sorter=mixed.argsort(stable=True, dim=-1)),
    )


def places(x: Tensor) -> tuple[Tensor, ...]:
    """Of what is not zero, as many as are asked for."""
    return (
        torch.nonzero_static(x > 0, size=40),
        torch.nonzero_static(x.relu(), size=3, fill_value=7),
        torch.nonzero_static(x.view(5, 7, 1) < 0, size=9),
        torch.nonzero_static(x[:0], size=2),
        torch.nonzero_static(x[0, 0], size=2),
        torch.nonzero_static(x[0], size=0),
    )


def repeats(x: Tensor) -> tuple[Tensor, ...]:
    """Each row so often as is said of it, which adds up to what is said of all."""
    counts, many = (x[0] * 2).long().abs(), (torch.arange(90, dtype=torch.int32) * 7) % 3
    return (
        x.repeat_interleave(counts, 1, output_size=COUNTED),
        torch.repeat_interleave(counts, output_size=COUNTED),
        torch.repeat_interleave(many, output_size=90),
        x[1, :1].repeat_interleave(torch.tensor([3]), output_size=3),
        x.repeat_interleave(counts[:1] * 0, output_size=0),
        x[:0].repeat_interleave(counts[:0], 0, output_size=0),
    )


@pytest.mark.filterwarnings("ignore:torch.searchsorted:UserWarning")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", [rolls, searches, long_searches, places, repeats])
def test_as_in_eager(function: Callable[[Tensor], tuple[Tensor, ...]], target: str) -> None:
    torch._dynamo.reset()
    found = explain(function, numbers(5, 7), options={"target": target, "fallback": False})
    assert not any(graph.library_calls for graph in found.graphs)
    for got, want in zip(found.result, function(numbers(5, 7)), strict=True):
        torch.testing.assert_close(got, want, equal_nan=True)


def test_blocks_of_a_diagonal_have_the_dtype_of_those_with_dimensions() -> None:
    """Unless all have none: a number decides on no dtype of its kind."""

    def function(x: Tensor) -> tuple[Tensor, ...]:
        words, bytes_ = (x * 9).long(), (x * 9).to(torch.int8)
        return (
            torch.block_diag(words[0, 0], bytes_[0]),
            torch.block_diag(bytes_, words[1, 1], x[:2] > 0),
            torch.block_diag(bytes_[0, 0], words[0, 0]),
            torch.block_diag(x.half()[0, 0], words, x.bfloat16()[1, 1]),
            torch.block_diag(x[0, 0], words, x[:0]),
        )

    for target in TARGETS:
        torch._dynamo.reset()
        found = explain(function, numbers(5, 7), options={"target": target, "fallback": False})
        for got, want in zip(found.result, function(numbers(5, 7)), strict=True):
            torch.testing.assert_close(got, want)


def test_a_roll_is_a_subscript() -> None:
    """Neither positions nor what stands twice behind itself are stored."""

    def function(x: Tensor) -> Tensor:
        x = torch.softmax(x, 1).roll((1, 2), (0, 1))
        return x.view(4, 2, 3, 3).transpose(1, 2).reshape(12, 6).sin()

    torch._dynamo.reset()
    found = explain(function, numbers(8, 9), options={"target": "gpu_emulated", "fallback": False})
    torch.testing.assert_close(found.result, function(numbers(8, 9)))
    assert found.kernels == 2


def test_a_search_is_one_kernel() -> None:
    """Its steps read what they found so far twice, and are counted once."""
    torch._dynamo.reset()
    found = explain(
        torch.bucketize, numbers(50), numbers(9999).sort().values, options={"target": "gpu_emulated"}
    )
    assert torch.equal(found.result, torch.bucketize(numbers(50), numbers(9999).sort().values))
    assert found.kernels == 1


def test_a_length_that_is_a_symbol() -> None:
    def function(x: Tensor) -> Tensor:
        return torch.bucketize(x, x.sort().values)

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="mlir", dynamic=True, options={"target": "cpu_openmp"})
    for count in (70, 5, 129):
        assert torch.equal(compiled(numbers(count)), function(numbers(count)))


@pytest.mark.parametrize("target", TARGETS)
def test_random_numbers_have_their_distribution(target: str) -> None:
    def function(x: Tensor, scale: Tensor) -> tuple[Tensor, ...]:
        return (
            torch.empty_like(x).exponential_(2.0),
            torch.empty_like(x).uniform_(-1, 3),
            (torch.normal(x, 2.0) - x) / 2,
            (torch.normal(1.0, scale) - 1) / scale,
            (torch.normal(x, scale) - x) / scale,
            (torch.empty_like(x).normal_(3.0, 0.5) - 3) * 2,
            F.gumbel_softmax(x.view(40, 100), tau=0.5),
        )

    torch._dynamo.reset()
    torch.manual_seed(0)
    compiled = torch.compile(function, backend="mlir", options={"target": target, "fallback": False})
    x = numbers(4000)
    exponential, uniform, *normals, gumbel = compiled(x, x.abs() + 0.5)
    assert exponential.min() > 0
    assert abs(exponential.mean() - 0.5) < 0.05
    assert abs(exponential.std() - 0.5) < 0.05
    assert uniform.min() >= -1
    assert uniform.max() < 3
    assert abs(uniform.mean() - 1) < 0.1
    assert abs(uniform.var() - 16 / 12) < 0.1
    for normal in normals:
        assert abs(normal.mean()) < 0.1
        assert abs(normal.std() - 1) < 0.1
    torch.testing.assert_close(gumbel.sum(1), torch.ones(40))


def test_a_choice_of_two_numbers_is_a_position() -> None:
    """Triton gives two literals 32 bits, whatever reads them."""

    def function(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return y[torch.where(x > 0, 8, 3)], torch.where(x > 0, 0.1, 0.3).double() * y.double()[0]

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="mlir", options={"target": "gpu_emulated", "fallback": False})
    torch.testing.assert_close(compiled(numbers(20), numbers(9)), function(numbers(20), numbers(9)))
