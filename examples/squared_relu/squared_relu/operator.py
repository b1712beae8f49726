"""`torch.ops.squared_relu.squared_relu`: the same function as an operator, for eager mode and gradients."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


@torch.library.custom_op("squared_relu::squared_relu", mutates_args=())
def squared_relu(x: Tensor, scale: float = 1.0) -> Tensor:
    """`scale * relu(x)**2`"""
    kept = torch.relu(x.double() if x.dtype == torch.float64 else x.float())
    return (kept * kept * scale).to(x.dtype)


@squared_relu.register_fake  # pyright: ignore[reportUnknownMemberType]
def _(x: Tensor, scale: float = 1.0) -> Tensor:
    return torch.empty_like(x)


def _setup(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
    ctx.save_for_backward(inputs[0])
    ctx.scale = inputs[1]


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
    (x,) = ctx.saved_tensors
    return 2 * ctx.scale * torch.relu(x) * gradient, None


squared_relu.register_autograd(_backward, setup_context=_setup)  # pyright: ignore[reportUnknownMemberType]
