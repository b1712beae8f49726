"""Graphs whose inputs and results are contiguous along different axes, against eager."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional as F

from tilewright.frontend.explain import explain

DTYPES = [
    torch.float32,
    torch.float64,
    torch.bfloat16,
    torch.float16,
    torch.int8,
    torch.uint8,
    torch.int16,
    torch.int32,
    torch.int64,
]


def sample(dtype: torch.dtype, *sizes: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    if dtype.is_floating_point:
        return torch.randn(sizes, generator=generator).to(dtype)
    return torch.randint(0, 50, sizes, generator=generator).to(dtype)


def agree(function: Callable[..., object], *inputs: torch.Tensor, dynamic: bool = False) -> None:
    torch.compiler.reset()
    compiled = torch.compile(function, backend="mlir", dynamic=dynamic)
    slack = 1e-2 if inputs[0].dtype in (torch.bfloat16, torch.float16) else 1e-6
    torch.testing.assert_close(compiled(*inputs), function(*inputs), rtol=slack, atol=slack)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_loads_and_stores_that_turn(dtype: torch.dtype) -> None:
    def both(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        z = x + y.t()
        return z, (z + y.t()).t().contiguous()

    agree(both, sample(dtype, 101, 75), sample(dtype, 75, 101))


@pytest.mark.parametrize("planes", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_planes_and_their_elements_in_turns(dtype: torch.dtype, planes: int) -> None:
    """Channels apart to channels last and back, with rows that are no whole number of vectors."""

    def turned(*xs: torch.Tensor) -> list[torch.Tensor]:
        last = [(x + x).movedim(1, -1).contiguous() for x in xs]
        return last + [(y + y).movedim(-1, 1).contiguous() for y in last]

    agree(turned, *(sample(dtype, 11, planes, length) for length in (5, 37, 391)))


@pytest.mark.parametrize("order", [(0, 2, 1), (2, 1, 0), (2, 0, 1), (1, 2, 0)], ids=str)
def test_permutations_of_three_axes(order: tuple[int, int, int]) -> None:
    sizes = [33, 9, 97]

    def fused(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return (x.permute(order) * y + z).relu()

    turned = [sizes[axis] for axis in order]
    agree(fused, sample(DTYPES[0], *sizes), sample(DTYPES[0], *turned), sample(DTYPES[0], turned[1], 1))


def test_strides_and_parts_of_inputs() -> None:
    x, y = sample(DTYPES[0], 80, 64), sample(DTYPES[0], 29, 80)
    agree(lambda x, y: x[:, 3:].t() + y, x[:, ::2], y)
    agree(lambda x, y: x[:, 35:].t() + y, x, y)


def test_running_sums_along_what_is_read_in_columns() -> None:
    agree(lambda x: torch.cumsum(x.t() * 2, 1), sample(torch.int32, 300, 200))
    agree(lambda x: torch.cumsum(x.t() * 2, 0), sample(torch.int32, 300, 200))


@pytest.mark.parametrize("dtype", [torch.int32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("sizes", [(37, 19), (3, 65, 8), (50, 1030)], ids=str)
def test_running_sums_of_rows(dtype: torch.dtype, sizes: tuple[int, ...]) -> None:
    """Whole numbers, which add up without rounding."""
    x = sample(torch.int32, *sizes).to(dtype) % 2
    agree(lambda x: torch.cumsum(x + 1, -1), x)
    agree(lambda x: x.cummax(-1)[0].flip(-2) + x, x)


def test_one_kernel_for_every_size() -> None:
    torch.compiler.reset()
    compiled = torch.compile(lambda x, y: x.t() * 2 + y, backend="mlir", dynamic=True)
    for rows, columns in ((50, 60), (129, 33), (16, 16), (7, 9)):
        x, y = sample(DTYPES[0], rows, columns), sample(DTYPES[0], columns, rows)
        torch.testing.assert_close(compiled(x, y), x.t() * 2 + y)


@pytest.mark.parametrize("target", ["gpu_emulated", "cpu_openmp"])
def test_rows_that_are_dealt_out_are_stored_once(target: str) -> None:
    """Where the kernel that makes them stores them: no other copies them for the product."""

    def function(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return F.pixel_unshuffle(x.sin(), 2).flatten(2) @ weight

    x, weight = sample(torch.float32, 2, 3, 10, 14), sample(torch.float32, 35, 6)
    found = explain(function, x, weight, options={"target": target})
    torch.testing.assert_close(found.result, function(x, weight), rtol=1e-4, atol=1e-4)
    (graph,) = found.graphs
    assert sum(graph.kernels.values()) == 1
