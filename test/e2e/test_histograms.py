"""Histograms of equal ranges are kernels that count as eager mode does."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tilewright.frontend.decompositions.histograms import histograms
from tilewright.frontend.explain import explain

TARGETS = ("cpu_openmp", "gpu_emulated")
INF, NAN = float("inf"), float("nan")


def counts(inputs: list[Tensor]) -> list[Tensor]:
    return [
        found
        for x in inputs
        for found in (
            torch.histc(x, 10, -2, 3),
            torch.histc(x, 7, 0.1, 0.7),
            torch.histc(x.t(), 1, -1, 1),
            torch.histc(x[:0], 3, 0, 1),
            torch.histc(x[0, 0], 3, -9, 9),
            torch.histc(x[:, ::2], min=-1, max=1.5),
        )
    ]


@pytest.mark.parametrize("target", TARGETS)
def test_as_in_eager(target: str) -> None:
    """Also numbers at the borders of the ranges, beyond them, and those that are none."""
    x = torch.randn(13, 37, generator=torch.Generator().manual_seed(0)) * 2
    x[0, :11], x[1, :8] = torch.linspace(-2, 3, 11), torch.linspace(0.1, 0.7, 8)
    x[2, :4] = torch.tensor([INF, -INF, NAN, -0.0])
    inputs = [x, x.double()]
    torch._dynamo.reset()
    found = explain(counts, inputs, options={"target": target, "fallback": False})
    assert not any(graph.library_calls for graph in found.graphs)
    torch.testing.assert_close(found.result, counts(inputs), rtol=0, atol=0)


def test_what_is_left_to_aten() -> None:
    """It looks whether the least and the largest number are finite; on CPUs it rounds each step to a half."""

    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        return torch.histc(x, 3), torch.histc(x.bfloat16(), 3, 0, 8)

    torch._dynamo.reset()
    found = explain(function, torch.arange(9.0), options={"target": "cpu_openmp"})
    assert [dict(graph.library_calls) for graph in found.graphs] == [{"aten::histc": 2}]
    torch.testing.assert_close(found.result, function(torch.arange(9.0)), rtol=0, atol=0)


def test_integers_of_gpus() -> None:
    """Eager mode counts them there only: how often each expert was chosen."""
    (row,) = histograms().values()
    x = torch.tensor([3, 0, 2, 3, 3, 9, -1, 0])
    for dtype in (torch.int64, torch.int32, torch.int8):
        found = row(x.to(dtype), 4, 0, 3)
        assert found.tolist() == [2, 0, 1, 3]
        assert found.dtype == dtype
