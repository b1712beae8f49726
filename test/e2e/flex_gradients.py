"""Results of flex attention judged together with their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from test_gpu_emulated import compiled, floats
from torch import Tensor

from benchmarks.numerics import judge

Function = Callable[..., Any]


def gradients(function: Function, inputs: list[Tensor], dtype: torch.dtype) -> list[Tensor]:
    """The result and the gradient of each input, computed in `dtype`."""
    leaves = [t.to(dtype).requires_grad_() for t in inputs]
    out = function(*leaves)
    return [out, *torch.autograd.grad(out, leaves, floats(*out.shape, seed=8).to(dtype))]


def check(function: Function, *inputs: Tensor) -> None:
    """As close to float64 as eager is, gradients too."""
    dtype = inputs[0].dtype
    found, wanted = (gradients(f, list(inputs), dtype) for f in (compiled(function), function))
    verdict = judge(found, wanted, gradients(function, list(inputs), torch.float64))
    assert verdict, verdict.why
