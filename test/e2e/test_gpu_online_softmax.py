"""Softmax and log-sum-exp of long rows and columns, whose maximum and sum take one pass (emulated)."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tilewright.frontend.explain import explain

SHAPES: dict[str, tuple[tuple[int, ...], int, bool]] = {
    "parts": ((2, 160000), 1, False),
    "unknown_length": ((3, 700), 1, True),
    "columns": ((3, 1030, 70), 1, False),
    "columns_of_one_matrix": ((1, 700, 5), 1, False),
    "columns_in_parts": ((4200, 37), 0, False),
}


def softmaxes(x: Tensor, dim: int) -> tuple[Tensor, ...]:
    return torch.softmax(x, dim), torch.log_softmax(x, dim), torch.logsumexp(x, dim)


def wrong(got: Tensor, eager: Tensor, truth: Tensor, tolerance: float) -> bool:
    """By the rule of all tests: like eager, or about as far from the truth."""
    if torch.allclose(got, eager, rtol=tolerance, atol=tolerance, equal_nan=True):
        return False
    finite = truth.isfinite()
    if not torch.equal(got[~finite].double(), truth[~finite]):
        return True
    ours, theirs = ((t.double() - truth)[finite].square().mean().sqrt() for t in (got, eager))
    return bool(ours > 2 * theirs)


@pytest.mark.parametrize("shape", SHAPES)
def test_like_eager(shape: str, tmp_path: Path) -> None:
    sizes, dim, dynamic = SHAPES[shape]
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(sizes, generator=generator) * 20
    torch._dynamo.reset()
    options = {"target": "gpu_emulated", "dump": str(tmp_path)}
    found = torch.compile(softmaxes, backend="mlir", options=options, dynamic=dynamic)(x, dim)
    for got, eager, truth in zip(found, softmaxes(x, dim), softmaxes(x.double(), dim), strict=True):
        assert not wrong(got, eager, truth, 1.3e-6)
    assert any("tk.sumexp" in path.read_text() for path in tmp_path.rglob("*.mlir"))


@pytest.mark.parametrize(("sizes", "kernels"), [((64, 600, 70), 2), ((3, 1030, 70), 3)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_columns_are_read_once_for_both(sizes: tuple[int, ...], kernels: int, dtype: torch.dtype) -> None:
    """And once more for what is made of them; few of them are reduced in parts."""
    x = torch.randn(sizes, generator=torch.Generator().manual_seed(0)).to(dtype)
    torch.compiler.reset()  # else these sizes were symbols
    options = {"target": "gpu_emulated", "fallback": False}
    (graph,) = explain(lambda x: torch.softmax(x, 1), x, options=options).graphs
    assert sum(graph.kernels.values()) == kernels


@pytest.mark.parametrize("columns", [False, True], ids=["rows", "columns"])
def test_infinite_numbers_and_none(columns: bool) -> None:
    """Rows of -inf, with one inf, with NaN, and with -inf wherever a lane looks first."""
    x = torch.randn(6, 20001, generator=torch.Generator().manual_seed(0))
    x[0], x[1, 77], x[2, 20000] = -math.inf, math.inf, math.nan
    x[3, :19000] = -math.inf
    x[4, 3:] = -math.inf
    if columns:
        x = x[:, :2000].mT.contiguous()
        x[77, 1], x[1999, 2] = math.inf, math.nan
    dim = 0 if columns else 1
    torch._dynamo.reset()
    found = torch.compile(softmaxes, backend="mlir", options={"target": "gpu_emulated"})(x, dim)
    for got, eager in zip(found, softmaxes(x, dim), strict=True):
        torch.testing.assert_close(got, eager, equal_nan=True)
