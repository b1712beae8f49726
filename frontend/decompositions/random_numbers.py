"""Random numbers: what draws them is a uniform or normal draw in f32, and arithmetic.

Numbers for the elements of a tensor lie as these do, turned or with channels last, where they do so in eager
mode: `bernoulli` and `normal` of tensors that say how to draw are row-major.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._ops import OperatorBase

from tilewright.passes.memory.layouts import inverse

from ..torch_internals import memory_order

Draw = Callable[..., Tensor]


def _drawn(draw: Draw, x: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """A number for each element of `x`, in the order in which they lie."""
    order = memory_order(x)
    drawn = draw([x.shape[d] for d in order], dtype=dtype, device=x.device)
    return drawn if order == tuple(range(x.dim())) else drawn.permute(inverse(order))


def _native_dropout(x: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    if train is not None and not train:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    if p == 1:
        return torch.zeros_like(x), torch.zeros_like(x, dtype=torch.bool)
    kept = _drawn(torch.rand, x) >= p
    return torch.where(kept, x * (1.0 / (1.0 - p)), 0.0), kept


def _bernoulli_p(x: Tensor, p: float = 0.5, *, generator: torch.Generator | None = None) -> Tensor:
    if generator is not None:
        return NotImplemented
    return (_drawn(torch.rand, x) < p).to(x.dtype)


def _bernoulli(x: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
    if generator is not None:
        return NotImplemented
    return (torch.rand(x.shape, dtype=torch.float32, device=x.device) < x).to(x.dtype).contiguous()


def _like(draw: Draw) -> Callable[..., Tensor]:
    """`rand_like`, `randn_like`."""

    def decomposed(
        x: Tensor,
        *,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        memory_format: torch.memory_format = torch.preserve_format,
        **_: object,
    ) -> Tensor:
        kind: dict[str, Any] = {"dtype": dtype or x.dtype, "device": device or x.device}
        if memory_format != torch.preserve_format or kind["device"] != x.device:
            return draw(x.shape, **kind).contiguous(memory_format=memory_format)
        return _drawn(draw, x, kind["dtype"])

    return decomposed


def _exponential(x: Tensor, lambd: float = 1, *, generator: torch.Generator | None = None) -> Tensor:
    """Of a uniform number in (0, 1]; never exactly 0, as in eager mode on GPUs."""
    if generator is not None or not x.is_floating_point():
        return NotImplemented
    uniform = 1 - _drawn(torch.rand, x)
    most = 1 - torch.finfo(torch.float32).eps / 2
    log = torch.where(uniform >= most, -torch.finfo(torch.float32).eps / 2, uniform.log())
    return (log / -lambd).to(x.dtype)


def _uniform(
    x: Tensor, low: float = 0, high: float = 1, *, generator: torch.Generator | None = None
) -> Tensor:
    """`aten.uniform`: numbers of [low, high) with the sizes of `x`, drawn in f32 and rounded to its type."""
    if generator is not None or not x.is_floating_point():
        return NotImplemented
    return (_drawn(torch.rand, x) * (high - low) + low).to(x.dtype)


def _normal(
    mean: Tensor | float, deviation: Tensor | float = 1, *, generator: torch.Generator | None = None
) -> Tensor:
    """`aten.normal`: a number of each mean and standard deviation, drawn in f32 and rounded to their type."""
    given = mean if isinstance(mean, Tensor) else deviation
    if generator is not None or not isinstance(given, Tensor) or given.is_complex():
        return NotImplemented
    if isinstance(mean, Tensor) and isinstance(deviation, Tensor):
        given = mean + deviation
    drawn = torch.randn(given.shape, dtype=torch.float32, device=given.device)
    return (drawn * deviation + mean).to(given.dtype).contiguous()


def _fill_normal(
    x: Tensor, mean: float = 0, deviation: float = 1, *, generator: torch.Generator | None = None
) -> Tensor:
    if generator is not None or x.is_complex():
        return NotImplemented
    return (_drawn(torch.randn, x) * deviation + mean).to(x.dtype)


def random_numbers() -> dict[OperatorBase, Callable[..., Any]]:
    """What replaces each of these operators."""
    aten = torch.ops.aten
    return {
        aten.native_dropout.default: _native_dropout,
        aten.bernoulli.p: _bernoulli_p,
        aten.bernoulli.default: _bernoulli,
        aten.rand_like.default: _like(torch.rand),
        aten.randn_like.default: _like(torch.randn),
        aten.exponential.default: _exponential,
        aten.uniform.default: _uniform,
        aten.normal.Tensor_float: _normal,
        aten.normal.float_Tensor: _normal,
        aten.normal.Tensor_Tensor: _normal,
        aten.normal_functional.default: _fill_normal,
    }
