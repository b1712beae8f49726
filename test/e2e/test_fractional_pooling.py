"""Max pooling by windows at drawn places is kernels, and so is its gradient."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from tilewright.frontend.explain import explain

TARGETS = ("cpu_openmp", "gpu_emulated")
PLANES, VOLUMES = torch.ops.aten.fractional_max_pool2d, torch.ops.aten.fractional_max_pool3d


def drawn(*sizes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.rand(sizes, generator=torch.Generator().manual_seed(0), dtype=dtype)


def image(*sizes: int) -> Tensor:
    """Few different numbers, so that many are equal; some are none, some windows have nothing but -inf."""
    x = torch.randint(-3, 4, sizes, generator=torch.Generator().manual_seed(0)).float()
    x[0, 0], x[0, 1, 2:5, 3:7], x[1, 0, 0, 0] = -torch.inf, torch.nan, torch.inf
    return x


def pooled(x: Tensor, samples: Tensor) -> tuple[Any, ...]:
    """`x` is [2, 3, 29, 34], and as a volume [2, 3, 29, 17, 2]."""
    volume = x.view(2, 3, 29, 17, 2)
    return (
        *PLANES(x, [3, 2], [11, 17], samples),
        *PLANES(x, [1, 5], [28, 1], samples),
        *PLANES(x.mT, [2, 2], [9, 13], samples),
        *PLANES(x[1], [2, 3], [4, 5], samples[1:]),
        *VOLUMES(volume, [2, 3, 1], [12, 7, 1], torch.cat([samples, samples[..., :1]], 2)),
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_as_in_eager(dtype: torch.dtype, target: str) -> None:
    x, samples = image(2, 3, 29, 34).to(dtype), drawn(2, 3, 2, dtype=dtype)
    torch._dynamo.reset()
    found = explain(pooled, x, samples, options={"target": target, "fallback": False})
    assert not any(graph.library_calls for graph in found.graphs)
    torch.testing.assert_close(found.result, pooled(x, samples), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("target", TARGETS)
def test_gradients(target: str) -> None:
    def function(x: Tensor, samples: Tensor) -> Tensor:
        values, _ = PLANES(x, [3, 2], [11, 17], samples)
        return (values * torch.arange(17.0)).sum()

    torch._dynamo.reset()
    options = {"target": target, "fallback": False}
    gradients: list[Tensor | None] = []
    for call in (torch.compile(function, backend="mlir", options=options), function):
        x = image(2, 3, 29, 34).nan_to_num().requires_grad_()
        call(x, drawn(2, 3, 2)).backward()
        gradients.append(x.grad)
    torch.testing.assert_close(*gradients)
