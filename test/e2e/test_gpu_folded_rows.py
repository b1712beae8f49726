"""Rows that are normalized, and of which slices meet, are read once: by one kernel."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from emulated_gpu import EmulatedGpu, compiled
from judged import judged_with_gradients
from torch import Tensor
from torch.nn import functional as F

SIZES = (4, 3, 9, 48)
HALF, THIRD = 24, 16


def normalized(x: Tensor, weight: Tensor) -> Tensor:
    """RMSNorm as language models write it: rounded to the type of `x` before the weights."""
    wide = x.float()
    return weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


def turned(a: Tensor, b: Tensor, angle: Tensor) -> tuple[Tensor, Tensor]:
    return a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()


def of_halves(x: Tensor, weight: Tensor, angle: Tensor) -> Tensor:
    a, b = normalized(x, weight).transpose(1, 2).chunk(2, -1)
    return torch.cat(turned(a, b, angle[:, :HALF]), -1)


def of_pairs(x: Tensor, weight: Tensor, angle: Tensor) -> Tensor:
    pairs = normalized(x, weight).transpose(1, 2).unflatten(-1, (-1, 2))
    return torch.stack(turned(pairs[..., 0], pairs[..., 1], angle[:, :HALF]), -1).flatten(-2)


def of_unit_length(x: Tensor, weight: Tensor, angle: Tensor) -> Tensor:
    y = F.normalize(x.float(), dim=-1).to(x.dtype) * weight
    return torch.cat(turned(y[..., ::2], y[..., 1::2], angle[0, :HALF]), -1)


def gated(x: Tensor, weight: Tensor, angle: Tensor) -> Tensor:
    a, b = normalized(x, weight).chunk(2, -1)
    return F.silu(a) * b * angle[0, :HALF]


def of_thirds(x: Tensor, weight: Tensor, angle: Tensor) -> Tensor:
    a, b, c = normalized(x, weight).chunk(3, -1)
    return a.sigmoid() * b + c * angle[0, :THIRD]


def of_the_largest(x: Tensor, weight: Tensor, angle: Tensor) -> Tensor:
    y = x / x.abs().amax(-1, keepdim=True) * weight
    return y[..., :HALF] * y[..., HALF:] * angle[0, :HALF]


def behind_a_mean(x: Tensor, weight: Tensor, angle: Tensor) -> Tensor:
    a, b = F.layer_norm(x, SIZES[-1:], weight).chunk(2, -1)
    return F.silu(a) * b * angle[0, :HALF]


def behind_two_norms(x: Tensor, weight: Tensor, angle: Tensor) -> Tensor:
    y = F.layer_norm(F.layer_norm(x, SIZES[-1:], weight).relu(), SIZES[-1:], weight)
    return torch.cat(turned(y[..., ::2], y[..., 1::2], angle[0, :HALF]), -1)


PROGRAMS = (
    of_halves,
    of_pairs,
    of_unit_length,
    gated,
    of_thirds,
    of_the_largest,
    behind_a_mean,
    behind_two_norms,
)


def inputs(dtype: torch.dtype) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(0)
    x, weight = (torch.randn(sizes, generator=generator).to(dtype) for sizes in (SIZES, SIZES[-1:]))
    return x, weight, torch.rand(SIZES[1], SIZES[-1], generator=generator).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("program", PROGRAMS)
def test_one_kernel(program: Callable[..., Tensor], dtype: torch.dtype, gpu: EmulatedGpu) -> None:
    torch.compiler.reset()
    with torch.no_grad():
        compiled(program)(*inputs(dtype))
    assert len(gpu.launched()) == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("target", ["gpu_emulated", "cpu_openmp"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_results_and_gradients(program: Callable[..., Tensor], target: str, dtype: torch.dtype) -> None:
    torch.compiler.reset()
    judged_with_gradients(program, inputs(dtype), {"target": target})
