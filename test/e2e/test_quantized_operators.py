"""The operators of exported quantized models are parts of kernels, and give what their library gives."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from tilewright.frontend.explain import explain

pytest.importorskip("torch.ao.quantization.fx._decomposed")

Q = torch.ops.quantized_decomposed
RANGES = {
    torch.uint8: (0, 255),
    torch.int8: (-128, 127),
    torch.float8_e4m3fn: (-448, 448),
    torch.float8_e5m2: (-57344, 57344),
}


def by_numbers(x: Tensor, dtype: torch.dtype) -> tuple[Tensor, ...]:
    low, high = RANGES[dtype]
    steps = Q.quantize_per_tensor(x, 0.037, 3, low, high, dtype)
    whole = Q.dequantize_per_tensor(steps, 0.037, 3, low, high, dtype)
    half = Q.dequantize_per_tensor(steps, 0.037, 3, low, high, dtype, out_dtype=torch.bfloat16)
    return steps, whole, half


def by_tensors(x: Tensor, dtype: torch.dtype) -> tuple[Tensor, ...]:
    low, high = RANGES[dtype]
    scale, zero = torch.tensor([0.25], dtype=torch.float64), torch.tensor([3])
    steps = Q.quantize_per_tensor.tensor(x, scale, zero, low, high, dtype)
    single = Q.quantize_per_tensor.tensor(x, scale[0].float(), zero[0], low, high, dtype)
    return steps, single, Q.dequantize_per_tensor.tensor(steps, scale, zero, low, high, dtype)


def by_channels(x: Tensor, dtype: torch.dtype) -> tuple[Tensor, ...]:
    low, high = RANGES[dtype]
    scales, zeros = torch.tensor([0.1, 0.037, 1.7, 3e-3, 0.25]), torch.tensor([0, 3, -5, 7, 1])
    steps = Q.quantize_per_channel(x, scales, zeros, 1, low, high, dtype)
    return steps, Q.dequantize_per_channel(steps, scales, zeros, 1, low, high, dtype)


def by_groups(x: Tensor, dtype: torch.dtype) -> tuple[Tensor, ...]:
    low, high = RANGES[dtype]
    matrix, scales, zeros = x.reshape(15, 8), torch.full((15, 2), 0.1), torch.ones(15, 2)
    steps = Q.quantize_per_channel_group(matrix, scales, zeros, low, high, dtype, 4)
    whole = Q.dequantize_per_channel_group(steps, scales, zeros, low, high, dtype, 4, torch.float32)
    return steps, whole


def by_tokens(x: Tensor, dtype: torch.dtype) -> tuple[Tensor, ...]:
    low, high = RANGES[dtype]
    scales, zeros = Q.choose_qparams_per_token_asymmetric(x, torch.int8)
    steps = Q.quantize_per_token(x, scales, zeros, low, high, dtype)
    return scales, steps, Q.dequantize_per_token(steps, scales, zeros, low, high, dtype, torch.float32)


@pytest.mark.parametrize("inputs", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.parametrize(
    ("program", "dtype"),
    [
        *((by_numbers, dtype) for dtype in RANGES),
        *((program, torch.int8) for program in (by_tensors, by_channels, by_groups, by_tokens)),
    ],
)
def test_as_their_library_does(
    program: Callable[..., tuple[Tensor, ...]], dtype: torch.dtype, target: str, inputs: torch.dtype
) -> None:
    x = torch.randn(3, 5, 8, generator=torch.Generator().manual_seed(0)) * 4
    x[0] = (x[0] * 8).round() / 8  # halfway between two steps of 0.25, some
    x = x.to(inputs)
    if program in (by_groups, by_tokens):  # of halves, scales are rounded where the library has a tensor
        x = x.float()
    torch.compiler.reset()
    found = explain(program, x, dtype, options={"target": target, "fallback": False})
    assert not any(graph.library_calls for graph in found.graphs)
    for got, want in zip(found.result, program(x, dtype), strict=True):
        assert got.dtype == want.dtype
        step = 2**-7 if want.dtype == torch.bfloat16 else 1e-6  # it rounds the difference, then the product
        torch.testing.assert_close(got.float(), want.float(), rtol=step, atol=1e-6)
