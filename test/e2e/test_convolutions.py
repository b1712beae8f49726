"""Convolution networks in inference: packed filters, channels-last chains and pooling against eager."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import torch
import torch._dynamo
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.numerics import judge, run_float64


class Apply(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Any:
        return self.function(x)


class Block(nn.Module):
    """A residual block with batch norm."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.second(torch.relu(self.norm(self.first(x)))))


def agrees(model: nn.Module, x: Tensor) -> None:
    torch.manual_seed(0)
    for buffer in model.buffers():
        if buffer.is_floating_point():
            buffer.uniform_(0.5, 1.5)
    torch._dynamo.reset()
    model = model.eval()
    with torch.no_grad():
        result = torch.compile(model, backend="mlir", fullgraph=True)(x)
        eager = model(x)
        verdict = judge(result, eager, run_float64(model, (x,)))
    assert verdict, verdict.why
    if isinstance(eager, Tensor):
        assert result.stride() == eager.stride()


CONVOLUTIONS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "odd_sizes": (nn.Conv2d(5, 32, 3, padding=1), (1, 5, 9, 11)),
    "no_bias": (nn.Conv2d(7, 48, (3, 2), bias=False), (3, 7, 13, 10)),
    "stem": (nn.Conv2d(3, 64, 7, stride=2, padding=3), (3, 3, 33, 31)),
    "windows_of_two_channels": (nn.Conv2d(2, 40, (3, 5), stride=(2, 1), dilation=2), (2, 2, 13, 17)),
    "patches": (nn.Conv2d(3, 33, 4, stride=4), (2, 3, 20, 25)),
    "one_by_one_of_whole_vectors": (nn.Conv2d(48, 64, 1), (2, 48, 8, 6)),
    "strides_and_dilation": (nn.Conv2d(16, 48, 3, stride=(1, 2), dilation=(2, 1)), (2, 16, 13, 14)),
    "one_by_one": (nn.Conv2d(32, 80, 1), (3, 32, 13, 7)),
    "one_by_one_strided": (nn.Conv2d(32, 64, 1, stride=2), (1, 32, 13, 7)),
    "kernel_of_the_image": (nn.Conv2d(16, 32, 5), (2, 16, 5, 5)),
    "depthwise": (nn.Conv2d(48, 48, 7, padding=3, groups=48), (2, 48, 13, 14)),
    "depthwise_strided": (nn.Conv2d(32, 32, 3, stride=2, groups=32, bias=False), (1, 32, 9, 10)),
    "grouped": (nn.Conv2d(12, 64, 3, padding=1, groups=2), (3, 12, 8, 9)),
    "narrow_groups": (nn.Conv2d(16, 16, 3, groups=4), (1, 16, 8, 9)),
    "one_dimension": (nn.Conv1d(12, 32, 3, padding=2), (3, 12, 17)),
    "three_dimensions": (nn.Conv3d(4, 16, (2, 3, 1), padding=(1, 0, 1)), (2, 4, 5, 6, 7)),
    "few_outputs": (nn.Conv2d(8, 5, 3), (2, 8, 9, 9)),
    "odd_outputs": (nn.Conv2d(7, 43, 3, padding=1), (2, 7, 9, 8)),
    "empty_batch": (nn.Conv2d(8, 32, 3), (0, 8, 9, 9)),
    "transposed": (nn.ConvTranspose2d(16, 32, 3, stride=2), (2, 16, 5, 6)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution(name: str, dtype: torch.dtype) -> None:
    model, shape = CONVOLUTIONS[name]
    agrees(deepcopy(model).to(dtype), torch.randn(shape).to(dtype))


@pytest.mark.parametrize("channels", [3, 7])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_an_infinite_pixel_is_in_no_other_windows(channels: int, dtype: torch.dtype) -> None:
    x = torch.randn(1, channels, 9, 11).to(dtype)
    x[0, 0, 4, 5] = torch.inf
    agrees(nn.Conv2d(channels, 32, 3).to(dtype), x)


NETWORKS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "residual": (nn.Sequential(Block(32), Block(32)), (2, 32, 8, 7)),
    "pooled": (
        nn.Sequential(
            nn.Conv2d(3, 16, 3),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
            Block(16),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(16, 10),
        ),
        (3, 3, 15, 14),
    ),
    "upsampled": (
        nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1),
            nn.GroupNorm(4, 32),
            nn.Upsample(scale_factor=2),
            nn.Conv2d(32, 16, 3),
        ),
        (2, 3, 7, 6),
    ),
    "group_norm": (
        nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.GroupNorm(4, 32), nn.SiLU(), nn.Conv2d(32, 16, 3)),
        (2, 3, 9, 8),
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("batch", "dtype"), [(1, torch.float32), (3, torch.float32), (2, torch.bfloat16)])
def test_network(name: str, batch: int, dtype: torch.dtype) -> None:
    model, shape = NETWORKS[name]
    agrees(deepcopy(model).to(dtype), torch.randn(batch, *shape[1:]).to(dtype))


