"""Gradients of attention whose rows are loaded once, for products that take them either way round."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from tilewright.passes.pipeline import pipeline_text

_HOPPER = (
    pipeline_text("gpu")
    .replace("schedule-gpu", "schedule-gpu{shared=227 units=group}")
    .replace("share-turned-loads", "share-turned-loads{units=group}")
)
"""As for a device whose matrix units read factors from shared memory and keep sums in registers."""


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("heads", "length", "depth"), [(2, 130, 64), (1, 67, 80), (1, 200, 128)])
def test_gradients_are_those_of_eager(
    heads: int, length: int, depth: int, causal: bool, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heads that fill their tiles and that do not; lengths that leave a rest."""
    monkeypatch.setenv("TILEWRIGHT_DUMP", str(tmp_path))
    torch._dynamo.reset()
    options = {"target": "gpu_emulated", "pipeline": _HOPPER}

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return scaled_dot_product_attention(q, k, v, is_causal=causal)

    given = [torch.randn(1, heads, length, depth).bfloat16().requires_grad_() for _ in range(3)]
    slope = torch.randn(1, heads, length, depth).bfloat16()
    got = torch.autograd.grad(torch.compile(attend, backend="mlir", options=options)(*given), given, slope)
    wide = [x.detach().double().requires_grad_() for x in given]
    truth = torch.autograd.grad(attend(*wide), wide, slope.double())
    eager = torch.autograd.grad(attend(*given), given, slope)
    for ours, theirs, exact in zip(got, eager, truth, strict=True):
        error, allowed = ((x.double() - exact).square().mean().sqrt() for x in (ours, theirs))
        assert error <= 3 * allowed
    texts = [path.read_text() for path in tmp_path.rglob("kernels.py")]
    assert any("tl.trans(" in text for text in texts)
