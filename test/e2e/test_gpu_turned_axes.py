"""Kernels that walk an axis backwards to be one with what reads them from the end (emulated)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from drawn import tensor
from torch import Tensor
from torch.nn import functional as F

from benchmarks.numerics import judge
from tilewright.frontend.explain import explain

OPTIONS = {"target": "gpu_emulated", "fallback": False}


def gated(x: Tensor, d: Tensor, dim: int) -> Tensor:
    """What a state space model sums up: its gradient sums from the end what the gate's makes."""
    return torch.cumsum(x * F.softplus(d), dim) * torch.sigmoid(x)


@pytest.mark.parametrize(("sizes", "dim"), [((3, 45, 70), 1), ((6, 511), 1), ((77, 5), 0)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_gradient_of_a_running_sum(sizes: tuple[int, ...], dim: int, dtype: torch.dtype) -> None:
    x, d, g = (tensor(*sizes).to(dtype) for _ in range(3))

    def gradient(x: Tensor, d: Tensor, g: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        gated(x, d, dim).backward(g)
        assert x.grad is not None
        return x.grad

    torch.compiler.reset()  # else these sizes were symbols
    found = explain(gradient, x, d, g, options=OPTIONS)
    exact = gradient(x.double(), d.double(), g.double())
    assert (verdict := judge(found.result, gradient(x, d, g), exact)), verdict.why
    (backward,) = (graph for graph in found.graphs if graph.kind == "backward")
    assert sum(backward.kernels.values()) == 1


def kept_and_turned(x: Tensor) -> tuple[Tensor, Tensor]:
    y = torch.cosh(x)
    return y, y.flip(1).cumsum(1)


def turned_twice(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    y = torch.cosh(x)
    s = y.flip(0, 1).cumsum(1)
    return y, s, s.flip(1) * y.flip(0)


def read_both_ways(x: Tensor) -> Tensor:
    y = torch.cosh(x).cumsum(1)
    return torch.cumsum(y * y.flip(1), 1)


def positions(x: Tensor) -> tuple[Tensor, Tensor]:
    """Positions of the largest, of which the first counts, beside sums in the other order."""
    y = torch.floor(x)
    return y.argmax(1), torch.cosh(y).flip(1).cumsum(1)


def scanned_both_ways(x: Tensor) -> tuple[Tensor, Tensor]:
    s = torch.cumsum(x.abs(), 1)
    return s, s.flip(1).cumsum(1)


@pytest.mark.parametrize(
    ("function", "kernels"),
    [(kept_and_turned, 1), (turned_twice, 1), (read_both_ways, 2), (positions, 1), (scanned_both_ways, 2)],
)
@pytest.mark.parametrize("dynamic", [False, True])
def test_order_counts_where_it_does(
    function: Callable[[Tensor], Tensor], kernels: int, dynamic: bool
) -> None:
    x = tensor(7, 33)
    torch.compiler.reset()
    compiled = torch.compile(function, backend="mlir", options=OPTIONS, dynamic=dynamic)
    for given in (x, tensor(5, 60)) if dynamic else (x,):
        verdict = judge(compiled(given), function(given), function(given.double()))
        assert verdict, verdict.why
    if not dynamic:
        torch.compiler.reset()
        (graph,) = explain(function, x, options=OPTIONS).graphs
        assert sum(graph.kernels.values()) == kernels
