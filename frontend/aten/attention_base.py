"""What rows of attention share, whichever operator torch chose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from tilewright.dialects.tw.attention import AttentionBackwardOp, AttentionOp
from tilewright.dialects.tw.attention_base import Weights
from tilewright.dialects.types import sizes_of
from tilewright.passes.lowering.lower_attention import why_library

from ..errors import Unsupported
from .builder import Builder, element_of

OpT = TypeVar("OpT", AttentionOp, AttentionBackwardOp)


def forward(
    b: Builder,
    factors: Sequence[SSAValue],
    mask: SSAValue | None,
    dropout_p: Any,
    is_causal: bool,
    scale: Any,
    seed: SSAValue | None = None,
) -> AttentionOp:
    """Of query, key and value, not emitted yet."""
    query, key, value = factors
    weights = _weights(query, dropout_p, is_causal, scale, seed)
    return AttentionOp(query, key, value, _mask(b, query, mask), **weights)


def backward(
    b: Builder,
    values: Sequence[SSAValue],
    mask: SSAValue | None,
    dropout_p: Any,
    is_causal: bool,
    scale: Any,
    seed: SSAValue | None = None,
) -> AttentionBackwardOp:
    """Of query, key, value, gradient, result and log-sum-exp, not emitted yet."""
    weights = _weights(values[0], dropout_p, is_causal, scale, seed)
    return AttentionBackwardOp(values, _mask(b, values[0], mask), **weights)


def by_kernel(b: Builder, op: OpT) -> OpT:
    """Emit `op`; what no kernel of ours computes is left to ATen."""
    if (reason := why_library(op)) is not None:
        raise Unsupported(reason)
    b.add(op)
    return op


def _weights(query: SSAValue, dropout_p: Any, is_causal: bool, scale: Any, seed: SSAValue | None) -> Weights:
    """Only a seed says which weights are dropped: numbers that a library draws are its own."""
    if seed is None and dropout_p:
        raise Unsupported("attention with dropout")
    if (rank := len(sizes_of(query))) != 4:
        raise Unsupported(f"attention of tensors with {rank} dimensions")
    return Weights(
        scale=_scale(query, scale),
        is_causal=is_causal,
        dropout_p=0.0 if seed is None else dropout_p,
        seed=seed,
    )


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
