"""Attention whose tensors lie as torch's own kernels want them.

    scaled_dot_product_attention(q, k, v, attn_mask=seen[:, None, :, None].expand(-1, -1, -1, keys))

On GPUs torch chooses among its kernels by how tensors lie, and takes none where the last dimension of one is
not contiguous: such a mask, which `transformers` makes of "all see all", is repeated along it. What it
traces then is two products in f32 around a softmax. Kernels of ours read whatever lies in memory, so these
tensors are traced as dense copies, which passes remove. So are keys and values whose heads several heads of
queries share (`enable_gqa`), of f32 or with a mask, for which a GPU may have no kernel that shares them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from ..torch_internals import Operator


def dense_attention() -> Mapping[Operator, Callable[[Callable[..., Tensor]], Callable[..., Tensor]]]:
    """What `scaled_dot_product_attention` is traced as."""
    return {torch.ops.aten.scaled_dot_product_attention.default: _dense}


def _dense(own: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def attention(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        *rest: Any,
        **named: Any,
    ) -> Tensor:
        if query.device.type == "cpu":  # no kernel of torch's for CPUs asks for that
            return own(query, key, value, attn_mask, *rest, **named)
        mask = None if attn_mask is None else _laid_out(attn_mask)
        if named.get("enable_gqa") and not _has_flash(query, value, mask) and _share(query, key, value):
            key, value = (t.repeat_interleave(query.size(-3) // t.size(-3), -3) for t in (key, value))
            named["enable_gqa"] = False
        return own(_laid_out(query), _laid_out(key), _laid_out(value), mask, *rest, **named)

    return attention


def _has_flash(query: Tensor, value: Tensor, mask: Tensor | None) -> bool:
    """Whether flash attention takes such tensors, which knows shared heads."""
    half = query.dtype in (torch.bfloat16, torch.float16)
    return half and mask is None and query.size(-1) == value.size(-1)


def _share(query: Tensor, *others: Tensor) -> bool:
    """Whether as many heads of queries share each head of keys and values: `[..., heads, length, depth]`."""
    heads = query.size(-3) if query.dim() >= 3 else 0
    return all(t.dim() == query.dim() and 0 < t.size(-3) < heads and heads % t.size(-3) == 0 for t in others)


def _laid_out(tensor: Tensor) -> Tensor:
    """The tensor, or a copy of it, with elements of its last dimension side by side."""
    if tensor.is_nested or not tensor.dim() or tensor.stride(-1) == 1:
        return tensor
    return tensor.clone(memory_format=torch.contiguous_format)
