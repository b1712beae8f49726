"""Attention and its gradients, of every operator that torch chooses for tensors of GPUs.

They differ in what they return beside the result, and in the layout of the log-sum-exp. They become ops of
ours only where a kernel of ours computes them: a library's function for `tw.attention` is known for the CPU
alone, and ATen runs the others as it finds them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from tilewright.dialects.tw.view import PadOp, SliceOp
from tilewright.dialects.types import element_type, sizes_of, sizes_of_type

from ..errors import Unsupported
from ..fx.dtypes import CARRIERS
from .aten import result_type
from .attention_base import backward, by_kernel, forward
from .boolean_masks import seen
from .builder import Builder, Row

# What they share


def _square(query: SSAValue, key: SSAValue, is_causal: bool) -> None:
    """Libraries differ in where a causal mask of unequal lengths begins."""
    if is_causal and sizes_of(query)[2] != sizes_of(key)[2]:
        raise Unsupported("attention with a causal mask of unequal lengths")


def _without_weights(return_debug_mask: bool) -> None:
    if return_debug_mask:
        raise Unsupported("attention that returns its weights")


def _of_one_length(*cumulative: Any) -> None:
    """`cumulative`: where sequences begin that share a batch."""
    if any(starts is not None for starts in cumulative):
        raise Unsupported("attention over sequences of several lengths")


def _beside(b: Builder, first: int) -> list[Any]:
    """The results from number `first` on: sizes, and what only dropout and debugging give a meaning."""
    return [_nothing(b, fake) for fake in b.fake[first:]]


def _nothing(b: Builder, fake: Any) -> Any:
    if isinstance(fake, torch.SymInt):
        return b.symbols.expr(fake)
    if not isinstance(fake, torch.Tensor):
        return fake
    type_ = result_type(fake, b.symbols)
    value = b.full(0, element_type(type_), sizes_of_type(type_))
    if fake.dtype in CARRIERS:
        b.carried[value] = fake
    return value


# FlashAttention


def _flash(
    b: Builder,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: Any = None,
) -> tuple[Any, ...]:
    """Log-sum-exp is `[b, h, l]`."""
    _square(query, key, is_causal)
    _without_weights(return_debug_mask)
    op = forward(b, (query, key, value), None, dropout_p, is_causal, scale)
    return (*by_kernel(b, op).results, *_beside(b, 2))


def _flash_backward(
    b: Builder,
    grad: SSAValue,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    out: SSAValue,
    logsumexp: SSAValue,
    cum_seq_q: Any,
    cum_seq_k: Any,
    max_q: Any,
    max_k: Any,
    dropout_p: float,
    is_causal: bool,
    *_: Any,
    scale: Any = None,
) -> tuple[Any, ...]:
    _square(query, key, is_causal)
    _of_one_length(cum_seq_q, cum_seq_k)
    op = backward(b, (query, key, value, grad, out, logsumexp), None, dropout_p, is_causal, scale)
    return tuple(by_kernel(b, op).results)


# xFormers' memory-efficient attention


def _efficient(
    b: Builder,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    attn_bias: SSAValue | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: Any = None,
) -> tuple[Any, ...]:
    """Log-sum-exp is `[b, h, n]`: n is l rounded up to whole warps, with infinity there, or 0."""
    op = by_kernel(b, forward(b, (query, key, value), seen(b, attn_bias), dropout_p, is_causal, scale))
    logsumexp, sizes = op.logsumexp, b.symbols.exprs(b.fake[1].shape)
    if not compute_log_sumexp:
        logsumexp = b.full(0.0, f32, sizes)
    elif sizes[2] != sizes_of(query)[2]:
        logsumexp = b.emit(PadOp(logsumexp, (0, 0, 0), (0, 0, sizes[2] - sizes_of(query)[2]), math.inf))
    return (op.result, logsumexp, *_beside(b, 2))


def _efficient_backward(
    b: Builder,
    grad: SSAValue,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    attn_bias: SSAValue | None,
    out: SSAValue,
    logsumexp: SSAValue,
    philox_seed: Any,
    philox_offset: Any,
    dropout_p: float,
    grad_input_mask: Sequence[bool],
    is_causal: bool = False,
    *,
    scale: Any = None,
) -> tuple[Any, ...]:
    if attn_bias is not None and grad_input_mask[3]:
        raise Unsupported("attention whose mask has a gradient")
    rows = sizes_of(query)[:3]
    if sizes_of(logsumexp) != rows:
        logsumexp = b.emit(SliceOp(logsumexp, (0, 0, 0), rows))
    values = (query, key, value, grad, out, logsumexp)
    op = backward(b, values, seen(b, attn_bias), dropout_p, is_causal, scale)
    return (*by_kernel(b, op).results, None)


# cuDNN


def _cudnn(
    b: Builder,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    attn_bias: SSAValue | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: Any = None,
) -> tuple[Any, ...]:
    """Log-sum-exp is `[b, h, l, 1]`."""
    _square(query, key, is_causal)
    _without_weights(return_debug_mask)
    op = by_kernel(b, forward(b, (query, key, value), seen(b, attn_bias), dropout_p, is_causal, scale))
    return (op.result, b.reshape(op.logsumexp, b.symbols.exprs(b.fake[1].shape)), *_beside(b, 2))


def _cudnn_backward(
    b: Builder,
    grad: SSAValue,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    out: SSAValue,
    logsumexp: SSAValue,
    philox_seed: Any,
    philox_offset: Any,
    attn_bias: SSAValue | None,
    cum_seq_q: Any,
    cum_seq_k: Any,
    max_q: Any,
    max_k: Any,
    dropout_p: float,
    is_causal: bool,
    *,
    scale: Any = None,
) -> tuple[Any, ...]:
    _square(query, key, is_causal)
    _of_one_length(cum_seq_q, cum_seq_k)
    logsumexp = b.reshape(logsumexp, sizes_of(query)[:3])
    values = (query, key, value, grad, out, logsumexp)
    op = backward(b, values, seen(b, attn_bias), dropout_p, is_causal, scale)
    return tuple(by_kernel(b, op).results)


_SDPA = "aten._scaled_dot_product_"
ROWS: dict[str, Row] = {
    f"{_SDPA}flash_attention.default": _flash,
    f"{_SDPA}flash_attention_backward.default": _flash_backward,
    f"{_SDPA}efficient_attention.default": _efficient,
    f"{_SDPA}efficient_attention_backward.default": _efficient_backward,
    f"{_SDPA}cudnn_attention.default": _cudnn,
    f"{_SDPA}cudnn_attention_backward.default": _cudnn_backward,
}
SEEDED: frozenset[str] = frozenset(ROWS)
"""Rows that leave their seeds alone, which may be of a dtype that the IR lacks."""
