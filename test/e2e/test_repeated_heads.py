"""Heads of keys that programs repeat for heads of queries are shared on CPUs: as exact, without copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.numerics import judge
from tilewright import explain


def expanded(x: Tensor) -> Tensor:
    """`repeat_kv` of transformers."""
    b, h, n, e = x.shape
    return x[:, :, None].expand(b, h, 3, n, e).reshape(b, 3 * h, n, e)


def rows_outside(x: Tensor) -> Tensor:
    """Repeated where rows stand between batch and heads."""
    return x.transpose(1, 2).repeat_interleave(3, 2).transpose(1, 2)


REPEATS: dict[str, tuple[int, Callable[[Tensor], Tensor]]] = {
    "expanded": (2, expanded),
    "rows outside": (2, rows_outside),
    "one head": (1, lambda x: x.expand(-1, 6, -1, -1)),
}


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()


def inputs(rows: int, shared: int, dtype: torch.dtype) -> list[Tensor]:
    made = torch.Generator().manual_seed(3)
    shapes = [(2, 6, rows, 16), (2, shared, 40, 16), (2, shared, 40, 16)]
    return [torch.randn(shape, generator=made).to(dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("rows", [1, 19])
@pytest.mark.parametrize("form", REPEATS)
def test_results_and_gradients(form: str, rows: int, dtype: torch.dtype) -> None:
    """Of few rows, which a library computes, and of more."""
    shared, repeated = REPEATS[form]

    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, repeated(k), repeated(v))

    def run(function: Any, given: list[Tensor]) -> list[Tensor]:
        leaves = [t.clone().requires_grad_() for t in given]
        out = function(*leaves)
        grad = torch.linspace(-1, 1, out.numel(), dtype=torch.float64).view(out.shape).to(out.dtype)
        return [out.detach(), *torch.autograd.grad(out, leaves, grad)]

    given = inputs(rows, shared, dtype)
    compiled = torch.compile(attention, backend="mlir", options={"fallback": False})
    truth = run(attention, [t.double() for t in given])
    verdict = judge(run(compiled, given), run(attention, given), truth)
    assert verdict, verdict.why


@pytest.mark.parametrize("form", REPEATS)
def test_a_library_reads_each_head_once(form: str) -> None:
    """One row of queries, as when text is generated."""
    shared, repeated = REPEATS[form]
    q, k, v = inputs(1, shared, torch.float32)
    found = explain(lambda q, k, v: F.scaled_dot_product_attention(q, repeated(k), repeated(v)), q, k, v)
    assert found.kernels == 0, "nothing is copied"
