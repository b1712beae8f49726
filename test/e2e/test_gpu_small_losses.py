"""Losses of a few rows, on the emulated GPU: one kernel reduces each row, and all of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from drawn import positions, tensor
from judged import judged_with_gradients
from torch import Tensor

from tilewright.frontend.explain import explain

OPTIONS = {"target": "gpu_emulated", "fallback": False}
LOSSES: dict[str, Callable[[Tensor], Tensor]] = {
    "cross entropy": lambda x: F.cross_entropy(x, positions(x.shape[1], x.shape[0])),
    "entropy": lambda x: -(x.softmax(-1) * x.log_softmax(-1)).sum(-1).mean(),
    "squares of a norm": lambda x: F.layer_norm(x, x.shape[1:]).square().mean(),
    "largest of sums": lambda x: x.logsumexp(1).amax(),
    "columns of probabilities": lambda x: (x.softmax(1) + x).mean(0),
    "sums beside elements": lambda x: torch.cat([x.abs().sum()[None], (x * 2).flatten()]),
}
SHAPES = ((8, 128), (100, 80), (64, 64), (33, 17), (1, 300), (300, 12))
"""The last but one has one row; programs go along the rows of (100, 80) in steps."""
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", LOSSES)
def test_as_in_eager(name: str, shape: tuple[int, int], dtype: torch.dtype) -> None:
    torch._dynamo.reset()
    judged_with_gradients(LOSSES[name], [tensor(*shape, dtype=dtype)], OPTIONS)


@pytest.mark.parametrize(
    ("name", "shape", "kernels"),
    [*((name, (8, 128), 1) for name in LOSSES), ("cross entropy", (8, 1100), 2)],
    ids=str,
)
def test_one_kernel_where_few_rows_are_reduced(name: str, shape: tuple[int, int], kernels: int) -> None:
    torch._dynamo.reset()
    (graph,) = explain(LOSSES[name], tensor(*shape), options=OPTIONS).graphs
    assert sum(graph.kernels.values()) == kernels
