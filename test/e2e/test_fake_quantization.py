"""Rounding to the steps of narrow integers is part of kernels, and rounds as eager mode does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from tilewright.frontend.explain import explain

TARGETS = ("cpu_openmp", "gpu_emulated")
INF, NAN = float("inf"), float("nan")
CHANNELS = torch.tensor([0.1, 0.037, 1.7, 3e-3, 0.25])
ZEROS = torch.tensor([0, 3, -5, 127, 1], dtype=torch.int32)


def rounded(x: Tensor, on: Tensor) -> tuple[Tensor, ...]:
    scale, zero = CHANNELS[:1], ZEROS[1:2]
    narrow = x.clamp(-1e10, 1e10)  # by channels, eager mode's kernel for CPUs wraps what no int64 holds
    return (
        torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -128, 127),
        torch.fake_quantize_per_tensor_affine(x.transpose(0, 1), 1 / 3, 0, 0, 15),
        torch.fake_quantize_per_tensor_affine(x[:0], 0.1, 0, -8, 7),
        torch.fake_quantize_per_tensor_affine(x, scale, zero, -8, 7),
        torch._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(x, scale, zero, on, -8, 7)[0],
        torch._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(x, scale, zero, on * 0, -8, 7)[0],
        torch.fake_quantize_per_channel_affine(narrow, CHANNELS, ZEROS, 1, -128, 127),
        torch.fake_quantize_per_channel_affine(narrow[:, :, 2:7], CHANNELS, ZEROS.clamp(max=7), 2, -8, 7),
    )


def numbers(dtype: torch.dtype) -> Tensor:
    """Ties and what lies beyond the integers among them."""
    x = torch.randn(3, 5, 7, generator=torch.Generator().manual_seed(0)) * 9
    x[0] = torch.arange(35).view(5, 7) * 0.05 - 0.9
    x[1, 0, :5] = torch.tensor([INF, -INF, NAN, 1e10, -1e10])
    return x.to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("target", TARGETS)
def test_as_in_eager(target: str, dtype: torch.dtype) -> None:
    x, on = numbers(dtype), torch.tensor([1])
    torch._dynamo.reset()
    found = explain(rounded, x, on, options={"target": target, "fallback": False})
    assert not any(graph.library_calls for graph in found.graphs)
    for got, want in zip(found.result, rounded(x, on), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-6, atol=0, equal_nan=True)


@pytest.mark.parametrize("target", TARGETS)
def test_gradients_stop_beyond_the_integers(target: str) -> None:
    def gradient(x: Tensor, run: Callable[..., tuple[Tensor, ...]] = rounded) -> Tensor:
        x = x.detach().requires_grad_()
        torch.stack([y.sum() * i for i, y in enumerate(run(x, torch.tensor([1])), 1)]).sum().backward()
        assert x.grad is not None
        return x.grad

    torch._dynamo.reset()
    compiled = torch.compile(rounded, backend="mlir", options={"target": target, "fallback": False})
    x = numbers(torch.float32)
    torch.testing.assert_close(gradient(x, compiled), gradient(x))


def test_zeros_beyond_the_integers_are_refused_as_in_eager() -> None:
    def function(x: Tensor) -> Tensor:
        return torch.fake_quantize_per_tensor_affine(x, 0.1, 9, -8, 7)

    torch._dynamo.reset()
    with pytest.raises(RuntimeError, match="zero_point"):
        torch.compile(function, backend="mlir")(numbers(torch.float32))


def test_zeros_between_the_integers_are_left_to_aten() -> None:
    def function(x: Tensor) -> Tensor:
        return torch.fake_quantize_per_channel_affine(x, CHANNELS, ZEROS + 0.3, 1, -128, 127)

    torch._dynamo.reset()
    x = numbers(torch.float32)
    found = explain(function, x, options={"target": "cpu_openmp"})
    (calls,) = (dict(graph.library_calls) for graph in found.graphs)
    assert calls == {"aten::fake_quantize_per_channel_affine_cachemask": 1}
    torch.testing.assert_close(found.result, function(x))
