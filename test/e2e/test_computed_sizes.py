"""Sizes that no index expression says (roots, logarithms, factors that are floats): Python computes them."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import tilewright

Function = Callable[[Tensor], Tensor]


def square_of_tokens(x: Tensor) -> Tensor:
    """As vision transformers write it."""
    side = int(x.shape[1] ** 0.5)
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], side, side).sin().sum(-1)


def square_by_root(x: Tensor) -> Tensor:
    side = int(math.sqrt(x.shape[1]))
    return x.unflatten(1, (side, side)).exp()


def some_of_them(x: Tensor) -> Tensor:
    return x[:, : int(x.shape[1] * 0.7)].exp()


def rounded(x: Tensor) -> Tensor:
    return x[:, : round(x.shape[1] * 0.75)] * 2


def power_of_two(x: Tensor) -> Tensor:
    """A size is computed with the one that Python computed."""
    count = 2 ** math.ceil(math.log2(x.shape[1]))
    return F.pad(x, (0, 0, 0, count - x.shape[1])).cos()


def logarithm(x: Tensor) -> Tensor:
    return x[:, : int(math.log2(x.shape[1]))].sum(1)


def whole_blocks(x: Tensor) -> Tensor:
    return x[:, : x.shape[1] & ~7].tanh()


def enlarged(x: Tensor) -> Tensor:
    return F.interpolate(x[:, None], scale_factor=1.7, mode="bilinear").sin()


def to_a_side(x: Tensor) -> Tensor:
    """Two sizes, of one number."""
    height, width = x.shape[1:]
    factor = 16 / min(height, width)
    return F.interpolate(x[:, None], size=(int(height * factor), int(width * factor)), mode="nearest") * 2


def middle(x: Tensor) -> Tensor:
    first = round((x.shape[1] - 9) / 2.0)
    return x[:, first : first + 9].exp()


FUNCTIONS: tuple[Function, ...] = (
    square_of_tokens,
    square_by_root,
    some_of_them,
    rounded,
    power_of_two,
    logarithm,
    whole_blocks,
    enlarged,
    to_a_side,
    middle,
)


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_results_and_gradients(function: Function, target: str) -> None:
    """By one compile for all sizes, of which nothing is ATen's."""
    torch._dynamo.reset()
    options = {"target": target, "fallback": False}
    compiled = torch.compile(function, backend="mlir", fullgraph=True, dynamic=True, options=options)
    for number, count in enumerate((25, 36, 49, 81)):
        x = torch.randn(3, count, 10, requires_grad=True)
        with torch._dynamo.config.patch(error_on_recompile=number > 0):
            found, wanted = compiled(x), function(x)
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
        assert found.stride() == wanted.stride()
        (mine,) = torch.autograd.grad(found.cos().sum(), x)
        (theirs,) = torch.autograd.grad(wanted.cos().sum(), x)
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


def test_it_is_one_graph() -> None:
    """What is computed before and behind the size shares kernels."""

    def function(x: Tensor) -> Tensor:
        x = x.exp()
        return x.unflatten(1, (int(x.shape[1] ** 0.5), -1)) * 2

    (graph,) = tilewright.explain(
        function, torch.randn(3, 16, 10), dynamic=True, options={"target": "gpu_emulated"}
    ).graphs
    assert sum(graph.kernels.values()) == 1
    assert not graph.fallbacks


def half_of_two(x: Tensor, y: Tensor) -> Tensor:
    """Of one column and integers, torch's trace asks no more than whether there are fewer than two rows."""
    bits = (x * 4).to(torch.int8)
    return bits[: bits.shape[0] // 2] ^ (y * 9).long()


def whole_divided(x: Tensor, y: Tensor) -> Tensor:
    """Among three operands, and in front of what it repeats along."""
    few = x.sum(1)[: x.shape[0] // 2, None]
    return torch.where(few > 0, y, few * 2).exp()


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.parametrize("function", [half_of_two, whole_divided], ids=lambda f: f.__name__)
def test_a_computed_size_of_1_repeats(function: Callable[[Tensor, Tensor], Tensor], target: str) -> None:
    """No number says so, but a guard: as `s0 // 2 < 2` does of a size that is not below 2."""
    torch._dynamo.reset()
    options = {"target": target, "fallback": False}
    compiled = torch.compile(function, backend="mlir", fullgraph=True, dynamic=True, options=options)
    for rows, columns in ((5, 3), (7, 1), (4, 1), (9, 6)):
        x, y = torch.randn(2, columns), torch.randn(rows, columns)
        torch.testing.assert_close(compiled(x, y), function(x, y))
