"""What has each element of a smaller tensor several times is made again in the backward pass, not kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

Function = Callable[[Tensor, Tensor, Tensor], Tensor]
OPTIONS: dict[str, Any] = {"target": "gpu_emulated", "fallback": False}


def ends(x: Tensor, w: Tensor, i: Tensor) -> Tensor:
    nodes = x.sin()
    return (nodes[i] * nodes.index_select(0, i.flip(0))).sum(1) * w


def read_by_a_product(x: Tensor, w: Tensor, i: Tensor) -> Tensor:
    nodes = x.sin()
    found = nodes[i]
    return (found * nodes.index_select(0, i.flip(0))).sum(1) * w + (found @ x[:6, :5]).sum(1)


def written(x: Tensor, w: Tensor, i: Tensor) -> Tensor:
    found = x[i] * w[:, None].cos()
    x.mul_(2)
    return found


AGAIN: dict[str, Function] = {
    "rows": lambda x, w, i: x.sin()[i] * w[:, None].cos(),
    "both ends of an edge": ends,
    "elements": lambda x, w, i: x.sin().gather(0, i[:, None].expand(-1, 6)) * w[:, None].cos(),
    "of an argument": lambda x, w, i: x[i] * w[:, None].cos(),
    "through other operators": lambda x, w, i: (x.sin()[i].neg() * 2).exp() * w[:, None].cos(),
    "windows of a row": lambda x, w, i: x.sin().flatten()[:45].unfold(0, 6, 1) * w[:, None].cos(),
}
KEPT: dict[str, tuple[Function, int]] = {
    "what a product reads": (read_by_a_product, 1),
    "little more than there is": (lambda x, w, i: ends(x, w[:12], i[:12]), 1),
    "of what the program writes": (written, 2),
}


def kept(function: Function, folder: Path, rows: int = 40) -> int:
    """How many tensors with a row for each position the backward pass is given."""
    torch._dynamo.reset()
    compiled: Any = torch.compile(function, backend="mlir", options=OPTIONS | {"dump": str(folder)})
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(9, 6, dtype=torch.float64, generator=draw)
    w = torch.randn(40, dtype=torch.float64, generator=draw)
    i = torch.randint(0, 9, (40,), generator=draw)
    found: list[list[Tensor]] = []
    for called in (compiled, function):
        w1 = w.clone().requires_grad_()
        x1 = x.clone().requires_grad_(function is not written)
        called(x1, w1, i).sin().sum().backward()
        found.append([x1.detach(), *(t.grad for t in (x1, w1) if t.grad is not None)])
    torch.testing.assert_close(*found)
    (imported,) = folder.glob("*backward/00-import.mlir")
    (head,) = (line for line in imported.read_text().splitlines() if "func.func" in line)
    return head.partition("->")[0].count(f"tensor<{rows}x6xf64>")


@pytest.mark.parametrize("name", AGAIN)
def test_they_are_made_again(name: str, tmp_path: Path) -> None:
    assert kept(AGAIN[name], tmp_path) <= (name != "both ends of an edge"), "the gradient of the result"


@pytest.mark.parametrize("name", KEPT)
def test_they_are_kept(name: str, tmp_path: Path) -> None:
    function, expected = KEPT[name]
    assert kept(function, tmp_path, 12 if name.startswith("little") else 40) == expected
