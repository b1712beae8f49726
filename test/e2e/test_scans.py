"""Running products, extremes with their positions, and sums of exponentials, against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from benchmarks.numerics import judge
from tilewright.frontend.explain import explain

FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
DTYPES = (*FLOATS, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
TARGETS = ("cpu_openmp", "gpu_emulated")


def along_each(x: Tensor) -> list[Tensor]:
    dims = range(max(1, x.dim()))
    found = [t for d in dims for t in (x.cumprod(d), *x.cummax(d), *x.cummin(d))]
    return [*found, *(x.logcumsumexp(d) for d in dims if x.dtype.is_floating_point)]


def numbers(*sizes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Few different ones: of equal elements the last is the position."""
    return torch.randint(-2, 3, sizes, generator=torch.Generator().manual_seed(0)).to(dtype)


def check(x: Tensor, target: str) -> None:
    found = explain(along_each, x, options={"target": target, "fallback": False})
    torch.testing.assert_close(found.result, along_each(x), equal_nan=True)
    assert not [call for graph in found.graphs for call in graph.library_calls]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(dtype: torch.dtype, target: str) -> None:
    x = numbers(5, 37, dtype=dtype)
    if dtype.is_floating_point:
        x[0, 3], x[0, 5], x[1, 3], x[2, :2], x[3, 7] = torch.nan, torch.nan, torch.inf, -torch.inf, -0.0
        x[1, 5:7], x[4, 3] = torch.inf, 300  # whose exponential is no number
    check(x.t(), target)


@pytest.mark.usefixtures("like_cuda")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("sizes", [(), (1,), (0, 4), (3, 0), (3, 4, 6), (2, 1300)], ids=str)
def test_sizes(sizes: tuple[int, ...], target: str) -> None:
    """Where ATen takes no long rows, and exponentials are f32."""
    check(numbers(*sizes), target)


def test_long_rows_on_cpus_are_left_to_aten() -> None:
    found = explain(lambda x: (*x.cummax(1), *x.cummin(0)), numbers(3, 129))
    assert [call for graph in found.graphs for call in graph.library_calls] == ["aten::cummax"]


def test_long_sums_and_products_on_cpus_are_as_near_as_those_of_aten() -> None:
    """ATen keeps f64 on the way, whose sums of thousands are right in the last place."""

    def function(x: Tensor) -> tuple[Tensor, ...]:
        return x.cumsum(1), x.cumsum(0) * 2, (1 + x / 8).cumprod(1), x[0].cumsum(0)

    x = torch.rand(201, 1501, generator=torch.Generator().manual_seed(0)) - 0.25
    found = explain(function, x, options={"fallback": False})
    verdict = judge(found.result, function(x), function(x.double()))
    assert verdict, verdict.why
    assert not [call for graph in found.graphs for call in graph.library_calls]


@pytest.mark.parametrize("target", TARGETS)
def test_gradients(target: str) -> None:
    def function(x: Tensor) -> Tensor:
        return (x.cumprod(1) * x.cummax(1).values + x.cummin(0).values + x.logcumsumexp(1)).tanh()

    x = torch.rand(7, 13, generator=torch.Generator().manual_seed(2)) + 0.5
    compiled: Any = torch.compile(function, backend="mlir", options={"target": target})
    gradients: list[Tensor | None] = []
    for call in (compiled, function):
        given = x.clone().requires_grad_()
        call(given).square().sum().backward()
        gradients.append(given.grad)
    torch.testing.assert_close(*gradients)


def around(x: Tensor) -> tuple[Tensor, ...]:
    """Reductions before and behind, rows and columns."""
    sums = x.softmax(1).cumsum(1)
    first = (sums > 0.5).int().argmax(1)
    return sums.log(), (sums * x).sum(1), first, x.cumsum(0) * 2 - x, x.exp().logcumsumexp(0).relu()


@pytest.mark.parametrize(
    ("sizes", "kernels"), [((64, 301), 1), ((65, 17001), 2), ((3, 20001), None)], ids=str
)
def test_what_stands_around_scans_joins_them_on_gpus(sizes: tuple[int, int], kernels: int | None) -> None:
    torch._dynamo.reset()  # or sizes that differ from those before would be symbols
    x = torch.randn(sizes, generator=torch.Generator().manual_seed(0)) / 4
    found = explain(around, x, options={"target": "gpu_emulated", "fallback": False})
    torch.testing.assert_close(found.result, around(x), rtol=1e-5, atol=1e-5)
    if kernels is not None:
        assert [sum(graph.kernels.values()) for graph in found.graphs] == [kernels]


def test_extremes_so_far_of_nothing_along_no_dimension() -> None:
    """ATen takes any dimension of a tensor without elements, and so must who calls it."""
    torch._dynamo.reset()
    empty = torch.empty(1, 0)
    found = torch.compile(lambda x: x.cummin(2), backend="mlir")(empty)
    assert [part.shape for part in found] == [empty.shape, empty.shape]
