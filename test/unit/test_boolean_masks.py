"""Masks that torch makes of conditions: attention selects by the condition, which the backward pass keeps."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from test_attention_rows import EFFICIENT, EFFICIENT_BACKWARD, check, heads, imported, run, truth
from test_gpu_emulated import OPTIONS
from torch import Tensor
from xdsl.dialects.builtin import i1

from tilewright.dialects.tw.attention import AttentionBackwardOp, AttentionOp
from tilewright.dialects.types import element_type_of

ROWS, KEYS = 37, 43
HIDDEN = -math.inf
Made = Callable[[Tensor], Tensor]
converted = torch.ops.prims.convert_element_type


def added(seen: Tensor) -> Tensor:
    """What `scaled_dot_product_attention` adds to the scores."""
    return torch.where(seen, 0.0, HIDDEN)


def padded(seen: Tensor) -> Tensor:
    """As torch does for its own kernels, which read eight numbers at a time."""
    return torch.nn.functional.pad(added(seen), (0, -KEYS % 8), value=0.0)[..., :KEYS]


CONDITIONS: dict[str, Made] = {
    "added": lambda seen: added(seen).expand(2, 3, ROWS, KEYS),
    "filled": lambda seen: torch.where(~seen, HIDDEN, 0.0),
    "padded": lambda seen: padded(seen)[None, None].expand(2, 3, ROWS, KEYS),
    "cast": lambda seen: converted(converted(added(seen), torch.float64), torch.float32).view(
        1, 1, ROWS, KEYS
    ),
}
NUMBERS: dict[str, Made] = {
    "far": lambda seen: torch.where(seen, 0.0, -1e4),
    "raised": lambda seen: torch.where(seen, 1.0, HIDDEN),
    "of a tensor": lambda seen: torch.where(seen, torch.arange(KEYS, device=seen.device) * 0.1, HIDDEN),
    "another part": lambda seen: torch.nn.functional.pad(added(seen), (8, 0))[..., :KEYS],
    "twice": lambda seen: added(seen) + added(seen),
}


def step(made: Made) -> Callable[..., tuple[Tensor, ...]]:
    def forward_and_backward(
        q: Tensor, k: Tensor, v: Tensor, grad: Tensor, seen: Tensor
    ) -> tuple[Tensor, ...]:
        mask = made(seen)
        out, total, seed, offset = EFFICIENT(q, k, v, mask, True)
        want = [True, True, True, False]
        *grads, _ = EFFICIENT_BACKWARD(grad, q, k, v, mask, out, total, seed, offset, 0.0, want)
        return (out, total[..., :ROWS], *grads)

    return forward_and_backward


def inputs() -> tuple[Tensor, ...]:
    q, k, v = heads(ROWS, KEYS)
    seen = torch.arange(ROWS)[:, None] * 2 + torch.arange(KEYS) % 5 >= torch.arange(KEYS)
    return (q, k, v, torch.randn_like(q), seen)


@pytest.mark.parametrize("name", CONDITIONS | NUMBERS)
def test_attention_selects_by_conditions(name: str) -> None:
    """Forward and backward; what is no condition is added."""
    made, given = (CONDITIONS | NUMBERS)[name], inputs()
    found = imported(step(made), *given).module.walk()
    masks = [op.mask for op in found if isinstance(op, AttentionOp | AttentionBackwardOp)]
    kinds = [element_type_of(mask) == i1 for mask in masks if mask is not None]
    assert kinds == [name in CONDITIONS] * 2
    q, k, v, grad, seen = given
    check(run(step(made), *given), truth(q, k, v, grad, made(seen)), torch.float32)


KEPT: dict[str, tuple[Made, str]] = {
    "a condition": (added, "37x43xi1"),
    "numbers": (lambda seen: torch.where(seen, 0.5, HIDDEN), "37x43xf32"),
}


@pytest.mark.usefixtures("like_cuda")
@pytest.mark.parametrize("name", KEPT)
def test_the_backward_pass_is_given_the_condition(name: str, tmp_path: Path) -> None:
    made, kept = KEPT[name]
    torch.compiler.reset()

    def attention(q: Tensor, k: Tensor, v: Tensor, seen: Tensor) -> Tensor:
        return EFFICIENT(q, k, v, made(seen), True, 0.3)[0]

    compiled: Any = torch.compile(attention, backend="mlir", options=OPTIONS | {"dump": str(tmp_path)})
    q, k, v, _, seen = inputs()
    compiled(q.requires_grad_(), k, v, seen).sum().backward()
    (backward,) = tmp_path.glob("*backward/00-import.mlir")
    (head,) = (line for line in backward.read_text().splitlines() if "func.func @main" in line)
    given = head.partition("->")[0]
    assert f"tensor<{kept}>" in given
    assert given.count("37x43x") == kept.count("37x43x")
