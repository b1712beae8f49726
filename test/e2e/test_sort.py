"""Sorting rows by kernels of CPUs, and from their Triton text: equal to eager's stable order, bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

import tilewright

DTYPES = (
    torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.int16,
    torch.int8, torch.uint8, torch.bool,
)  # fmt: skip


Compile = Callable[..., Callable[..., Any]]


@pytest.fixture(params=["cpu_openmp", "gpu_emulated"])
def target(request: pytest.FixtureRequest) -> str:
    if request.param == "gpu_emulated":
        request.getfixturevalue("like_cuda")
    return request.param


@pytest.fixture
def compiled(target: str) -> Compile:
    def compile_(function: Callable[..., Any], **options: object) -> Callable[..., Any]:
        torch._dynamo.reset()
        return torch.compile(function, backend="mlir", options={"target": target, **options})

    return compile_


def same(found: object, wanted: object) -> None:
    torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)


def with_duplicates(*shape: int, dtype: torch.dtype) -> Tensor:
    x = torch.randint(0, 9, shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    if dtype.is_floating_point:
        x = x - 4
        x[0, 3:5], x[1, 2], x[2, 1], x[2, 6] = float("nan"), float("inf"), -float("inf"), -0.0
    return x


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_stable_sorts(compiled: Compile, dtype: torch.dtype) -> None:
    def function(x: Tensor) -> list[Tensor]:
        return [
            *torch.sort(x, dim=1, stable=True), *torch.sort(x, dim=0, descending=True, stable=True),
            torch.argsort(x.t(), dim=1, descending=True, stable=True),
        ]  # fmt: skip

    x = with_duplicates(13, 37, dtype=dtype)
    same(compiled(function, fallback=False)(x), function(x))


@pytest.mark.parametrize("size", [1, 2, 31, 127, 300])
def test_the_first_of_rows(compiled: Compile, size: int) -> None:
    """The elements are distinct: which of equals torch takes is not defined."""
    count = min(size, 5)

    def function(x: Tensor) -> list[Tensor]:
        low = x.topk(count, 0, largest=False)
        return [*x.topk(count), *(2 * x).softmax(1).topk(count, sorted=False), low.indices, low.values.exp()]

    rows = torch.stack([torch.randperm(size * size)[:size] for _ in range(size)])
    x = (rows * size + torch.arange(size).view(-1, 1)).float() / size**2
    found, wanted = compiled(function, fallback=False)(x), function(x)
    same(found[:2], wanted[:2])
    torch.testing.assert_close(found[2].sort(1).values, wanted[2].sort(1).values)
    torch.testing.assert_close(found[4:], wanted[4:])


@pytest.mark.parametrize(("size", "calls"), [(1024, []), (1025, ["aten::topk"])])
def test_cpus_pick_the_first_of_short_rows(size: int, calls: list[str]) -> None:
    """Of longer ones ATen picks a few as fast, and sorts no others."""
    found = tilewright.explain(lambda x: x.topk(2), torch.randn(5, size))
    (graph,) = found.graphs
    assert list(graph.library_calls) == calls


@pytest.mark.parametrize(("size", "count"), [(7, 2), (33, 2), (64, 5), (70, 20), (256, 16), (256, 17)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16], ids=str)
def test_the_first_few_by_each_way(compiled: Compile, size: int, count: int, dtype: torch.dtype) -> None:
    """The same values, if not the same positions: which of equals torch takes is not defined."""
    x = with_duplicates(5, size, dtype=dtype)
    for largest in (True, False):
        function = partial(torch.topk, k=count, dim=1, largest=largest)
        values, positions = compiled(function, fallback=False)(x)
        same(values, function(x).values)
        same(values, x.gather(1, positions))
        assert all(len(set(row)) == count for row in positions.tolist())


@pytest.mark.parametrize("target", ["gpu_emulated"], indirect=True)
def test_long_rows_are_left_to_aten(compiled: Compile) -> None:
    x = torch.randn(3, 2049)
    same(compiled(lambda x: x.topk(513))(x), x.topk(513))
    with pytest.raises(Exception, match="TW1008: `aten::topk` has no native path"):
        compiled(lambda x: x.topk(513), fallback=False)(x)
    with pytest.raises(Exception, match="rows of 513 elements are sorted by ATen"):
        compiled(lambda x: x.long().sort(), fallback=False)(torch.randn(3, 513))


@pytest.mark.parametrize("target", ["gpu_emulated"], indirect=True)
@pytest.mark.parametrize(
    ("shape", "dim", "count", "dtype"),
    [
        ((3, 2049), 1, 3, torch.float32),
        ((2, 5001), 1, 512, torch.bfloat16),
        ((5000, 3), 0, 7, torch.float16),
        ((2, 4096), 1, 9, torch.int32),
        ((2, 3001), 1, 5, torch.uint8),
        ((2, 3001), 1, 5, torch.int8),
        ((2, 1030), 1, 9, torch.int64),
        ((2, 1030), 1, 128, torch.float64),
        ((2, 50257), 1, 64, torch.float32),
    ],
    ids=str,
)
def test_the_first_of_long_rows(
    compiled: Compile, shape: tuple[int, ...], dim: int, count: int, dtype: torch.dtype
) -> None:
    """Of parts, then of what these are: in 50257 elements twice. What pads the last part is never taken."""
    x = torch.randint(-120, 121, shape, generator=torch.Generator().manual_seed(0))
    x = (x - x.amin()) // 2 if dtype == torch.uint8 else x
    x = x.to(dtype)
    if dtype.is_floating_point:
        x.view(-1)[::5], x.view(-1)[1::400], x.view(-1)[2::9] = float("inf"), float("nan"), -float("inf")
        x[(slice(None),) * dim + (slice(count // 2, None),)] = -float("inf")
    for largest in (True, False):
        if not largest and dtype.is_floating_point:
            x = torch.where(x == -float("inf"), float("nan"), x)
        values, positions = compiled(partial(torch.topk, k=count, dim=dim, largest=largest), fallback=False)(
            x
        )
        same(values, x.sort(dim, descending=largest).values.narrow(dim, 0, count))
        same(values, x.gather(dim, positions))
        rows = positions.movedim(dim, -1).reshape(-1, count).tolist()
        assert all(len(set(row)) == count for row in rows)


@pytest.mark.parametrize("target", ["gpu_emulated"], indirect=True)
def test_parts_are_two_sorts_and_a_look_up(target: str) -> None:
    torch._dynamo.reset()
    x = torch.randperm(2 * 2100, generator=torch.Generator().manual_seed(0)).view(2, 2100).float()
    found = tilewright.explain(lambda x: x.topk(3), x, options={"target": target})
    same(found.result, x.topk(3))
    assert found.kernels == 3


def test_what_surrounds_a_sort_joins_it(compiled: Compile) -> None:
    """Keys that are computed; two sorts of one tensor; a sort of what was sorted."""

    def function(x: Tensor, y: Tensor) -> list[Tensor]:
        twice = torch.sort(torch.sort(x, dim=1, stable=True).indices % 5, dim=0, descending=True, stable=True)
        keys = torch.sort(x.exp() + y, dim=1, stable=True)
        return [*twice, *keys, *torch.sort(y.expand(7, 19), stable=True), keys.values.cumsum(1), x.argsort(0)]

    x = torch.arange(7 * 19).flip(0).reshape(7, 19).float() / 50
    inputs = x[:, torch.randperm(19)], torch.arange(19).float()[None, :] / 3
    torch.testing.assert_close(compiled(function, fallback=False)(*inputs), function(*inputs))


def test_a_nucleus_is_sampled_from_sorted_probabilities(compiled: Compile) -> None:
    """A softmax, its order, sums along that and what they decide."""

    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        p, tokens = torch.sort(x.softmax(-1), descending=True, stable=True)
        return torch.where(p.cumsum(-1) - p > 0.7, 0.0, p), tokens

    x = torch.randperm(5 * 101).reshape(5, 101) / 50
    torch.testing.assert_close(compiled(function, fallback=False)(x), function(x))


@pytest.mark.parametrize(
    "x",
    [
        with_duplicates(3, 2048, dtype=torch.float32),
        with_duplicates(5, 511, dtype=torch.float64),
        with_duplicates(5, 2 * 257, dtype=torch.bfloat16)[:, ::2],
        with_duplicates(33, 7, dtype=torch.int64).t(),
        with_duplicates(3, 7, dtype=torch.float32)[:, :1],
        torch.empty(0, 7),
        torch.empty(7, 0),
        torch.tensor(2.0),
        torch.tensor([[-0.0, 0.0, float("nan"), -0.0, -float("inf"), -float("nan"), float("inf")]] * 2),
    ],
    ids=lambda x: f"{list(x.shape)}",
)
def test_rows_of_any_size_and_layout(compiled: Compile, x: Tensor) -> None:
    def function(x: Tensor) -> list[Tensor]:
        return [*torch.sort(x, stable=True), *torch.sort(x, descending=True, stable=True)]

    found, wanted = compiled(function, fallback=False)(x), function(x)
    same(found, wanted)
    same([t.nan_to_num().signbit() for t in found], [t.nan_to_num().signbit() for t in wanted])


def test_a_router_trains(compiled: Compile) -> None:
    """Experts chosen by the largest scores, and the gradient through the choice."""

    def router(x: Tensor, w: Tensor) -> Tensor:
        score, expert = torch.topk((x @ w).softmax(-1), 2)
        return (score / score.sum(-1, keepdim=True) * (expert + 1)).sum(-1)

    x, w = torch.randn(11, 8), torch.randn(8, 7)
    results: list[Tensor] = []
    for function in (compiled(router), router):
        one, other = x.clone().requires_grad_(), w.clone().requires_grad_()
        function(one, other).square().sum().backward()
        assert one.grad is not None
        assert other.grad is not None
        results += [one.grad, other.grad]
    torch.testing.assert_close(results[:2], results[2:])
