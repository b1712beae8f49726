"""Gradients of padding by reflection and replication, from Triton text: one kernel, no atomic additions."""

from __future__ import annotations

import pytest
import torch
from test_gpu_emulated import floats
from torch import Tensor
from torch.nn import functional

from tilewright.frontend.explain import explain

CASES: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...] = (
    ("reflect", (2, 3, 7), (6, 2)),
    ("reflect", (2, 2, 5, 4), (1, 3, 0, 4)),
    ("reflect", (2, 3, 6, 5), (2, -1, -4, 5)),
    ("replicate", (2, 3, 4, 5), (2, 1, 0, 3)),
    ("replicate", (1, 2, 3, 4, 2), (1, 0, 2, 2, 0, 1)),
)


@pytest.mark.parametrize(("mode", "shape", "padding"), CASES)
def test_gradients(mode: str, shape: tuple[int, ...], padding: tuple[int, ...]) -> None:
    torch.compiler.reset()
    x = floats(*shape).requires_grad_()
    weights = floats(*functional.pad(x, padding, mode=mode).shape, seed=1)

    def step(x: Tensor, weights: Tensor) -> Tensor:
        loss = (functional.pad(x.sigmoid(), padding, mode=mode) * weights).sum()
        loss.backward()  # pyright: ignore[reportUnknownMemberType]
        return loss

    step(x, weights)
    expected, x.grad = x.grad, None
    found = explain(step, x, weights, options={"target": "gpu_emulated", "fallback": False})
    torch.testing.assert_close(x.grad, expected)
    _, backward = found.graphs
    assert sum(backward.kernels.values()) == 1
    assert not backward.library_calls
