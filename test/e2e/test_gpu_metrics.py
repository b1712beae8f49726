"""Losses, distances and metrics of which all parts are made by few kernels (emulated)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from drawn import tensor
from torch import Tensor
from torch.nn import functional as F

from tilewright.frontend.explain import explain


def accuracy_and_loss(x: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    return F.cross_entropy(x, targets), (x.argmax(-1) == targets).float().mean()


def chamfer(x: Tensor, _: Tensor) -> Tensor:
    squares = (x[:, None, :3] - x[None, :5, 4:7]).square().sum(-1)
    return squares.amin(1).mean() + squares.amin(0).mean()


def overlap(x: Tensor, _: Tensor) -> Tensor:
    """Of boxes: products of two sides, which the sum over all boxes makes itself."""
    a, b = x[:, :4].sort(-1).values, x[:, 4:8].sort(-1).values
    low, high = torch.maximum(a[:, :2], b[:, :2]), torch.minimum(a[:, 2:], b[:, 2:])
    inside = (high - low).clamp_min(0).prod(1)
    return (inside / ((a[:, 2:] - a[:, :2]).prod(1) + (b[:, 2:] - b[:, :2]).prod(1) - inside)).mean()


@pytest.mark.parametrize(("function", "kernels"), [(accuracy_and_loss, 1), (chamfer, 2), (overlap, 2)])
def test_few_kernels(function: Callable[[Tensor, Tensor], Any], kernels: int) -> None:
    x, targets = tensor(70, 9), torch.arange(70) % 9
    found = explain(function, x, targets, options={"target": "gpu_emulated", "fallback": False})
    torch.testing.assert_close(found.result, function(x, targets))
    assert [sum(graph.kernels.values()) for graph in found.graphs] == [kernels]


@pytest.mark.parametrize("shape", [(70, 9), (5, 9, 14)], ids=["rows", "columns"])
def test_a_gradient_sums_no_one_hot_rows(shape: tuple[int, ...]) -> None:
    """Weighted, smoothed, and with targets that count for nothing."""
    x = tensor(*shape).requires_grad_()
    targets = torch.arange(70).reshape(shape[0], *shape[2:]) % 10
    targets[targets == 9] = -100

    def loss(x: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(x, targets, torch.arange(9) + 1.0, label_smoothing=0.1)

    def step(x: Tensor, targets: Tensor) -> Tensor:
        (got,) = torch.autograd.grad(loss(x, targets), x)
        return got

    def compiled(x: Tensor, targets: Tensor) -> Tensor:
        made = loss(x, targets)
        made.backward()  # pyright: ignore[reportUnknownMemberType]
        return made

    found = explain(compiled, x, targets, options={"target": "gpu_emulated", "fallback": False})
    torch.testing.assert_close(x.grad, step(x, targets))
    assert sum(found.graphs[-1].kernels.values()) == 1
