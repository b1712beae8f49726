"""Literals that only functions of ATen read: nothing is launched for them."""

from __future__ import annotations

import pytest
import torch
from emulated_gpu import EmulatedGpu, compiled
from torch import Tensor

ALLOWED = {"fallback": True}
TYPES = (torch.float32, torch.float64)


def solved(x: Tensor) -> Tensor:
    return torch.linalg.solve(x, torch.full((3,), 2.0, dtype=x.dtype))


def solved_and_added(x: Tensor) -> Tensor:
    right = torch.full((3,), 2.0, dtype=x.dtype)
    return torch.linalg.solve(x, right) + right


def solved_infinite(x: Tensor) -> Tensor:
    return torch.linalg.solve(x, torch.full((3,), float("inf"), dtype=x.dtype))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("function", [solved, solved_and_added, solved_infinite], ids=lambda f: f.__name__)
def test_results_are_those_of_eager_mode(gpu: EmulatedGpu, function: object, dtype: torch.dtype) -> None:
    assert callable(function)
    x = torch.eye(3, dtype=dtype) + 0.1 * torch.randn(3, 3, dtype=dtype)
    runs = (compiled(function, fallback=True), torch.compile(function, backend="mlir", options=ALLOWED))
    for run in runs:
        for _ in range(2):  # nobody has written to the data
            torch.testing.assert_close(run(x), function(x), equal_nan=True)


def test_nothing_is_launched(gpu: EmulatedGpu) -> None:
    compiled(solved, fallback=True)(torch.eye(3))
    assert gpu.launched() == []
