"""Attention and its gradients: what torch chooses for CPUs, and our own with dropout.

For CPUs every call becomes an op: where no kernel of ours computes it, a library's function does.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import Expr

from .attention_base import backward, by_kernel, forward
from .boolean_masks import seen
from .builder import Builder, Row

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
    op = forward(b, (query, key, value), attn_mask, dropout_p, is_causal, scale)
    b.add(op)
    return op.result, op.logsumexp


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
    op = backward(b, values, attn_mask, dropout_p, is_causal, scale)
    b.add(op)
    return tuple(op.results)


# With dropout: the operators of `frontend/operators/dropout_operators.py`


def _random_state(b: Builder, count: int | Expr, *, device: Any) -> SSAValue:
    """Of its own: with a seed that nobody else has, counters may begin anywhere."""
    return b.random_state()


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
    op = forward(b, (query, key, value), seen(b, mask), dropout_p, is_causal, scale, seed)
    return tuple(by_kernel(b, op).results)


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
    values = (query, key, value, grad, out, logsumexp)
    op = backward(b, values, seen(b, mask), dropout_p, is_causal, scale, seed)
    return tuple(by_kernel(b, op).results)


ROWS: dict[str, Row] = {
    "aten._scaled_dot_product_flash_attention_for_cpu.default": _attention,
    "aten._scaled_dot_product_flash_attention_for_cpu_backward.default": _attention_backward,
    "tilewright.random_state.default": _random_state,
    "tilewright.dropout_attention.default": _dropout,
    "tilewright.dropout_attention_backward.default": _dropout_backward,
}