POOLING: dict[str, Callable[[Tensor], Any]] = {
    "max": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max_ceil": lambda x: F.max_pool2d(x, (2, 3), ceil_mode=True),
    "max_ceil_padded": lambda x: F.max_pool2d(x, 2, 3, 1, ceil_mode=True),
    "max_dilated": lambda x: F.max_pool2d(x, 3, 1, 1, 2),
    "max_indices": lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
    "average": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "average_inside": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "average_ceil": lambda x: F.avg_pool2d(x, 3, 2, 0, ceil_mode=True),
    "average_divisor": lambda x: F.avg_pool2d(x, 2, divisor_override=3),
    "adaptive": lambda x: F.adaptive_avg_pool2d(x, (1, 7)),
    "average_ceil_padded": lambda x: F.avg_pool2d(x, (4, 3), 3, (2, 1), ceil_mode=True),
    "average_ceil_inside": lambda x: F.avg_pool2d(x, 4, 3, 2, ceil_mode=True, count_include_pad=False),
    "adaptive_uneven": lambda x: F.adaptive_avg_pool2d(x, (5, 7)),
    "adaptive_max": lambda x: F.adaptive_max_pool2d(x, (13, 2)),
    "adaptive_max_uneven": lambda x: F.adaptive_max_pool2d(x, (5, 7)),
    "adaptive_max_indices": lambda x: F.adaptive_max_pool2d(x, (1, 7), return_indices=True),
    "max_3d": lambda x: F.max_pool3d(x, (2, 3, 3), 2, (1, 1, 0)),
    "max_3d_ceil": lambda x: F.max_pool3d(x, 2, 3, 1, ceil_mode=True),
    "max_3d_indices": lambda x: F.max_pool3d(x, 2, return_indices=True),
    "average_3d": lambda x: F.avg_pool3d(x, 3, 2, 1),
    "average_3d_inside": lambda x: F.avg_pool3d(x, (2, 3, 4), 2, 1, count_include_pad=False),
    "average_3d_ceil": lambda x: F.avg_pool3d(x, (2, 3, 2), 2, (1, 1, 0), ceil_mode=True),
    "average_3d_divisor": lambda x: F.avg_pool3d(x, 2, divisor_override=3),
    "adaptive_3d": lambda x: F.adaptive_avg_pool3d(x, (5, 1, 7)),
    "adaptive_max_3d": lambda x: F.adaptive_max_pool3d(x, (1, 1, 2)),
}


@pytest.mark.parametrize("name", POOLING)
def test_pooling(name: str) -> None:
    x = torch.randn(2, 5, 13, 14)
    x[0, 1, 4, 4] = -torch.inf
    agrees(Apply(POOLING[name]), x)
    agrees(Apply(POOLING[name]), x.mT.double())


@pytest.mark.parametrize("name", [name for name in POOLING if "3d" not in name])
def test_pooling_of_halves(name: str) -> None:
    """ATen pools no volumes of these."""
    agrees(Apply(POOLING[name]), torch.randn(2, 5, 13, 14).bfloat16())


def test_max_pool_propagates_nan() -> None:
    x = torch.randn(1, 2, 9, 9)
    x[0, 0, 3, 3] = torch.nan
    agrees(Apply(POOLING["max"]), x)


@pytest.mark.parametrize("lying", [torch.contiguous_format, torch.channels_last], ids=str)
@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
@pytest.mark.parametrize("padding", [0, 1])
def test_an_image_that_is_its_own_filters(padding: int, target: str, lying: torch.memory_format) -> None:
    """It is one operand of the call that computes gradients."""
    torch._dynamo.reset()

    def function(x: Tensor) -> Tensor:
        first = F.conv2d(x, x, padding=padding)
        return F.conv2d(first.relu(), x, padding=1) if padding else F.conv_transpose2d(first, first)

    x = torch.randn(8, 8, 3, 3, generator=torch.Generator().manual_seed(0))
    x = x.to(memory_format=lying).requires_grad_()  # pyright: ignore
    found = torch.compile(function, backend="mlir", fullgraph=True, options={"target": target})(x)
    wanted = function(x)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
    gradients = [torch.autograd.grad(made.square().mean(), x)[0] for made in (found, wanted)]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)
