"""Grouped products: a batch where no group ends at run time, else a call of a library, no fall-back."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tilewright.frontend.explain import explain


def numbers(*sizes: int) -> Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(0)).bfloat16()


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
def test_as_in_eager(target: str) -> None:
    def function(x: Tensor, w: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
        rows = torch._grouped_mm(x.flatten(0, 1).relu(), w, ends).sin()
        return torch._grouped_mm(x, w), rows

    x, w, ends = numbers(3, 24, 16), numbers(3, 16, 40), torch.tensor([20, 20, 72], dtype=torch.int32)
    torch._dynamo.reset()
    found = explain(function, x, w, ends, options={"target": target, "fallback": False})
    calls = [call for graph in found.graphs for call in graph.library_calls]
    assert calls.count("aten::_grouped_mm") == 1
    torch.testing.assert_close(found.result, function(x, w, ends))
