"""Slices with steps and diagonals that are written to, and gradients of reading them: no scatter."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from tilewright.frontend.explain import explain

TARGETS = ("cpu_openmp", "gpu_emulated")


def numbers(*sizes: int) -> Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(0))


def gradient(read: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return torch.func.grad(lambda x: read(x).square().sum())


def interleaved(x: Tensor) -> Tensor:
    y = torch.empty_like(x)
    y[..., 0::2] = x[..., 0::2].sin()
    y[..., 1::2] = x[..., 1::2] * 2
    return y * y


def slices(x: Tensor) -> Tensor:
    y = x * 2
    y[1::3] = 4
    y[:, 2:9:4] *= y[:, 1:8:4]
    y[:, -1::5] += 1
    return y + 1


def diagonals(x: Tensor) -> Tensor:
    y = x * 2
    y.diagonal(2).mul_(3)
    y.diagonal(-4).copy_(x[4:, 0])
    y.diagonal(50).fill_(1)
    return y + 1


FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "interleaved": interleaved,
    "slices": slices,
    "diagonals": diagonals,
    "gradient of slices": gradient(lambda x: x[::2, 1::3][:5, :3] * x[1::2, 2::3]),
    "gradient of diagonals": gradient(lambda x: x.diagonal(1)[:5] + x.diagonal(-2)[:5]),
}


MOST = {"interleaved": 1, "slices": 1, "gradient of slices": 1}
"""Kernels for a GPU; what is read at a diagonal is stored first."""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_kernels(name: str, target: str) -> None:
    torch._dynamo.reset()
    function, x = FUNCTIONS[name], numbers(11, 11)
    found = explain(function, x.clone(), options={"target": target, "fallback": False})
    torch.testing.assert_close(found.result, function(x.clone()))
    if target == "gpu_emulated":
        assert found.kernels <= MOST.get(name, 2)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["interleaved", "slices", "diagonals"])
def test_sizes_that_are_symbols(name: str, target: str) -> None:
    torch._dynamo.reset()
    options = {"target": target, "fallback": False}
    function = torch.compile(FUNCTIONS[name], backend="mlir", dynamic=True, options=options)
    for size in (11, 14):
        torch.testing.assert_close(function(numbers(size, size)), FUNCTIONS[name](numbers(size, size)))


@pytest.mark.parametrize("target", TARGETS)
def test_an_argument_is_written_to_where_it_is(target: str) -> None:
    def function(x: Tensor) -> Tensor:
        x.diagonal().add_(1)
        return x[0] * 2

    torch._dynamo.reset()
    got, want = numbers(5, 5), numbers(5, 5)
    options = {"target": target, "fallback": False}
    torch.testing.assert_close(torch.compile(function, backend="mlir", options=options)(got), function(want))
    torch.testing.assert_close(got, want)
