"""Columns that a program holds are read once: softmax and norms along another dimension than the last."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from test_gpu_emulated import check, floats
from torch import Tensor

from tilewright.frontend.explain import explain

Shape = tuple[int, ...]


def channels_first_norm(x: Tensor, w: Tensor) -> Tensor:
    mean = x.mean(1, keepdim=True)
    variance = (x - mean).pow(2).mean(1, keepdim=True)
    return w[:, None] * (x - mean) / torch.sqrt(variance + 1e-6)


def softmax(x: Tensor) -> Tensor:
    return x.softmax(1)


def gradient(x: Tensor) -> Tensor:
    """Of a softmax, by its result."""
    return (x * x.cos()) - x * (x * x.cos()).sum(1, keepdim=True)


def both_ways(x: Tensor) -> Tensor:
    return x.exp().sum(1) + x.sum(0)


def lengths(x: Tensor) -> Tensor:
    return F.normalize(x, dim=0)


CASES: dict[str, tuple[Callable[..., Tensor], tuple[Shape, ...], torch.dtype]] = {
    "softmax": (softmax, ((3, 130, 21),), torch.float32),
    "halves": (softmax, ((2, 500, 16),), torch.bfloat16),
    "gradient": (gradient, ((3, 100, 33),), torch.float32),
    "norm": (channels_first_norm, ((2, 96, 35), (96,)), torch.float32),
    "both ways": (both_ways, ((65, 65),), torch.float32),
    "lengths": (lengths, ((300, 37),), torch.float32),
}


@pytest.mark.parametrize("name", CASES)
def test_one_kernel(name: str) -> None:
    function, shapes, dtype = CASES[name]
    inputs = [floats(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)]
    check(function, *inputs)
    torch.compiler.reset()
    (graph,) = explain(function, *inputs, options={"target": "gpu_emulated", "fallback": False}).graphs
    assert sum(graph.kernels.values()) == 1
