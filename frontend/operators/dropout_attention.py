"""Attention with dropout: what torch chooses for GPUs, taken apart into operators of ours.

`_scaled_dot_product_flash_attention` and its like draw numbers of their own, and tell their backward passes
by a seed and an offset how to draw them again: forward and backward must be of one kind. So both become
`tilewright::dropout_attention` and its gradients while AOTAutograd traces. The seed of ours is a tensor of
two i64, which no operator of torch returns there: a backward pass whose seed is another's is left alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor

from ..fx.dtypes import ELEMENTS
from ..torch_internals import size_expression
from .dropout_operators import heads_inside
from .own_operators import operators


def _scale(query: Tensor, scale: float | None) -> float:
    return 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale


def _same(one: int | torch.SymInt, other: int | torch.SymInt) -> bool:
    """Whether two sizes are known to be equal."""
    if isinstance(one, torch.SymInt) and isinstance(other, torch.SymInt):
        return size_expression(one) == size_expression(other)
    return isinstance(one, int) and isinstance(other, int) and one == other


def _takes(query: Tensor, key: Tensor, value: Tensor, dropout_p: float, scale: Any) -> bool:
    """Whether kernels of ours compute both the result and its gradients."""
    from tilewright.passes.lowering.lower_attention import Sides, why_no_kernel

    element = ELEMENTS.get(query.dtype)
    numbers = isinstance(cast("Any", dropout_p), float | int) and isinstance(scale, float | int | None)
    if element is None or not numbers or not 0.0 < dropout_p < 1.0:
        return False
    sides = (query.shape[2], key.shape[2], query.shape[3], value.shape[3])
    known = [size if isinstance(size, int) else None for size in cast("Sequence[Any]", sides)]
    return why_no_kernel(element, Sides(*known), gradient=True) is None


def _takes_flash(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float,
    is_causal: bool,
    return_debug_mask: bool,
    scale: Any,
) -> bool:
    """The same where weights may be wanted, and libraries differ in where a causal mask begins."""
    unequal = is_causal and not _same(query.shape[2], key.shape[2])
    return not (return_debug_mask or unequal) and _takes(query, key, value, dropout_p, scale)


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The result, its log-sum-exp, and the seed."""
    ops = operators()
    count = query.shape[0] * query.shape[1] * query.shape[2] * key.shape[2]
    seed = ops["random_state"](count, device=query.device)
    how = (mask, seed, dropout_p, is_causal, _scale(query, scale))
    return (*ops["dropout_attention"](query, key, value, *how), seed)


def _is_ours(seed: Any) -> bool:
    return isinstance(seed, Tensor) and seed.dtype == torch.int64 and seed.shape == (2,)


def _efficient(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> Any:
    """Log-sum-exp is `[b, h, n]`: n is l rounded up to whole warps, with infinity there, or 0."""
    if not _takes(query, key, value, dropout_p, scale):
        return NotImplemented
    out, logsumexp, seed = _attend(query, key, value, attn_bias, dropout_p, is_causal, scale)
    if not compute_log_sumexp:
        logsumexp = logsumexp.new_zeros((*query.shape[:2], 0))
    elif torch.version.hip is None:
        logsumexp = torch.nn.functional.pad(logsumexp, (0, -query.shape[2] % 32), value=math.inf)
    return heads_inside(out), logsumexp, seed, seed


def _efficient_backward(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None,
    out: Tensor,
    logsumexp: Tensor,
    philox_seed: Tensor,
    philox_offset: Tensor,
    dropout_p: float,
    grad_input_mask: Sequence[bool],
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> Any:
    if not _is_ours(philox_seed):
        return NotImplemented
    saved = (grad, query, key, value, out, logsumexp[:, :, : query.shape[2]])
    how = (attn_bias, philox_seed, dropout_p, is_causal, _scale(query, scale))
    of_mask = None
    if attn_bias is not None and grad_input_mask[3]:
        of_mask = operators()["dropout_attention_mask_grad"](*saved, *how)
    return (*operators()["dropout_attention_backward"](*saved, *how), of_mask)


def _flash(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> Any:
    if not _takes_flash(query, key, value, dropout_p, is_causal, return_debug_mask, scale):
        return NotImplemented
    out, logsumexp, seed = _attend(query, key, value, None, dropout_p, is_causal, scale)
    return out, logsumexp, None, None, query.shape[2], key.shape[2], seed, seed, query.new_empty(0)


def _flash_backward(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    cum_seq_q: Any,
    cum_seq_k: Any,
    max_q: Any,
    max_k: Any,
    dropout_p: float,
    is_causal: bool,
    philox_seed: Tensor,
    philox_offset: Tensor,
    *,
    scale: float | None = None,
) -> Any:
    if not _is_ours(philox_seed):
        return NotImplemented
    how = (None, philox_seed, dropout_p, is_causal, _scale(query, scale))
    return operators()["dropout_attention_backward"](grad, query, key, value, out, logsumexp, *how)


def _cudnn(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> Any:
    if not _takes_flash(query, key, value, dropout_p, is_causal, return_debug_mask, scale):
        return NotImplemented
    out, logsumexp, seed = _attend(query, key, value, attn_bias, dropout_p, is_causal, scale)
    return out, logsumexp.unsqueeze(-1), None, None, query.shape[2], key.shape[2], seed, seed, None


def _cudnn_backward(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    philox_seed: Tensor,
    philox_offset: Tensor,
    attn_bias: Tensor | None,
    cum_seq_q: Any,
    cum_seq_k: Any,
    max_q: Any,
    max_k: Any,
    dropout_p: float,
    is_causal: bool,
    *,
    scale: float | None = None,
) -> Any:
    if not _is_ours(philox_seed):
        return NotImplemented
    how = (attn_bias, philox_seed, dropout_p, is_causal, _scale(query, scale))
    saved = (grad, query, key, value, out, logsumexp.squeeze(-1))
    return operators()["dropout_attention_backward"](*saved, *how)


def decompositions() -> dict[Any, Callable[..., Any]]:
    """Of what torch chooses for GPUs; without dropout they stay whole."""
    aten = torch.ops.aten
    return {
        aten._scaled_dot_product_efficient_attention.default: _efficient,
        aten._scaled_dot_product_efficient_attention_backward.default: _efficient_backward,
        aten._scaled_dot_product_flash_attention.default: _flash,
        aten._scaled_dot_product_flash_attention_backward.default: _flash_backward,
        aten._scaled_dot_product_cudnn_attention.default: _cudnn,
        aten._scaled_dot_product_cudnn_attention_backward.default: _cudnn_backward,
    }
