"""Blocks that keep half of the channels and shuffle both halves (ShuffleNet V2), with gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from drawn import tensor
from emulated_gpu import EmulatedGpu, compiled
from torch import Tensor
from torch.nn import functional

from benchmarks.numerics import judge

BLOCKS, HALF = 3, 32


def blocks(x: Tensor, first: Tensor, depthwise: Tensor, last: Tensor) -> Tensor:
    """Ma et al., "ShuffleNet V2: practical guidelines for efficient CNN architecture design", section 4."""

    def normed(x: Tensor) -> Tensor:
        return functional.batch_norm(x, None, None, training=True)

    for _ in range(BLOCKS):
        kept, changed = x.chunk(2, 1)
        changed = functional.relu(normed(functional.conv2d(changed, first)))
        changed = normed(functional.conv2d(changed, depthwise, padding=1, groups=HALF))
        x = torch.cat([kept, functional.relu(normed(functional.conv2d(changed, last)))], 1)
        n, c, *image = x.shape
        x = x.view(n, 2, c // 2, *image).transpose(1, 2).reshape(n, c, *image)
    return x


def gradients(call: Any, dtype: torch.dtype) -> list[Tensor]:
    shapes = [(3, 2 * HALF, 12, 12), (HALF, HALF, 1, 1), (HALF, 1, 3, 3), (HALF, HALF, 1, 1)]
    leaves = [tensor(*s, dtype=dtype, seed=i).requires_grad_() for i, s in enumerate(shapes)]
    result = call(*leaves)
    result.backward(tensor(*result.shape, dtype=dtype, seed=9))
    return [result.detach(), *(leaf.grad for leaf in leaves if leaf.grad is not None)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("on_gpu", [False, True])
def test_blocks(on_gpu: bool, dtype: torch.dtype, request: pytest.FixtureRequest) -> None:
    if on_gpu:
        request.getfixturevalue("gpu")
    call = compiled(blocks) if on_gpu else torch.compile(blocks, backend="mlir")
    ours, eager, truth = gradients(call, dtype), gradients(blocks, dtype), gradients(blocks, torch.float64)
    for mine, theirs, exact in zip(ours, eager, truth, strict=True):
        assert (verdict := judge(mine, theirs, exact)).ok, verdict


def test_no_more_is_copied_than_is_kept(gpu: EmulatedGpu) -> None:
    """Of a gradient no more is copied than the half that goes on: never all of it, shuffled."""
    gradients(compiled(blocks), torch.bfloat16)
    copies = [name for name in gpu.launched() if name.startswith("copy")]
    assert len(copies) <= BLOCKS
