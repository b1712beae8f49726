"""Max pooling with the positions of the maxima, and its gradient, against eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tilewright.frontend.explain import Explanation, explain

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
POOLINGS: dict[str, Callable[[Tensor], Any]] = {
    "overlapping": lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
    "side_by_side": lambda x: F.max_pool2d(x, 2, return_indices=True),
    "in_many_windows": lambda x: F.max_pool2d(x, 7, 1, 3, return_indices=True),
    "every_place": lambda x: F.max_pool2d(x, (1, 3), 1, return_indices=True),
    "apart": lambda x: F.max_pool2d(x, 2, (3, 4), return_indices=True),
    "last_windows": lambda x: F.max_pool2d(x, (2, 3), ceil_mode=True, return_indices=True),
    "last_window_in_the_padding": lambda x: F.max_pool2d(x, 2, 3, 1, ceil_mode=True, return_indices=True),
    "dilated": lambda x: F.max_pool2d(x, (2, 3), (2, 3), 1, (3, 2), return_indices=True),
    "one_image": lambda x: F.max_pool2d(x[0], 3, 2, 1, return_indices=True),
    "no_image": lambda x: F.max_pool2d(x[:0], 3, 2, 1, return_indices=True),
    "lines": lambda x: F.max_pool1d(x[0], 3, 2, 1, return_indices=True),
    "adaptive": lambda x: F.adaptive_max_pool2d(x, (13, 2), return_indices=True),
    "turned": lambda x: F.max_pool2d(x.mT, 3, 2, 1, return_indices=True),
    "channels_last": lambda x: F.max_pool2d(
        x.contiguous(memory_format=torch.channels_last), 3, 2, 1, return_indices=True
    ),
}
VOLUMES: dict[str, Callable[[Tensor], Any]] = {
    "volumes": lambda x: F.max_pool3d(x, (2, 3, 3), 2, (1, 1, 0), return_indices=True),
    "adaptive_volumes": lambda x: F.adaptive_max_pool3d(x, (3, 1, 7), return_indices=True),
}


@pytest.fixture(params=["scatters", "looks_for_windows"])
def gradient(request: pytest.FixtureRequest) -> None:
    """The emulator's tensors are on the CPU, where gradients are added at positions."""
    if request.param == "looks_for_windows":
        request.getfixturevalue("like_cuda")


def numbers(dtype: torch.dtype) -> Tensor:
    """Few different ones, so that many are equal; NaN, and windows that have nothing but -inf."""
    x = torch.randint(-3, 4, (2, 3, 13, 14), generator=torch.Generator().manual_seed(0)).to(dtype)
    x[0, 0], x[0, 1, 2:5, 3:7], x[1, 0, 0, 0], x[1, 1, 3, 3] = -torch.inf, torch.nan, torch.inf, -torch.inf
    return x


def check(function: Callable[[Tensor], Any], x: Tensor, target: str) -> Explanation:
    """Values, positions, strides and the gradient are those of eager; whole numbers add up exactly."""
    options = {"target": target, "fallback": False}
    found = explain(function, x, options=options)
    wanted = function(x)
    torch.testing.assert_close(found.result, wanted, rtol=0, atol=0, equal_nan=True)
    assert [t.stride() for t in found.result] == [t.stride() for t in wanted]
    torch._dynamo.reset()
    weights = torch.randint(-3, 4, wanted[0].shape, generator=torch.Generator().manual_seed(1)).to(x.dtype)
    compiled = torch.compile(function, backend="mlir", options=options)
    gradients: list[Tensor | None] = []
    for call in (compiled, function):
        given = x.clone().requires_grad_()
        values, positions = call(given)
        assert torch.equal(positions, wanted[1])
        (values * weights).sum().backward()
        gradients.append(given.grad)
    torch.testing.assert_close(*gradients, rtol=0, atol=0)
    return found


@pytest.mark.usefixtures("gradient")
@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.parametrize("name", [*POOLINGS, *VOLUMES])
def test_positions_and_gradients(name: str, target: str) -> None:
    found = check((POOLINGS | VOLUMES)[name], numbers(torch.float32), target)
    assert not [call for graph in found.graphs for call in graph.library_calls]


@pytest.mark.usefixtures("gradient")
@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(dtype: torch.dtype, target: str) -> None:
    check(POOLINGS["overlapping"], numbers(dtype), target)


@pytest.mark.usefixtures("gradient")
@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
def test_sizes_of_symbols(target: str) -> None:
    torch._dynamo.reset()
    pool, options = POOLINGS["overlapping"], {"target": target, "fallback": False}
    compiled = torch.compile(pool, backend="mlir", dynamic=True, fullgraph=True, options=options)
    for size in (9, 14, 21):
        given = [
            torch.randn(2, 3, size, size + 3, generator=torch.Generator().manual_seed(size)) for _ in "ab"
        ]
        for x in given:
            x.requires_grad_()
        found, wanted = compiled(given[0]), pool(given[1])
        torch.testing.assert_close(found, wanted)
        found[0].square().sum().backward()
        wanted[0].square().sum().backward()
        torch.testing.assert_close(given[0].grad, given[1].grad)


def kept_for_the_gradient(pool: nn.Module, rows: int, target: str) -> list[torch.dtype]:
    kept: list[torch.dtype] = []

    def pack(value: Tensor) -> Tensor:
        kept.append(value.dtype)
        return value

    torch._dynamo.reset()
    compiled = torch.compile(pool, backend="mlir", options={"target": target})
    x = torch.randn(1, 2, 4, rows, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda value: value):
        compiled(x).sum().backward()
    return kept


@pytest.mark.parametrize("rows", [112, 32771])
def test_what_is_kept_for_the_gradient(rows: int) -> None:
    """Beside the result, two bytes per window, or four where a window reaches farther than two count."""
    kept = kept_for_the_gradient(nn.Sequential(nn.MaxPool2d(2), nn.Tanh()), rows, "cpu_openmp")
    assert kept.count(torch.int64) == 0
    assert kept.count(torch.int16 if rows == 112 else torch.int32) == 1


@pytest.mark.usefixtures("like_cuda")
@pytest.mark.parametrize("stride", [1, 2])
def test_what_windows_are_looked_for_with(stride: int) -> None:
    """Wider positions are read with padding, which torch would not compute again."""
    kept = kept_for_the_gradient(nn.MaxPool2d(3, stride, 1), 20, "gpu_emulated")
    assert [dtype for dtype in kept if not dtype.is_floating_point] == [torch.int16]
