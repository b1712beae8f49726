"""Attention and its gradients, of every operator that torch chooses for them.

The operators differ in what they return beside the result, and in the layout of the log-sum-exp. Those for
GPUs become ops of ours only where a kernel of ours computes them: a library's function for `tw.attention` is
known for the CPU alone, and ATen runs the others as it finds them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from xdsl.dialects.builtin import f32, i1, i64
from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import Expr, as_expr
from tilewright.dialects.tw.attention import AttentionBackwardOp, AttentionOp
from tilewright.dialects.tw.view import ConcatOp, PadOp, SliceOp
from tilewright.dialects.types import element_type, sizes_of, sizes_of_type
from tilewright.passes.fusion.lower_attention import why_library

from ..dtypes import CARRIERS
from ..errors import Unsupported
from .aten import result_type
from .builder import Builder, Row, element_of

# What all of them share


def _scale(query: SSAValue, scale: Any) -> float:
    if scale is None:
        depth = sizes_of(query)[-1].constant
        if depth is None:
            raise Unsupported("attention whose head size is symbolic")
        return 1.0 / math.sqrt(depth)
    if not isinstance(scale, int | float):
        raise Unsupported("attention with a symbolic scale")
    return float(scale)


def _mask(b: Builder, query: SSAValue, mask: SSAValue | None) -> SSAValue | None:
    element = element_of(query)
    return mask if mask is None or element_of(mask) in (i1, element) else b.cast(mask, element)


def _without_dropout(dropout_p: Any) -> None:
    if dropout_p:
        raise Unsupported("attention with dropout")


def _by_kernel(op: AttentionOp | AttentionBackwardOp) -> None:
    """Leave to ATen what no kernel of ours computes."""
    if (reason := why_library(op)) is not None:
        raise Unsupported(reason)


def _square(query: SSAValue, key: SSAValue, is_causal: bool) -> None:
    """Libraries differ in where a causal mask of unequal lengths begins."""
    if is_causal and sizes_of(query)[2] != sizes_of(key)[2]:
        raise Unsupported("attention with a causal mask of unequal lengths")


def _forward(
    b: Builder,
    factors: Sequence[SSAValue],
    mask: SSAValue | None,
    dropout_p: Any,
    is_causal: bool,
    scale: Any,
) -> AttentionOp:
    _without_dropout(dropout_p)
    query, key, value = factors
    mask = _mask(b, query, mask)
    return AttentionOp(query, key, value, mask, scale=_scale(query, scale), is_causal=is_causal)


def _backward(
    b: Builder,
    values: Sequence[SSAValue],
    mask: SSAValue | None,
    dropout_p: Any,
    is_causal: bool,
    scale: Any,
) -> AttentionBackwardOp:
    _without_dropout(dropout_p)
    mask = _mask(b, values[0], mask)
    return AttentionBackwardOp(values, mask, scale=_scale(values[0], scale), is_causal=is_causal)


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


# For CPUs


def _attention(
    b: Builder,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: SSAValue | None = None,
    scale: Any = None,
) -> tuple[SSAValue, SSAValue]:
    op = _forward(b, (query, key, value), attn_mask, dropout_p, is_causal, scale)
    b.emit(op)
    return op.results[0], op.results[1]


def _attention_backward(
    b: Builder,
    grad: SSAValue,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    out: SSAValue,
    logsumexp: SSAValue,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: SSAValue | None = None,
    scale: Any = None,
) -> tuple[SSAValue, ...]:
    values = (query, key, value, grad, out, logsumexp)
    op = _backward(b, values, attn_mask, dropout_p, is_causal, scale)
    b.emit(op)
    return tuple(op.results)


# For GPUs: FlashAttention


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
    if return_debug_mask:
        raise Unsupported("attention that returns its weights")
    op = _forward(b, (query, key, value), None, dropout_p, is_causal, scale)
    _by_kernel(op)
    b.emit(op)
    return (*op.results, *_beside(b, 2))


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
    if cum_seq_q is not None or cum_seq_k is not None:
        raise Unsupported("attention over sequences of several lengths")
    op = _backward(b, (query, key, value, grad, out, logsumexp), None, dropout_p, is_causal, scale)
    _by_kernel(op)
    b.emit(op)
    return tuple(op.results)


# For GPUs: xFormers' memory-efficient attention


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
    op = _forward(b, (query, key, value), attn_bias, dropout_p, is_causal, scale)
    _by_kernel(op)
    b.emit(op)
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
    op = _backward(b, (query, key, value, grad, out, logsumexp), attn_bias, dropout_p, is_causal, scale)
    _by_kernel(op)
    b.emit(op)
    return (*op.results, None)


# For GPUs: cuDNN


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
    if return_debug_mask:
        raise Unsupported("attention that returns its weights")
    op = _forward(b, (query, key, value), attn_bias, dropout_p, is_causal, scale)
    _by_kernel(op)
    b.emit(op)
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
    if cum_seq_q is not None or cum_seq_k is not None:
        raise Unsupported("attention over sequences of several lengths")
    logsumexp = b.reshape(logsumexp, sizes_of(query)[:3])
    op = _backward(b, (query, key, value, grad, out, logsumexp), attn_bias, dropout_p, is_causal, scale)
    _by_kernel(op)
    b.emit(op)
    return tuple(op.results)


# With dropout: what `dropout_attention.py` makes of these


def _random_state(b: Builder, count: int | Expr, *, device: Any) -> SSAValue:
    seed, offset = b.random(as_expr(count))
    parts = (b.reshape(seed, (1,)), b.full(offset, i64, (1,)))
    return b.emit(ConcatOp(parts, 0))


def _dropout(
    b: Builder,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    mask: SSAValue | None,
    seed: SSAValue,
    dropout_p: float,
    is_causal: bool,
    scale: Any,
) -> tuple[SSAValue, ...]:
    op = AttentionOp(
        query,
        key,
        value,
        _mask(b, query, mask),
        scale=_scale(query, scale),
        is_causal=is_causal,
        dropout_p=dropout_p,
        seed=seed,
    )
    _by_kernel(op)
    b.emit(op)
    return tuple(op.results)


def _dropout_backward(
    b: Builder,
    grad: SSAValue,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    out: SSAValue,
    logsumexp: SSAValue,
    mask: SSAValue | None,
    seed: SSAValue,
    dropout_p: float,
    is_causal: bool,
    scale: Any,
) -> tuple[SSAValue, ...]:
    op = AttentionBackwardOp(
        (query, key, value, grad, out, logsumexp),
        _mask(b, query, mask),
        scale=_scale(query, scale),
        is_causal=is_causal,
        dropout_p=dropout_p,
        seed=seed,
    )
    _by_kernel(op)
    b.emit(op)
    return tuple(op.results)


_SDPA = "aten._scaled_dot_product_"
ROWS: dict[str, Row] = {
    f"{_SDPA}flash_attention_for_cpu.default": _attention,
    f"{_SDPA}flash_attention_for_cpu_backward.default": _attention_backward,
    f"{_SDPA}flash_attention.default": _flash,
    f"{_SDPA}flash_attention_backward.default": _flash_backward,
    f"{_SDPA}efficient_attention.default": _efficient,
    f"{_SDPA}efficient_attention_backward.default": _efficient_backward,
    f"{_SDPA}cudnn_attention.default": _cudnn,
    f"{_SDPA}cudnn_attention_backward.default": _cudnn_backward,
    "tilewright.random_state.default": _random_state,
    "tilewright.dropout_attention.default": _dropout,
    "tilewright.dropout_attention_backward.default": _dropout_backward,
}
SEEDED: frozenset[str] = frozenset(name for name in ROWS if name.startswith(_SDPA) and "_for_cpu" not in name)
"""Rows that leave their seeds alone, which may be of a dtype that the IR lacks."""
