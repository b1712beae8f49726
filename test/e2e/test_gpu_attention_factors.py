"""Gradients of what all scores of a head are multiplied with, and of keys that have much in common.

A softmax leaves of a gradient what adds up to zero along each row. What sums it, times something that hardly
differs along the row, is small where it does add up, and else as large as what it should not be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
import torch
import torch.nn.functional as F
from test_gpu_emulated import OPTIONS, compiled
from torch import Tensor

import tilewright
from benchmarks.numerics import judge, rmse

SEEDS, HEADS = 6, 4

Function = Callable[..., Tensor]


def cosine(q: Tensor, k: Tensor, v: Tensor, factor: Tensor) -> Tensor:
    """As Swin Transformer V2 has it."""
    scores = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
    return (scores * (factor + 2.3).clamp(max=math.log(100)).exp()).softmax(-1) @ v


def temperature(q: Tensor, k: Tensor, v: Tensor, factor: Tensor) -> Tensor:
    """With a softmax in f32."""
    scores = (q @ k.transpose(-2, -1)).float() * (factor * 0.1 + 1) * q.shape[-1] ** -0.5
    return scores.softmax(-1).to(v.dtype) @ v


def plain(q: Tensor, k: Tensor, v: Tensor, factor: Tensor) -> Tensor:
    scores = (q @ k.transpose(-2, -1)).float() * q.shape[-1] ** -0.5
    return scores.softmax(-1).to(v.dtype) @ (v * factor)


def biased(q: Tensor, k: Tensor, v: Tensor, factor: Tensor) -> Tensor:
    """The gradient of what is added is a sum over batches: scores are stored for it."""
    distance = torch.arange(q.shape[-2])[:, None] - torch.arange(k.shape[-2])
    scores = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1) * (factor + 2.3).exp()
    return (scores + factor * distance.cos().to(q.dtype)).softmax(-1) @ v


def inputs(seed: int, shared: float, dtype: torch.dtype) -> list[Tensor]:
    """Queries, keys, values, a factor for each head, and a gradient; keys and values share an addend."""
    generator = torch.Generator().manual_seed(seed)

    def numbers(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    sides = [numbers(2, HEADS, n, 16) + shared * numbers(1, HEADS, 1, 16) for n in (35, 33, 33)]
    made = [*sides, numbers(HEADS, 1, 1) * 0.3 + (shared > 0), numbers(2, HEADS, 35, 16)]
    return [tensor.to(dtype) for tensor in made]


def gradients(function: Function, given: Sequence[Tensor]) -> list[Tensor]:
    *leaves, gradient = (tensor.detach().clone() for tensor in given)
    out = function(*(leaf.requires_grad_() for leaf in leaves))
    return list(torch.autograd.grad(out, leaves, gradient))


CASES: dict[str, tuple[Function, float, torch.dtype]] = {
    "cosine": (cosine, 0.0, torch.bfloat16),
    "cosine_f16": (cosine, 0.0, torch.float16),
    "temperature": (temperature, 0.0, torch.bfloat16),
    "temperature_shared_f16": (temperature, 2.0, torch.float16),
    "bias": (biased, 0.0, torch.bfloat16),
    "shared": (plain, 2.0, torch.bfloat16),
}


@pytest.mark.parametrize("case", CASES)
def test_errors_over_many_seeds(case: str) -> None:
    """No larger than eager's, over all seeds: of four numbers each, single ones are a matter of luck."""
    function, shared, dtype = CASES[case]
    kernels, runs = compiled(function), list[tuple[list[Tensor], ...]]()
    for seed in range(SEEDS):
        given = inputs(seed, shared, dtype)
        wide = [tensor.double() for tensor in given]
        runs.append((gradients(kernels, given), gradients(function, given), gradients(function, wide)))
    ours, eager, truth = (
        [torch.stack(of_all) for of_all in zip(*kind, strict=True)] for kind in zip(*runs, strict=True)
    )
    verdict = judge(ours, eager, truth)
    assert verdict, verdict.why
    for got, want, exact in zip(ours, eager, truth, strict=True):
        assert rmse(got, exact) <= 1.25 * rmse(want, exact)


@pytest.mark.parametrize("function", [cosine, temperature])
def test_nothing_of_rows_and_columns_is_stored(function: Function) -> None:
    """Of the gradient of a factor each row has one number; a third kernel adds them up."""
    *leaves, _ = inputs(0, 0.0, torch.bfloat16)
    leaves = [leaf.requires_grad_() for leaf in leaves]
    backward = tilewright.explain(function, *leaves, options=OPTIONS).graphs[1]
    assert not backward.library_calls
    assert int(backward.arena_bytes) <= 4 * 2 * HEADS * (2 * 35 + 2 * 33 * 16) + 256
    if function is temperature:
        assert sum(backward.kernels.values()) == 3


def twice(q: Tensor, k: Tensor, v: Tensor, factor: Tensor) -> Tensor:
    """The program multiplies queries and keys twice; kernels do it once, and store the scores."""
    sharp = ((q @ k.transpose(-2, -1)) * 2).softmax(-1) @ v
    return sharp + ((q @ k.transpose(-2, -1)) * 0.5).softmax(-1) @ v


def watched(q: Tensor, k: Tensor, v: Tensor, factor: Tensor) -> Tensor:
    largest = (q @ k.transpose(-2, -1)).amax(-1, keepdim=True)
    return (q @ k.transpose(-2, -1)).softmax(-1) @ v + largest * 0.1


@pytest.mark.parametrize("function", [twice, watched])
def test_scores_that_others_read(function: Function) -> None:
    """What rounded scores add up to is no sum of scores that are computed again, without a rounding."""
    torch.manual_seed(0)
    sides = [(torch.randn(2, HEADS, 37, 16) * a).bfloat16() for a in (3, 1, 1)]

    def gradients(f: Function, dtype: torch.dtype) -> tuple[Tensor, ...]:
        leaves = [t.to(dtype).requires_grad_() for t in sides]
        return torch.autograd.grad(f(*leaves, leaves[0]).square().sum(), leaves)

    got, want = gradients(compiled(function), torch.bfloat16), gradients(function, torch.bfloat16)
    verdict = judge(got, want, gradients(function, torch.float64))
    assert verdict, verdict.why
