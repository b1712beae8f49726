"""The operators of exported quantized models (`quantized_decomposed`) in tensor functions.

Their library computes them so itself, but AOTAutograd leaves them whole. It is there once
`torch.ao.quantization` has loaded it. Schemas and meaning: torch/ao/quantization/fx/_decomposed.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch._ops import OperatorBase

from ..torch_internals import Operator, by_its_parts


def _quantize(
    x: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int, dtype: torch.dtype
) -> Tensor:
    """clamp(round(x / scale) + zero_point, low, high): of a scale in f64, as its number has it in Python."""
    if x.dtype not in _FLOATS or scale.numel() != 1 or zero_point.numel() != 1:  # which the library refuses
        return NotImplemented
    inverse = (1 / scale.reshape(()).double()).float()
    steps = (x.float() * inverse).round() + zero_point.reshape(())
    return steps.clamp(low, high).to(dtype)


def _dequantize(
    x: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    low: int,
    high: int,
    dtype: torch.dtype,
    *,
    out_dtype: torch.dtype | None = None,
) -> Tensor:
    """(x - zero_point) * scale, in f32 or `out_dtype`."""
    if x.dtype != dtype or scale.numel() != 1 or zero_point.numel() != 1:
        return NotImplemented
    return (x.to(out_dtype or torch.float32) - zero_point.reshape(())) * scale.reshape(())


_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_OF_TENSORS: dict[str, Callable[..., Any]] = {
    "quantize_per_tensor.tensor": _quantize,
    "dequantize_per_tensor.tensor": _dequantize,
}
"""What the library itself computes of numbers that it waits for."""
_BY_PARTS = (
    "quantize_per_tensor.default",
    "quantize_per_channel.default",
    "quantize_per_channel_group.default",
    "quantize_per_token.default",
    "dequantize_per_tensor.default",
    "dequantize_per_channel.default",
    "dequantize_per_channel_group.default",
    "dequantize_per_token.default",
    "choose_qparams_per_token.default",
    "choose_qparams_per_token_asymmetric.default",
)


def quantizations() -> dict[OperatorBase, Callable[..., Any]]:
    """What replaces each of these operators; nothing where they have not been loaded."""
    library = torch.ops.quantized_decomposed
    if not hasattr(library, "quantize_per_tensor"):
        return {}

    def operator(name: str) -> Operator:
        packet, overload = name.split(".")
        return getattr(getattr(library, packet), overload)

    found: dict[OperatorBase, Callable[..., Any]] = {operator(n): how for n, how in _OF_TENSORS.items()}
    found.update((op, partial(by_its_parts, op)) for op in map(operator, _BY_PARTS))
    return found
