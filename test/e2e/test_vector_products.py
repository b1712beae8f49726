"""Products of a matrix and a vector: kernels on the CPU, that fuse; against eager."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import tilewright
from benchmarks.numerics import judge_tensor

SHAPES = [
    # rows, sum, columns
    (1, 77, 33),
    (37, 5, 1),
    (1, 1000, 1),
    (1, 1, 6),
    (300, 129, 1),
    (1, 0, 5),
    (0, 4, 1),
]


def sample(*sizes: int, dtype: torch.dtype) -> Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(len(sizes)), dtype=torch.float64).to(
        dtype
    )


def agree(function: Callable[..., Tensor], *inputs: Tensor) -> None:
    torch.compiler.reset()
    truth = function(*(x.double() for x in inputs))
    verdict = judge_tensor(torch.compile(function, backend="mlir")(*inputs), function(*inputs), truth)
    assert verdict, verdict.why
    found = tilewright.explain(function, *inputs)
    assert (found.library_calls, found.fallbacks) == (0, 0)
    assert found.kernels > 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rows_and_columns(shape: tuple[int, int, int], dtype: torch.dtype) -> None:
    m, k, n = shape

    def products(x: Tensor, y: Tensor, z: Tensor, w: Tensor) -> Tensor:
        return (
            (x @ y).relu() + (z.mT @ w.mT) + torch.bmm(x[None].expand(3, -1, -1), y[None].expand(3, -1, -1))
        )

    inputs = (sample(m, k, dtype=dtype), sample(k, n, dtype=dtype), sample(k, m, dtype=dtype))
    agree(products, *inputs, sample(n, k, dtype=dtype))


def test_strides_and_bias() -> None:
    def head(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return torch.nn.functional.linear(x[:, ::2], w[:, 1:], b).sigmoid()

    make = {"dtype": torch.float32}
    agree(head, sample(9, 40, **make), sample(1, 21, **make), sample(1, **make))


def test_attention_of_one_query() -> None:
    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.softmax(q @ k.mT / 4, -1) @ v

    make = {"dtype": torch.float32}
    agree(attend, sample(6, 1, 16, **make), sample(6, 37, 16, **make), sample(6, 37, 16, **make))
