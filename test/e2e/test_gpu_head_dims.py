"""Heads that fill no tile are cut into parts (`split-head-dims`): as exact, and no zeros are multiplied."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from judged import judged_with_gradients
from packaging.version import Version
from torch import Tensor
from torch.nn import functional as F

from benchmarks.gpu_static import Lowered, lowering_for, rows_of, traced, unit_of
from tilewright.targets.gpu_triton.compiler import compile_kernel, triton_version

HEADS = {"40": (40, 40), "72": (72, 72), "80": (80, 80), "160": (160, 160), "latent": (192, 96)}
"""Elements of queries and keys, and of values."""


def masked(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    mask = torch.arange(k.shape[2], device=k.device) % 5 != 2
    return F.scaled_dot_product_attention(q, k, v, mask.expand(q.shape[2], -1))


def turned(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Rotary positions (arXiv:2104.09864): each half of a head, cut elsewhere, meets the other."""

    def turn(x: Tensor) -> Tensor:
        angle = torch.arange(x.shape[2], device=x.device)[:, None] / 7
        left, right = x.chunk(2, -1)
        return (x * angle.cos() + torch.cat((-right, left), -1) * angle.sin()).to(x.dtype)

    return F.scaled_dot_product_attention(turn(q), turn(k), v, is_causal=True)


FORMS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "causal": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    "masked": masked,
    "shared heads": lambda q, k, v: F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True),
    "turned": turned,
    "no softmax": lambda q, k, v: torch.relu(0.1 * q @ k.transpose(-1, -2)) @ v,
}


def inputs(heads: str, length: int, dtype: torch.dtype) -> list[Tensor]:
    made = torch.Generator().manual_seed(3)
    of_keys, of_values = HEADS[heads]
    shapes = [(2, 4, length, size) for size in (of_keys, of_keys, of_values)]
    return [torch.randn(shape, generator=made).to(dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("heads", HEADS)
def test_results_and_gradients(heads: str, form: str, dtype: torch.dtype) -> None:
    judged_with_gradients(FORMS[form], inputs(heads, 37, dtype), {"target": "gpu_emulated"})


SPILLS_BEFORE_3_8 = ("causal", torch.bfloat16, "sm_100")
"""A few bytes, by the assembler that comes with Triton 3.6 and 3.7."""


@pytest.mark.skipif(not triton_version(), reason="triton is not installed")
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100", "gfx942"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("heads", ["72", "80"])
@pytest.mark.parametrize("form", ["causal", "shared heads"])
def test_nothing_spills(form: str, heads: str, dtype: torch.dtype, target: str, tmp_path: Path) -> None:
    given = [x.requires_grad_() for x in inputs(heads, 512, dtype)]
    modules = traced(FORMS[form], given, True, lowering_for(target))
    lowered = [Lowered(module, unit_of(module, target), target) for module in modules]
    rows = [row for each in lowered for row in rows_of("attention", each, tmp_path)]
    assert len(rows) >= 3
    little = Version(triton_version()) < Version("3.8") and (form, dtype, target) == SPILLS_BEFORE_3_8
    assert [row.faults for row in rows if row.faults] == [("spills 8",)] * little


@pytest.mark.skipif(not triton_version(), reason="triton is not installed")
def test_matrix_units_multiply_what_heads_have(tmp_path: Path) -> None:
    """Tiles of 128 columns took 128 instructions for each step on sm_80: heads of 80 want 80 of these."""
    (module,) = traced(FORMS["shared heads"], inputs("80", 512, torch.bfloat16), False, lowering_for("sm_80"))
    unit = unit_of(module, "sm_80")
    assert compile_kernel(unit.text, unit.kernels[0], "sm_80", cache_dir=tmp_path).tensor_core == 80
