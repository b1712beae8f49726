"""Gradients of resized lines, images and volumes, against eager: each element reads what was made of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tilewright.frontend.decompositions.upsampling import (
    CUBIC,
    LINEAR,
    NEAREST,
    NEAREST_MIDDLE,
    gradient_of,
    lines_of,
)
from tilewright.frontend.explain import explain

interpolate: Any = F.interpolate
FILTERS = {"linear": (LINEAR, 1), "bilinear": (LINEAR, 2), "trilinear": (LINEAR, 3), "bicubic": (CUBIC, 2)}
RESIZED: list[tuple[Sequence[int], dict[str, Any]]] = [
    ((5, 7, 3), {"size": (10, 14, 6)}),
    ((5, 7, 3), {"size": (8, 9, 7)}),
    ((7, 5, 4), {"size": (3, 5, 1)}),
    ((1, 6, 2), {"size": (4, 1, 9)}),
    ((5, 7, 3), {"scale_factor": (1.6, 2.3, 0.7)}),
    ((9, 13, 4), {"scale_factor": (0.4, 3.7, 1.9)}),
    ((48, 31, 3), {"size": (77, 96, 5)}),
]


def random(*sizes: int, seed: int = 0) -> Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("mode", FILTERS)
def test_as_written_out(mode: str, corners: bool) -> None:
    how, rank = FILTERS[mode]
    for sizes, given in RESIZED:
        ((name, wanted),) = given.items()
        wanted = wanted[:rank]
        x = random(2, 2, *sizes[:rank]).requires_grad_()
        y: Tensor = interpolate(x, **{name: wanted}, mode=mode, align_corners=corners)
        w = random(*y.shape, seed=1)
        (want,) = torch.autograd.grad(y, x, w)
        lines = lines_of(x.shape[2:], y.shape[2:], corners, wanted if name == "scale_factor" else None)
        assert lines is not None
        torch.testing.assert_close(gradient_of(w, lines, how), want)
        torch.testing.assert_close(gradient_of(w.float(), lines, how), want.float(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_as_written_out(mode: str) -> None:
    how = NEAREST if mode == "nearest" else NEAREST_MIDDLE
    whole: list[tuple[Sequence[int], dict[str, Any]]] = [
        ((5, 7, 3), {"scale_factor": (2.0, 3.0, 4.0)}),
        ((6, 9, 8), {"size": (4, 3, 2)}),
    ]
    for rank in (1, 2, 3):
        for sizes, given in (*RESIZED, *whole):
            ((name, wanted),) = given.items()
            x = random(2, 2, *sizes[:rank]).requires_grad_()
            y: Tensor = interpolate(x, **{name: wanted[:rank]}, mode=mode)
            w = random(*y.shape, seed=1)
            (want,) = torch.autograd.grad(y, x, w)
            scales = wanted[:rank] if name == "scale_factor" else None
            lines = lines_of(x.shape[2:], y.shape[2:], False, scales, how.reach[0])
            assert lines is not None
            torch.testing.assert_close(gradient_of(w, lines, how), want)


def step(x: Tensor, w: Tensor, **how: Any) -> tuple[Tensor, Tensor]:
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        y = interpolate(x, **how)
        return y.detach(), torch.autograd.grad((y.float() * w).sum(), x)[0]


CASES: dict[str, tuple[dict[str, Any], torch.dtype]] = {
    "bilinear, aligned": ({"size": (9, 6), "mode": "bilinear", "align_corners": True}, torch.float32),
    "bilinear of halves": ({"scale_factor": 1.3, "mode": "bilinear"}, torch.bfloat16),
    "bilinear of halves, 16 results per element": ({"scale_factor": 1.7, "mode": "bilinear"}, torch.bfloat16),
    "bicubic": ({"scale_factor": 2, "mode": "bicubic"}, torch.float32),
    "nearest": ({"scale_factor": 2, "mode": "nearest"}, torch.float32),
    "nearest to the middle": ({"size": (8, 16), "mode": "nearest-exact"}, torch.float32),
}
LARGE = ("bicubic", "bilinear of halves, 16 results per element")
"""One would have more ops than `fuse` puts into a kernel."""


@pytest.mark.usefixtures("like_cuda")
@pytest.mark.parametrize("case", CASES)
def test_one_kernel(case: str) -> None:
    """That adds nothing in memory, and reads an infinite gradient only where it counts."""
    how, dtype = CASES[case]
    x = random(2, 3, 5, 7).to(dtype).contiguous(memory_format=torch.channels_last)
    w = random(*interpolate(x, **how).shape, seed=1).to(dtype).float()
    if "align_corners" not in how:  # there some weights are exactly 0
        w[1, 2, 3, 4] = torch.inf
    torch._dynamo.reset()
    found = explain(partial(step, **how), x, w, options={"target": "gpu_emulated", "fallback": False})
    assert not any("scatter" in name for graph in found.graphs for name in graph.kernels)
    assert not any(graph.library_calls for graph in found.graphs)
    if case not in LARGE:
        assert len(found.graphs[-1].kernels) == 1
    wide = step(x.double(), w.double(), **how)
    for got, want, exact in zip(found.result, step(x, w, **how), wide, strict=True):
        assert got.stride() == want.stride()
        near = 1e-2 if dtype == torch.bfloat16 else 1e-4
        torch.testing.assert_close(got, exact.to(dtype), rtol=near, atol=1e-4)


@pytest.mark.usefixtures("like_cuda")
def test_inside_transforms() -> None:
    """There torch's own decomposition stays."""

    def slope(x: Tensor) -> Tensor:
        return torch.func.grad(lambda t: interpolate(t, scale_factor=2, mode="bilinear").sin().sum())(x)

    x = random(1, 2, 3, 5).float()
    options = {"target": "gpu_emulated", "fallback": False}
    torch._dynamo.reset()
    got = torch.compile(slope, backend="mlir", options=options)(x)
    torch.testing.assert_close(got, slope(x), rtol=1e-5, atol=1e-5)
