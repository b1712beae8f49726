"""Sums of a few elements that join the reduction of rows which reads them, from Triton text (emulated)."""

from __future__ import annotations

import pytest
import torch
from drawn import positions, tensor
from torch import Tensor

from benchmarks.numerics import judge
from tilewright.frontend.explain import explain


def experts(x: Tensor, i: Tensor, y: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """What two experts make of each token, weighted and added, and its norm."""
    added = x + (y[i] * w).view(*x.shape[:1], 2, -1).sum(1).to(x.dtype)
    wide = added.to(w.dtype)
    return added, (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_experts_are_added_in_the_norm(dtype: torch.dtype) -> None:
    x, y, w = tensor(13, 70).to(dtype), tensor(26, 70, seed=1).to(dtype), tensor(26, 1, seed=2)
    i = positions(26, 26)
    found = explain(experts, x, i, y, w, options={"target": "gpu_emulated", "fallback": False})
    truth = experts(x.double(), i, y.double(), w.double())
    for got, want, exact in zip(found.result, experts(x, i, y, w), truth, strict=True):
        assert (verdict := judge(got, want, exact)), verdict.why
    (graph,) = found.graphs
    assert sum(graph.kernels.values()) == 1
