"""Conversions to 8-bit floats, bit by bit as torch's own, and what quantises with them in one kernel."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import pytest
import torch
from torch import Tensor

from tilewright.dialects.float8 import FORMATS
from tilewright.dialects.types import FLOAT8
from tilewright.frontend.explain import explain

TARGETS = ("cpu_openmp", "gpu_emulated")
DTYPES = {kind: getattr(torch, f"float8_{kind}") for kind in FLOAT8}


def patterns(dtype: torch.dtype) -> Tensor:
    """Every half, NaNs with their signs and payloads too."""
    return torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(dtype)


def around(kind: str) -> Tensor:
    """f32 numbers of a kind, what lies halfway between two, the next ones on either side, and extremes."""
    format_ = FORMATS[FLOAT8[kind]]
    at = torch.tensor([*(v for v in format_.values if abs(v) < inf), *format_.halfway])
    at = torch.cat([at, -at])
    near = [torch.nextafter(at, torch.tensor(end)) for end in (inf, -inf)]
    edges = [0x00000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF]
    bits = torch.tensor([*edges, *(edge - (1 << 31) for edge in edges), 0, -(1 << 31)], dtype=torch.int32)
    return torch.cat([at, *near, bits.view(torch.float32)])


def same_bits(function: Callable[..., Tensor | tuple[Tensor, ...]], *inputs: Tensor, target: str) -> int:
    """Check a function against eager mode, bit by bit; the number of its launches, none of them ATen's."""
    found = explain(function, *inputs, options={"target": target, "fallback": False})
    wanted = function(*inputs)
    pairs = [(found.result, wanted)] if isinstance(wanted, Tensor) else zip(found.result, wanted, strict=True)
    for got, want in pairs:
        assert (got.dtype, got.stride()) == (want.dtype, want.stride())
        assert torch.equal(got[None].view(torch.uint8), want[None].view(torch.uint8))
    assert not found.library_calls
    return found.kernels


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("kind", DTYPES)
def test_every_number(kind: str, source: str, target: str) -> None:
    x = around(kind) if source == "float32" else patterns(getattr(torch, source))
    assert same_bits(lambda x: x.to(DTYPES[kind]), x, target=target) == 1


def by_tensor(x: Tensor) -> tuple[Tensor, Tensor]:
    """As float8 training scales: the largest element becomes the largest number of the kind."""
    limit = torch.finfo(torch.float8_e4m3fn).max
    largest = x.abs().amax().to(torch.float64)
    scale = (limit / largest.clamp(min=1e-12)).to(torch.float32)
    return (x.to(torch.float32) * scale).clamp(-limit, limit).to(torch.float8_e4m3fn), scale


def by_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    """The same with a scale of each row, in the kind that gradients have."""
    limit = torch.finfo(torch.float8_e5m2).max
    scale = limit / x.abs().amax(1, keepdim=True).clamp(min=1e-12).to(torch.float32)
    return (x.to(torch.float32) * scale).clamp(-limit, limit).to(torch.float8_e5m2), scale


def by_columns(x: Tensor) -> tuple[Tensor, Tensor]:
    """Scales of columns, which are rows for the other product of a step; scales are powers of two."""
    largest = x.abs().amax(0, keepdim=True).to(torch.float32)
    scale = torch.exp2(torch.floor(torch.log2(448 / largest.clamp(min=1e-12))))
    return (x.to(torch.float32) * scale).clamp(-448, 448).to(torch.float8_e4m3fn), scale


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("scaled", [by_tensor, by_rows, by_columns])
def test_dynamic_scaling_is_one_kernel(
    scaled: Callable[..., Tensor], dtype: torch.dtype, target: str
) -> None:
    x = torch.randn(129, 37, generator=torch.Generator().manual_seed(0)).to(dtype)
    across = (
        target == "cpu_openmp" and scaled is by_rows
    )  # what is reduced lies apart: it is not walked twice
    assert same_bits(scaled, x.t(), target=target) == 1 + across


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", DTYPES)
def test_copies_keep_bits_and_conversions_give_those_of_eager_mode(kind: str, target: str) -> None:
    bits = torch.arange(256, dtype=torch.int32).to(torch.uint8).view(DTYPES[kind]).view(2, 4, 4, 8)

    def copied(x: Tensor) -> tuple[Tensor, ...]:
        turned = x.to(memory_format=torch.channels_last)
        return turned, x.clone(), x.float().to(x.dtype), x.to(x.dtype, copy=True)

    torch.compiler.reset()
    same_bits(copied, bits, target=target)
