"""Products of one row or few, as models that generate text have them, on GPUs (emulated)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from drawn import tensor
from judged import judged_with_gradients
from torch import Tensor
from torch.nn import functional as F

from benchmarks.numerics import judge
from tilewright.frontend.explain import explain

OPTIONS = {"target": "gpu_emulated", "fallback": False}


def linear(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return F.silu(F.linear(x, w, b))


def turned(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """Few columns, for few rows."""
    return (w @ x.t()).relu() + b[:, None]


def widened(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return x.float() @ w.float().t() + b


@pytest.mark.parametrize("function", [linear, turned, widened])
@pytest.mark.parametrize(
    ("rows", "columns", "depth", "dtype"),
    [
        (1, 65, 333, torch.bfloat16),
        (1, 513, 24, torch.float16),
        (2, 65, 333, torch.float16),
        (5, 3, 1500, torch.bfloat16),
        (7, 513, 24, torch.bfloat16),
    ],
)
def test_products(
    function: Callable[..., Tensor], rows: int, columns: int, depth: int, dtype: torch.dtype
) -> None:
    inputs = [
        tensor(*sizes, seed=i).to(dtype)
        for i, sizes in enumerate([(rows, depth), (columns, depth), (columns,)])
    ]
    judged_with_gradients(function, inputs, OPTIONS)


@pytest.mark.parametrize(
    ("left", "right"),
    [((1, 0), (0, 65)), ((1, 70), (70, 0)), ((3, 1, 70), (3, 70, 65)), ((70,), (70, 65)), ((65, 70), (70,)),
     ((1, 700), (700, 1)), ((64, 1), (1, 65))],
)  # fmt: skip
def test_vectors(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = tensor(*left).bfloat16(), tensor(*right, seed=1).bfloat16()
    got = explain(torch.matmul, x, y, options=OPTIONS).result
    assert (verdict := judge(got, x @ y, x.double() @ y.double())), verdict.why


def test_infinite_factors_stay_in_their_rows() -> None:
    """Rows that a tile has beside them are zero: times an infinite factor that is NaN, which nobody reads."""
    x, w = tensor(3, 80).bfloat16(), tensor(80, 80, seed=1).bfloat16()
    x[1, 7], w[70, 3] = torch.inf, torch.inf
    got = explain(torch.matmul, x, w, options=OPTIONS).result
    assert torch.equal(got.isfinite(), (x @ w).isfinite())
    assert torch.equal(got.isnan(), (x @ w).isnan())


def feed_forward(x: Tensor, norm: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    y = F.rms_norm(x, (x.shape[-1],), norm)
    return x + F.linear(F.silu(F.linear(y, gate)) * F.linear(y, up), down)


@pytest.mark.parametrize(("rows", "kernels"), [(1, 3), (2, 3)])
def test_one_row_is_a_sum_like_any_other(rows: int, kernels: int) -> None:
    """Two products of the same row are one kernel with what joins them and the row's norm."""
    sizes = ((rows, 768), (768,), (2048, 768), (2048, 768), (768, 2048))
    inputs = [tensor(*each, seed=i).bfloat16() / 8 for i, each in enumerate(sizes)]
    found = explain(feed_forward, *inputs, options=OPTIONS)
    assert (
        verdict := judge(found.result, feed_forward(*inputs), feed_forward(*[x.double() for x in inputs]))
    ), verdict.why
    (graph,) = found.graphs
    assert len(graph.kernels) == kernels
