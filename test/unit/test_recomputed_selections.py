"""Constants of which each row has a few other numbers are made again in the backward pass, not kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

Function = Callable[[Tensor, Tensor], Tensor]
OPTIONS: dict[str, Any] = {"target": "gpu_emulated", "fallback": False}


def smoothed(x: Tensor, i: Tensor) -> Tensor:
    log = x.log_softmax(1)
    return -(torch.full_like(log, 0.1).scatter_(1, i[:, None], 0.9) * log).sum(1)


def as_large_as_sums(x: Tensor, i: Tensor) -> Tensor:
    sums = x.cumsum(1)
    return torch.full_like(sums, 0.1).scatter(1, i[:, None], 0.9) * x.sin() + sums


def constant(x: Tensor, value: float = 0.1) -> Tensor:
    return torch.full((7, 33), value, dtype=x.dtype)


AGAIN: dict[str, Function] = {
    "smoothed labels": smoothed,
    "as large as what is not kept": as_large_as_sums,
    "of what a product reads": lambda x, i: (
        (constant(x).scatter(1, i[:, None], 0.9) * x.sin()) @ x.new_ones(33, 33)
    ),
    "after other operators": lambda x, i: (constant(x).scatter(1, i[:, None], 0.9).neg() * 2).exp() * x.sin(),
    "numbers of rows": lambda x, i: constant(x).scatter(1, i[:, None], i[:, None].to(x.dtype)) * x.sin(),
    "of columns": lambda x, i: constant(x).scatter(0, (i % 7)[:1].expand(1, 33), 1) * x.sin(),
}
KEPT: dict[str, Function] = {
    "no constant": lambda x, i: x.detach().cos().scatter(1, i[:, None], 0.9) * x.sin(),
    "some of the rows": lambda x, i: constant(x).scatter(1, i[:5, None], 0.9) * x.sin(),
    "more numbers": lambda x, i: constant(x).scatter(1, i[:, None].expand(7, 2), 0.9) * x.sin(),
    "what a product reads": lambda x, i: constant(x).scatter(1, i[:, None], 0.9) @ x.mT,
}


def kept(function: Function, folder: Path) -> int:
    """How many numbers of the size of `x` the backward pass is given, besides `x`."""
    torch._dynamo.reset()
    compiled: Any = torch.compile(function, backend="mlir", options=OPTIONS | {"dump": str(folder)})
    x, i = torch.randn(7, 33, dtype=torch.float64), torch.arange(7) * 3
    found: list[Tensor] = []
    for called in (compiled, function):
        given = x.clone().requires_grad_()
        called(given, i).sin().sum().backward()
        found += [given.grad] if given.grad is not None else []
    torch.testing.assert_close(*found)
    (imported,) = folder.glob("*backward/00-import.mlir")
    (head,) = (line for line in imported.read_text().splitlines() if "func.func" in line)
    return head.partition("->")[0].count("tensor<7x33xf64>")


@pytest.mark.parametrize("name", AGAIN)
def test_they_are_made_again(name: str, tmp_path: Path) -> None:
    assert kept(AGAIN[name], tmp_path) <= 2, "`x`, or its logarithms, and the gradient"


@pytest.mark.parametrize("name", KEPT)
def test_others_are_kept(name: str, tmp_path: Path) -> None:
    assert kept(KEPT[name], tmp_path) >= (1 if "product" in name else 3)
