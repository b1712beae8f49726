"""Products of which one factor repeats along what is summed: nothing is copied, and tiles multiply it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from judged import judged_with_gradients
from torch import Tensor
from torch.nn import functional as F

from benchmarks.gpu_static import lost_products, lowering_for, traced, unit_of


def each_thrice(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return F.linear(x.repeat_interleave(3, -1), w, b)


def rows_thrice(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """As hyper-connections begin (arXiv:2409.19606): one stream is several."""
    streams = x.unsqueeze(-2).expand(*x.shape[:-1], 3, x.shape[-1])
    return F.gelu(F.linear(streams.flatten(-2), w, b))


def weight_thrice(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    few = w[:, : w.shape[1] // 3].repeat_interleave(3, 1)
    return torch.tanh(F.linear(x.repeat(*(1,) * (x.dim() - 1), 3), few, b))


FORMS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "each": each_thrice,
    "rows": rows_thrice,
    "weight": weight_thrice,
}
SIZES = {"odd": (37, 19, 13), "whole": (64, 32, 16), "one row": (1, 19, 16), "no rows": (0, 5, 4)}


def inputs(rows: int, columns: int, depth: int, dtype: torch.dtype) -> list[Tensor]:
    made = torch.Generator().manual_seed(3)
    shapes = [(2, rows, depth), (columns, 3 * depth), (columns,)]
    x, w, b = (torch.randn(shape, generator=made) for shape in shapes)
    return [x.to(dtype), (w / (3 * depth) ** 0.5).to(dtype), b.to(dtype)]


@pytest.mark.parametrize("target", ["auto", "gpu_emulated"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("form", FORMS)
def test_results_and_gradients(form: str, size: str, dtype: torch.dtype, target: str) -> None:
    judged_with_gradients(FORMS[form], inputs(*SIZES[size], dtype), {"target": target})


@pytest.mark.parametrize("form", FORMS)
def test_matrix_units_multiply(form: str) -> None:
    given = inputs(64, 32, 16, torch.bfloat16)
    (module,) = traced(FORMS[form], given, False, lowering_for("sm_90"))
    assert lost_products(module) == []
    assert unit_of(module, "sm_90").text.count("tl.dot(") == 1
