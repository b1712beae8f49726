"""The `split-attention` pass."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import Expr, as_expr
from tilewright.dialects.tw.attention import (
    AttentionBackwardOp,
    AttentionKeyGradOp,
    AttentionQueryGradOp,
    weights_of,
)
from tilewright.dialects.tw.elementwise_binary import CastOp, MulOp
from tilewright.dialects.tw.reduction import SumOp
from tilewright.dialects.tw.view import ReshapeOp
from tilewright.dialects.types import element_type_of, sizes_of

from ..driver import Rewrite, Rules, apply_rules
from ..lowering.lower_attention import why_library
from ..rewrite import skip
from ..schedule.cost import estimate
from ..schedule.tiles.chain_blocks import keep_busy


@dataclass(frozen=True)
class SplitAttentionPass(ModulePass):
    """Compute the gradients of attention by what tiles can do: rows of queries, and rows of keys.

    Before:
        %dq, %dk, %dv = tw.attention_backward %q, %k, %v, %g, %o, %l scale 0.125
          : (tensor<2x3x64x32xf32>, ...) -> (tensor<2x3x64x32xf32>, ...)
    After:
        %p = tw.mul %g, %o : tensor<2x3x64x32xf32>
        %d = tw.sum %p over [3] : tensor<2x3x64x32xf32> -> tensor<2x3x64xf32>
        %dq = tw.attention_query_grad %q, %k, %v, %g, %l, %d scale 0.125 : (...) -> tensor<2x3x64x32xf32>
        %dk, %dv = tw.attention_key_grad %q, %k, %v, %g, %l, %d scale 0.125 : (...) -> (...)

    Each then writes what nobody else does, so that nothing is added atomically (Dao, FlashAttention-2, 2023).
    Where heads of queries share a head of keys, their gradients are summed by the programs that make them, of
    so many heads that still enough programs run to keep a GPU busy. What is left is summed in f32 afterwards,
    of gradients that are rounded as those of repeated heads are:

        %dk, %dv = tw.attention_key_grad ... : (tensor<1x8x64x32xf16>, tensor<1x2x64x32xf16>, ...)
          -> (tensor<1x4x64x32xf16>, tensor<1x4x64x32xf16>)     // of two heads each
        %g = tw.reshape %dk : tensor<1x4x64x32xf16> -> tensor<1x2x2x64x32xf16>
        %w = tw.cast %g : tensor<1x2x2x64x32xf16> -> tensor<1x2x2x64x32xf32>
        %s = tw.sum %w over [2] : tensor<1x2x2x64x32xf32> -> tensor<1x2x64x32xf32>
        %r = tw.cast %s : tensor<1x2x64x32xf32> -> tensor<1x2x64x32xf16>

    What no kernel of ours computes stays for a library.
    """

    name = "split-attention"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, _RULES, self.name)


def _split(op: Operation, rw: Rewrite) -> list[SSAValue] | None:
    assert isinstance(op, AttentionBackwardOp)
    if (reason := why_library(op)) is not None:
        skip(op, reason)
        return None
    product = rw.value(MulOp(_cast(rw, op.grad, f32), _cast(rw, op.result, f32)))
    delta = rw.value(SumOp(product, (3,)))
    values = (op.query, op.key, op.value, op.grad, op.logsumexp, delta)
    how = weights_of(op)
    of_query = rw.value(AttentionQueryGradOp(values, op.mask, **how))
    heads = _heads_of_sums(op)
    of_keys = AttentionKeyGradOp(values, op.mask, **how, heads=heads)
    rw.insert(of_keys)
    if heads == (shared := sizes_of(op.key)[1]):
        return [of_query, *of_keys.results]
    return [of_query, *(_summed(rw, grad, shared) for grad in of_keys.results)]


def _heads_of_sums(op: AttentionBackwardOp) -> Expr:
    """Of the gradients of keys, as one kernel writes them: as few as keep a GPU busy."""
    all_heads, (batch, shared, keys, _) = sizes_of(op.query)[1], sizes_of(op.key)
    most, least = all_heads.constant, shared.constant
    if most is None or not least:
        return all_heads
    counts = (least * n for n in range(1, most // least) if most % (least * n) == 0)
    return as_expr(next((n for n in counts if keep_busy(n * estimate(batch), keys)), most))


def _summed(rw: Rewrite, grad: SSAValue, shared: Expr) -> SSAValue:
    """The sum over heads of queries that share one of `shared` heads."""
    batch, heads, *rest = sizes_of(grad)
    groups = rw.value(ReshapeOp(grad, (batch, shared, heads // shared, *rest)))
    return _cast(rw, rw.value(SumOp(_cast(rw, groups, f32), (2,))), element_type_of(grad))


def _cast(rw: Rewrite, value: SSAValue, element: Attribute) -> SSAValue:
    return value if element_type_of(value) == element else rw.value(CastOp(value, element))


_RULES: Rules = {AttentionBackwardOp: (_split,)}
