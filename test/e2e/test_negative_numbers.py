"""Integers below zero that change from call to call: the IR takes no symbol to be below zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch._dynamo.testing import CompileCounterWithBackend

TARGETS = pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])


def compiled(
    function: Callable[..., Tensor], target: str, *, fallback: bool = False
) -> Callable[..., Tensor]:
    torch._dynamo.reset()
    options = {"target": target, "fallback": fallback}
    return torch.compile(function, backend="mlir", dynamic=True, options=options)


@TARGETS
@pytest.mark.parametrize("padding", [(0, -1, 2, 2), (-1, 0, 2, 2), (2, 2, 0, -1), (-2, -3, 2, 3)])
def test_gradients_of_padding(padding: Sequence[int], target: str) -> None:
    """Sizes are those of the padded image: with -1 taken for something above zero they were too large."""

    def function(gradient: Tensor, x: Tensor, padding: Sequence[int]) -> Tensor:
        return torch.ops.aten.reflection_pad2d_backward(gradient, x, padding)

    x = torch.randn(1, 1, 8, 8)
    gradient = torch.randn_like(torch.ops.aten.reflection_pad2d(x, padding))
    wanted = function(gradient, x, padding)
    torch.testing.assert_close(compiled(function, target)(gradient, x, padding), wanted)


def shifted(x: Tensor, k: int) -> Tensor:
    return x.roll(k) * k + x.shape[0]


def padded(x: Tensor, k: int) -> Tensor:
    return F.pad(x, (max(k, 0), max(-k, 0))) + k


def clamped(x: Tensor, k: int) -> Tensor:
    return x[max(k, 0) : x.shape[0] + min(k, 0)] * abs(k)


def sliced(x: Tensor, k: int) -> Tensor:
    return x[k:] + torch.full_like(x[:1], k)


@TARGETS
@pytest.mark.parametrize("function", [shifted, padded, clamped, sliced], ids=lambda f: f.__name__)
def test_either_sign(function: Callable[[Tensor, int], Tensor], target: str) -> None:
    run = compiled(function, target)
    for n, k in ((9, -3), (9, -4), (9, 3), (12, -5), (12, 5), (12, 0), (7, -2)):
        x = torch.arange(float(n))
        torch.testing.assert_close(run(x, k), function(x, k))


def test_one_graph_for_each_sign() -> None:
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("mlir")
    run = torch.compile(shifted, backend=counter, dynamic=True)
    for k in (-3, -4, -5, 3, 4, 5, -6):
        run(torch.arange(9.0), k)
    assert counter.frame_count == 2


@TARGETS
def test_a_backward_graph_is_given_one(target: str) -> None:
    def function(x: Tensor, k: int) -> Tensor:
        return (x.exp() * k).roll(k).sin().sum()

    run = compiled(function, target)
    for k in (-3, -2, 4):
        x = torch.randn(6, requires_grad=True)
        (found,) = torch.autograd.grad(run(x, k), x)
        (wanted,) = torch.autograd.grad(function(x, k), x)
        torch.testing.assert_close(found, wanted)


@TARGETS
@pytest.mark.filterwarnings("ignore:TW1")
def test_a_number_that_data_decide(target: str) -> None:
    """It is read between two parts of the forward graph. No guard can hold its sign, in either pass."""

    def function(x: Tensor, number: Tensor) -> Tensor:
        n = int(number.item())
        return (x.exp() * n).sin() + max(n, 0)

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        run = compiled(function, target, fallback=True)
        for n in (3, -4, 0):
            x = torch.randn(6, requires_grad=True)
            found, wanted = run(x, torch.tensor(n)), function(x, torch.tensor(n))
            torch.testing.assert_close(found, wanted)
            weights = torch.randn(6)
            (mine,) = torch.autograd.grad(found, x, weights)
            (theirs,) = torch.autograd.grad(wanted, x, weights)
            torch.testing.assert_close(mine, theirs)
