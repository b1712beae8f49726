"""Sums over shifts of an image and their gradients, from Triton text: little is stored between kernels."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from test_gpu_emulated import floats
from torch import Tensor
from torch.nn import functional

from tilewright.frontend.explain import Explanation, explain

SIZES = (2, 3, 7, 6)


def shifts(x: Tensor, radius: int, mode: str = "constant") -> list[Tensor]:
    rows, columns = x.shape[-2:]
    padded = functional.pad(x, (radius,) * 4, mode=mode)
    reach = range(2 * radius + 1)
    return [padded[..., i : i + rows, j : j + columns] for i in reach for j in reach]


def correlation(x: Tensor, y: Tensor) -> Tensor:
    """How alike the features of two images are, at each distance."""
    return torch.stack([(x * other).mean(1) for other in shifts(y, 1)], 1).square().sum()


def edges(x: Tensor, y: Tensor) -> Tensor:
    a, b, c, d, _, e, f, g, h = shifts(x * y, 1, "reflect")
    across, down = c + 2 * e + h - a - 2 * d - f, f + 2 * g + h - a - 2 * b - c
    return (across * across + down * down + 1e-3).sqrt().sum()


@pytest.mark.parametrize(
    ("function", "kernels", "dtype"),
    [(correlation, 1, torch.float32), (edges, 3, torch.float32), (edges, 3, torch.bfloat16)],
)
def test_gradients(function: Callable[[Tensor, Tensor], Tensor], kernels: int, dtype: torch.dtype) -> None:
    torch.compiler.reset()
    given = [floats(*SIZES, seed=seed).to(dtype) for seed in (0, 1)]

    def step(x: Tensor, y: Tensor) -> Tensor:
        loss = function(x, y)
        loss.backward()  # pyright: ignore[reportUnknownMemberType]
        return loss

    def gradients(run: Callable[[Tensor, Tensor], object], wide: torch.dtype) -> Tensor:
        x, y = (value.to(wide, copy=True).requires_grad_() for value in given)
        run(x, y)
        assert x.grad is not None
        assert y.grad is not None
        return torch.stack((x.grad, y.grad)).double()

    exact, eager = gradients(step, torch.float64), gradients(step, dtype)
    options = {"target": "gpu_emulated", "fallback": False}
    reports: list[Explanation] = []
    ours = gradients(lambda x, y: reports.append(explain(step, x, y, options=options)), dtype)
    assert functional.mse_loss(ours, exact).sqrt() <= 2 * functional.mse_loss(eager, exact).sqrt()
    _, backward = reports[0].graphs
    assert sum(backward.kernels.values()) == kernels
    assert not backward.library_calls
