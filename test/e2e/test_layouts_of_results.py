"""Results lie in memory as eager mode's do, so that programs may view what they got."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

OPERATORS: dict[str, Callable[[Tensor], Any]] = {
    "dropout": lambda x: F.dropout(x, 0.5),
    "bernoulli": lambda x: torch.bernoulli(x.sigmoid()),
    "bernoulli_": lambda x: x.clone().bernoulli_(0.5),
    "rand_like": torch.rand_like,
    "randn_like": torch.randn_like,
    "randn_like, dense": lambda x: torch.randn_like(x, memory_format=torch.contiguous_format),
    "uniform_": lambda x: x.clone().uniform_(-1, 1),
    "normal_": lambda x: x.clone().normal_(),
    "normal": lambda x: torch.normal(x, 1.0),
    "exponential_": lambda x: x.clone().exponential_(),
    "kthvalue": lambda x: x.kthvalue(2, 1),
    "median of integers": lambda x: (x * 10).int().median(1),
    "masked_scatter": lambda x: x.masked_scatter(x > 0, x),
    "isin few": lambda x: torch.isin(x, x.flatten()[:5]),
    "isin many": lambda x: torch.isin(x, x.flatten().repeat(3), invert=True),
    "isin one": lambda x: torch.isin(x, 0.5),
    "put": lambda x: x.put(torch.tensor([3]), x.new_ones(1)),
}
INPUTS = {
    "row-major": lambda: torch.randn(4, 5, 6),
    "turned": lambda: torch.randn(4, 5, 6).permute(2, 0, 1),
    "channels last": lambda: torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
}


def layouts(made: Any) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [(tuple(t.shape), t.stride()) for t in (made if isinstance(made, tuple) else (made,))]


@pytest.mark.parametrize("lying", INPUTS)
@pytest.mark.parametrize("name", OPERATORS)
def test_as_in_eager(name: str, lying: str) -> None:
    torch._dynamo.reset()
    operator, x = OPERATORS[name], INPUTS[lying]()
    compiled = torch.compile(operator, backend="mlir", options={"target": "gpu_emulated"})
    assert layouts(compiled(x)) == layouts(operator(x))


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
def test_what_is_dense_in_eager_may_be_viewed(target: str) -> None:
    torch._dynamo.reset()

    def function(x: Tensor) -> tuple[Tensor, ...]:
        whole = (x * 10).int()
        return (
            x.kthvalue(3, 1).values.view(-1),
            x.kthvalue(3, 1).indices.view(2, -1),
            whole.median(1).values.view(-1),
        )

    x = torch.randn(4, 9, 6)
    found = torch.compile(function, backend="mlir", fullgraph=True, options={"target": target})(x)
    torch.testing.assert_close(found, function(x))


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
def test_what_is_left_of_turned_numbers_may_be_viewed(target: str) -> None:
    torch._dynamo.reset()

    def function(x: Tensor) -> Tensor:
        return F.dropout(x.transpose(0, 1), 0.5).transpose(0, 1).view(-1)

    x = torch.arange(1.0, 217.0).view(4, 9, 6)
    found = torch.compile(function, backend="mlir", fullgraph=True, options={"target": target})(x)
    kept = found != 0
    assert 60 < kept.sum() < 156
    assert torch.equal(found, torch.where(kept, 2 * x.view(-1), 0.0))


@pytest.mark.parametrize("dynamic", [False, True])
def test_what_is_taken_at_turned_positions_is_row_major(dynamic: bool) -> None:
    """`as_strided` sees how it lies."""
    torch._dynamo.reset()

    def function(x: Tensor, i: Tensor) -> tuple[Tensor, Tensor]:
        taken = x.take(i)
        return taken.as_strided((2, 2), (1, 3), 1), taken

    x, i = torch.arange(100.0), torch.randint(-100, 100, (5, 4, 4)).permute(0, 2, 1)
    found = torch.compile(function, backend="mlir", dynamic=dynamic)(x, i)
    assert all(map(torch.equal, found, function(x, i)))
    assert layouts(found) == layouts(function(x, i))


def test_what_is_rolled_is_row_major() -> None:
    """But for images with channels last on CPUs, in eager mode."""
    torch._dynamo.reset()
    x = torch.arange(16).view(8, 2, 1).permute(1, 0, 2)
    found = torch.compile(lambda x: x.logical_not().roll(-7, 1), backend="mlir")(x)
    assert torch.equal(found, x.logical_not().roll(-7, 1))
    assert found.is_contiguous()


SPLIT: dict[str, Callable[[Tensor], Tensor]] = {
    "columns, in two": lambda y: y.unflatten(-1, (2, -1)),
    "columns, by two": lambda y: y.unflatten(-1, (-1, 2)),
    "rows, by two": lambda y: y.unflatten(0, (-1, 2)),
    "both": lambda y: y.unflatten(0, (2, -1)).unflatten(-1, (-1, 2)),
}


def test_symbolic_sizes_that_are_split_evenly_lie_as_in_eager() -> None:
    for split in SPLIT.values():
        torch._dynamo.reset()

        def function(x: Tensor, split: Callable[[Tensor], Tensor] = split) -> Tensor:
            return split(x * 2)

        compiled = torch.compile(function, backend="mlir", dynamic=True, options={"target": "cpu_openmp"})
        for size in (8, 12):
            x = torch.randn(3, size, size + 4).permute(1, 0, 2)
            assert layouts(compiled(x)) == layouts(function(x))
            torch.testing.assert_close(compiled(x), function(x))


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_part_that_is_copied_keeps_the_order_of_its_dimensions(dynamic: bool) -> None:
    torch._dynamo.reset()
    x = torch.randn(2, 5, 6, 8).to(memory_format=torch.channels_last)

    def function(x: Tensor) -> Tensor:
        return (x * 2)[..., 1:4]

    found = torch.compile(function, backend="mlir", dynamic=dynamic)(x)
    assert found.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(found, function(x))
    assert found.permute(0, 2, 3, 1).view(2, -1, 5).shape == (2, 18, 5)


def test_what_isin_views_as_a_row_lies_as_in_eager() -> None:
    """Its kernel refuses what is turned, as passes may store what eager mode has in rows."""
    torch._dynamo.reset()

    def function(x: Tensor) -> Tensor:
        y = x + 1
        y.diagonal().fill_(0.5)
        return torch.isin(y, y)

    x = torch.randn(1, 3, 2, 2)[..., 1]
    compiled = torch.compile(function, backend="mlir", dynamic=True, options={"target": "gpu_emulated"})
    assert torch.equal(compiled(x), function(x))
