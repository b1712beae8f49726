"""The one operator that a layer of nn.TransformerEncoder is in inference, with each kind of mask."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from tilewright.frontend.explain import explain

BATCH, LENGTH, WIDTH, HEADS = 2, 5, 16, 2
MASKS = {0: (LENGTH, LENGTH), 1: (BATCH, LENGTH), 2: (BATCH, HEADS, LENGTH, LENGTH)}
"""The shape of each kind of mask: for queries and keys, for keys, for all."""


class Layer(nn.TransformerEncoderLayer):
    def __init__(self, *, norm_first: bool) -> None:
        super().__init__(WIDTH, HEADS, 32, batch_first=True, norm_first=norm_first)

    def whole(self, x: Tensor, mask: Tensor, kind: int) -> Tensor:
        attn = self.self_attn
        return torch._transformer_encoder_layer_fwd(
            x, WIDTH, HEADS, attn.in_proj_weight, attn.in_proj_bias, attn.out_proj.weight, attn.out_proj.bias,
            False, self.norm_first, self.norm1.eps, self.norm1.weight, self.norm1.bias, self.norm2.weight,
            self.norm2.bias, self.linear1.weight, self.linear1.bias, self.linear2.weight, self.linear2.bias,
            mask, kind,
        )  # fmt: skip


@pytest.mark.parametrize("numbers", [False, True], ids=["bools", "numbers"])
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
def test_masks(target: str, norm_first: bool, kind: int, numbers: bool) -> None:
    torch.manual_seed(kind)
    layer, x = Layer(norm_first=norm_first).eval(), torch.randn(BATCH, LENGTH, WIDTH)
    mask = torch.rand(MASKS[kind]) < 0.4
    mask[-1] = True  # nothing is seen, which gives no number
    if numbers:
        mask = torch.zeros(mask.shape).masked_fill(mask, -math.inf)
    torch.compiler.reset()
    with torch.no_grad():
        want = layer.whole(x, mask, kind)
        found = explain(layer.whole, x, mask, kind, options={"target": target, "fallback": False})
    assert 0 < want.isnan().sum() < want.numel()
    torch.testing.assert_close(found.result, want, equal_nan=True)
