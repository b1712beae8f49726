"""What reads a product along an axis that is as long as its sum: no loop may do both."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.numerics import check_model

Product = Callable[[Tensor, Tensor], Tensor]
CASES: dict[str, tuple[Product, tuple[int, ...], tuple[int, ...], int]] = {
    # the sizes of what is multiplied, and how long the sum is
    "rows": (functional.linear, (40, 16), (64, 16), 16),
    "one row": (functional.linear, (1, 16), (64, 16), 16),
    "group": (functional.linear, (1, 64), (96, 64), 2),
    "vector": (torch.matmul, (40, 16), (16,), 16),
    "batches": (torch.matmul, (3, 20, 16), (3, 16, 24), 16),
    "filter": (functional.conv1d, (1, 32, 20), (32, 32, 4), 4),
    "pixels": (functional.conv2d, (1, 32, 10, 10), (24, 32, 1, 1), 32),
    "planes": (lambda x, w: functional.conv2d(x, w, groups=32), (1, 32, 10, 10), (32, 1, 3, 3), 3),
}


class Again(nn.Module):
    """`silu(x * w)[..., None] * more`."""

    def __init__(self, product: Product, weight: tuple[int, ...], length: int) -> None:
        super().__init__()
        self.product = product
        self.weight = nn.Parameter(torch.randn(weight) / weight[-1])
        self.more = nn.Parameter(torch.randn(length))

    def forward(self, x: Tensor) -> Tensor:
        return functional.silu(self.product(x, self.weight))[..., None] * self.more


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_along_the_sum(name: str, dtype: torch.dtype, target: str) -> None:
    product, sizes, weight, length = CASES[name]
    torch.manual_seed(0)
    model = Again(product, weight, length).to(dtype)
    torch.compiler.reset()
    run = torch.compile(model, backend="mlir", options={"target": target})
    verdict = check_model(run, model, (torch.randn(sizes).to(dtype),))
    assert verdict, verdict.why
