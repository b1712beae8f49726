"""What the elements of a lane have in common is read once: channels and rows, on emulated kernels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor


def channels(x: Tensor, mean: Tensor, scale: Tensor) -> Tensor:
    return (x - mean[:, None, None]) * scale[:, None, None].rsqrt()


def rows(x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    return torch.relu(x * scale[:, None] + bias)


def numbers(*shape: int, dtype: torch.dtype) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


HALF = torch.bfloat16
CASES: dict[str, tuple[Callable[..., Tensor], tuple[tuple[int, ...], ...], torch.dtype, bool]] = {
    "channels": (channels, ((3, 6, 8, 13), (6,), (6,)), torch.float32, True),
    "rows": (rows, ((70, 48), (70,), (48,)), HALF, True),
    "odd_rows": (rows, ((70, 49), (70,), (49,)), HALF, False),
}


@pytest.mark.parametrize("case", CASES)
def test_like_eager(case: str, tmp_path: Path) -> None:
    function, shapes, dtype, splits = CASES[case]
    inputs = [numbers(*shape, dtype=dtype) + 1 for shape in shapes]
    torch._dynamo.reset()
    options = {"target": "gpu_emulated", "dump": str(tmp_path)}
    got = torch.compile(function, backend="mlir", options=options)(*inputs)
    tolerance = 1e-2 if dtype is HALF else 1.3e-6
    torch.testing.assert_close(got, function(*inputs), rtol=tolerance, atol=tolerance)
    (text,) = [path.read_text() for path in tmp_path.rglob("kernels.py")]
    assert (f"tl.arange(0, {8 if dtype is HALF else 4})[None, :]" in text) == splits
