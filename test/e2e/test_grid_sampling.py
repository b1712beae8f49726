"""Samples at the places of a grid, and their gradients, against eager: kernels, no call of ATen."""

from __future__ import annotations

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tilewright.frontend.decompositions.grid_sampling import samplings
from tilewright.frontend.explain import explain

TARGETS = ("cpu_openmp", "gpu_emulated")
INF, NAN = float("inf"), float("nan")
COMPILED = [
    ("bilinear", "zeros", True, (5, 7), "cpu_openmp"),
    ("nearest", "reflection", True, (5, 1), "cpu_openmp"),
    ("bilinear", "border", False, (3, 4, 2), "gpu_emulated"),
]
RANKS = {"bilinear": (2, 3), "nearest": (2, 3), "bicubic": (2,)}


def operands(sizes: tuple[int, ...], dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    """An image with strides of its own, places of which a third lies beyond it, and a gradient."""
    random = torch.Generator().manual_seed(0)
    x = torch.randn(2, *sizes, 3, generator=random).movedim(-1, 1)
    points = (4, 3, 2)[: len(sizes)]
    grid = torch.rand(len(sizes), 2, *points, generator=random).movedim(0, -1) * 4 - 2
    return x.to(dtype), grid.to(dtype), torch.randn(2, 3, *points, generator=random).to(dtype)


def sampled(mode: str, padding: str, corners: bool, x: Tensor, grid: Tensor, w: Tensor) -> list[Tensor]:
    with torch.enable_grad():
        x, grid = x.detach().requires_grad_(), grid.detach().requires_grad_()
        y = F.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=corners)
        return [y.detach(), *torch.autograd.grad(y, (x, grid), w)]


@pytest.mark.parametrize(("mode", "padding", "corners", "sizes", "target"), COMPILED)
def test_kernels(mode: str, padding: str, corners: bool, sizes: tuple[int, ...], target: str) -> None:
    torch._dynamo.reset()
    function, given = partial(sampled, mode, padding, corners), operands(sizes)
    found = explain(function, *given, options={"target": target, "fallback": False})
    assert not any(graph.library_calls for graph in found.graphs)
    for got, want in zip(found.result, function(*given), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", RANKS)
def test_every_mode(mode: str, padding: str, corners: bool) -> None:
    """As it is written out, before any of it is compiled."""
    rows = {str(op): row for op, row in samplings().items()}
    how = list(RANKS).index(mode), ["zeros", "border", "reflection"].index(padding), corners
    for rank in RANKS[mode]:
        for sizes in ((5, 7, 3)[:rank], (1, 6, 2)[:rank]):
            x, grid, w = operands(sizes)
            found = rows[f"aten.grid_sampler_{rank}d.default"](x, grid, *how)
            gradients = rows[f"aten.grid_sampler_{rank}d_backward.default"](w, x, grid, *how, (True, True))
            for got, want in zip(
                (found, *gradients), sampled(mode, padding, corners, x, grid, w), strict=True
            ):
                torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
def test_places_that_are_none(target: str) -> None:
    """Elements that are infinite count where they are near, and nowhere else; NaN is on the border."""

    def function(x: Tensor, grid: Tensor, odd: Tensor) -> list[Tensor]:
        sample = partial(F.grid_sample, align_corners=True)
        return [
            sample(x, grid),
            sample(x, grid, padding_mode="border"),
            sample(x, odd, mode="nearest", padding_mode="border"),
            sample(x, odd, mode="nearest"),
            sample(x[:0], grid[:0]),
            sample(x.double(), grid.double(), mode="bicubic"),
            F.affine_grid(torch.ones(1, 2, 3), [1, 1, 3, 2], align_corners=False),
        ]

    x, grid, _ = operands((4, 5))
    x[0, 0, 0, 0], x[1, 0, 3, 4] = INF, -INF
    odd = grid.clone()
    odd[0, :, 0] = torch.tensor([[NAN, 0], [INF, 0], [-INF, 3], [1e9, NAN]])
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="mlir", options={"target": target, "fallback": False})
    for got, want in zip(compiled(x, grid, odd), function(x, grid, odd), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5, equal_nan=True)


def test_any_size() -> None:
    function = partial(F.grid_sample, padding_mode="reflection", align_corners=False)
    torch._dynamo.reset()
    compiled = torch.compile(
        function, backend="mlir", dynamic=True, options={"target": "cpu_openmp", "fallback": False}
    )
    for sizes in ((5, 7), (6, 4)):
        x, grid, _ = operands(sizes)
        torch.testing.assert_close(compiled(x, grid), function(x, grid), rtol=1e-5, atol=1e-5)


def test_halves_compute_in_f32() -> None:
    """As those of GPUs do; cuDNN's operators are one of the modes."""
    rows = {str(op): row for op, row in samplings().items()}
    x, grid, w = operands((5, 7), torch.float16)
    want = sampled("bilinear", "zeros", True, x.float(), grid.float(), w.float())
    got = [
        rows["aten.cudnn_grid_sampler.default"](x, grid),
        *rows["aten.cudnn_grid_sampler_backward.default"](x, grid, w),
    ]
    for ours, theirs in zip(got, want, strict=True):
        torch.testing.assert_close(ours, theirs.half())
