"""Ways of writing attention out, each of which is one kernel forward."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from emulated_gpu import EmulatedGpu, compiled
from judged import judged_with_gradients
from torch import Tensor

BATCH, HEADS, ROWS, KEYS, DEPTH = 2, 3, 37, 45, 16


def scaled_queries(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Queries are scaled and rounded before the product, as DistilBERT's."""
    scores = (q * DEPTH**-0.5) @ k.transpose(-2, -1)
    return scores.masked_fill(mask < 0, torch.finfo(scores.dtype).min).softmax(-1) @ v


def divided_queries(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return ((q / DEPTH**0.5) @ k.transpose(-2, -1)).float().softmax(-1).to(v.dtype) @ v


def heads_in_the_batch(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Products of three axes, and a mask for each element of the batch, as BART's."""
    q, k, v = (t.flatten(0, 1) for t in (q, k, v))
    scores = torch.bmm(q, k.transpose(1, 2)).view(BATCH, HEADS, ROWS, KEYS) + mask
    mixed = torch.bmm(scores.view(-1, ROWS, KEYS).softmax(-1), v)
    return mixed.view(BATCH, HEADS, ROWS, DEPTH).transpose(1, 2).reshape(BATCH, ROWS, -1)


PROGRAMS = (scaled_queries, divided_queries, heads_in_the_batch)


def inputs(dtype: torch.dtype) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(BATCH, HEADS, n, DEPTH, generator=generator) for n in (ROWS, KEYS, KEYS))
    mask = torch.randn(BATCH, 1, ROWS, KEYS, generator=generator)
    return q.to(dtype), k.to(dtype), v.to(dtype), mask.to(dtype)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("program", PROGRAMS)
def test_one_kernel_forward(
    program: Callable[..., Tensor], dtype: torch.dtype, training: bool, gpu: EmulatedGpu
) -> None:
    torch.compiler.reset()
    q, k, v, mask = inputs(dtype)
    compiled(program)(*(t.requires_grad_(training) for t in (q, k, v)), mask)
    kept = training and program is not heads_in_the_batch  # for the backward pass, which reads them in steps
    assert len(gpu.launched()) == 1 + kept


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("target", ["gpu_emulated", "cpu_openmp"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_results_and_gradients(program: Callable[..., Tensor], target: str, dtype: torch.dtype) -> None:
    torch.compiler.reset()
    q, k, v, mask = inputs(dtype)
    judged_with_gradients(lambda q, k, v: program(q, k, v, mask.to(q.dtype)), (q, k, v), {"target": target})
