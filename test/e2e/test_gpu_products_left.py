"""Products of halves that a library does on GPUs (emulated): as eager mode has them, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from drawn import tensor
from judged import judged_with_gradients
from torch import Tensor
from torch.nn import functional as F

from tilewright.passes.pipeline import pipeline_text

LEFT = {
    "target": "gpu_emulated",
    "fallback": False,
    "pipeline": pipeline_text("gpu").replace("leave-products", "leave-products{least=1}"),
}


def linear(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """With the bias in the library's product, in the layout of heads."""
    return F.linear(x, w, b).view(*x.shape[:2], 4, 3).transpose(1, 2)


def batches(x: Tensor, y: Tensor) -> Tensor:
    return x @ y.transpose(1, 2) @ x


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    ("function", "sizes"),
    [(linear, ((3, 5, 7), (12, 7), (12,))), (batches, ((3, 5, 7), (3, 5, 7)))],
    ids=["linear", "batches"],
)
def test_products_and_gradients(
    function: Callable[..., Tensor], sizes: Sequence[Sequence[int]], dtype: torch.dtype
) -> None:
    inputs = [tensor(*each, seed=i).to(dtype) for i, each in enumerate(sizes)]
    found = judged_with_gradients(function, inputs, LEFT)
    forward, *_ = found.graphs
    assert not forward.kernels
