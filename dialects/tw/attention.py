"""Attention and its gradients."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import TypeAlias, Unpack

from xdsl.dialects.builtin import FloatAttr, f32, f64, i1, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from ..index_expr import Expr, as_expr
from ..op_definition import op_definition
from ..types import sizes_of, tensor_type
from .attention_base import AttentionBase, Weights
from .base import (
    TENSOR,
    element_of,
    expect_element,
    expect_kind,
    expect_rank,
    expect_sizes,
    fail,
)


def wide_element(element: Attribute) -> Attribute:
    """In which scores and sums are computed: f32, or f64 for that."""
    return element if element == f64 else f32


@op_definition
class AttentionOp(AttentionBase):
    """softmax(q k^T * scale + mask) v, and the log-sum-exp of the scores.

    q is `[b, h, l, e]`, k `[b, g, s, e]`, v `[b, g, s, c]`; the results are `[b, h, l, c]`, of the
    element type of q or f32, and `[b, h, l]`, f32 (f64 for f64 inputs). `g` is `h`, or divides it: then
    `h / g` heads in a row share a head of k and v. The mask has rank 2 (`[l, s]`) or 4, each size 1
    or the full one; i1 (true takes part) or the element type (added). `causal` lets row i
    see columns 0 to i. Scores, softmax and sums are computed in f32 or f64. A row that sees
    no column is 0 with log-sum-exp -inf (as ATen's CPU kernel does for masks of -inf).

    With `dropout p` some weights are 0 and the others are divided by `1 - p`, after the softmax: the
    log-sum-exp knows nothing of it. `seed` holds two numbers. The weight at row-major position `n` of
    `[b, h, l, s]` is kept where the number that `tw.rng_uniform` draws with the first of them as its seed,
    at counter `n` plus the second, of which the last two bits do not count, is not below p (rounded to f32).

    ```mlir
    %o, %l = tw.attention %q, %k, %v causal scale 0.125 dropout 0.1 seed %s
       : (tensor<1x2x8x64xf32>, tensor<1x2x8x64xf32>, tensor<1x2x8x64xf32>, tensor<2xi64>)
         -> (tensor<1x2x8x64xf32>, tensor<1x2x8xf32>)
    ```
    """

    name = "tw.attention"

    query = operand_def(TENSOR)
    key = operand_def(TENSOR)
    value = operand_def(TENSOR)
    dropout_p = prop_def(FloatAttr.constr(type=f64))
    result = result_def(TENSOR)
    logsumexp = result_def(TENSOR)

    def __init__(
        self,
        query: SSAValue,
        key: SSAValue,
        value: SSAValue,
        mask: SSAValue | None = None,
        *,
        element: Attribute | None = None,
        **how: Unpack[Weights],
    ) -> None:
        """`element` is the result's, by default that of `query`."""
        sizes, wide = sizes_of(query), wide_element(element_of(query))
        results = (
            tensor_type(element or element_of(query), [*sizes[:3], sizes_of(value)[3]]),
            tensor_type(wide, sizes[:3]),
        )
        self._attend((query, key, value), mask, results, how)
        self.dropout_p = FloatAttr(how.get("dropout_p", 0.0), f64)

    def check(self) -> None:
        _check_factors(self)
        q, v = sizes_of(self.query), sizes_of(self.value)
        element = element_of(self.query)
        _expect_element_or_wide(self, "result", self.result)
        expect_sizes(self, "result shape", sizes_of(self.result), [*q[:3], v[3]])
        expect_element(self, "logsumexp", self.logsumexp, wide_element(element))
        expect_sizes(self, "logsumexp shape", sizes_of(self.logsumexp), q[:3])
        _check_optional(self)


def dropout_of(op: AnyAttention) -> float:
    """The probability of dropping a weight."""
    return 0.0 if op.dropout_p is None else op.dropout_p.value.data


def weights_of(op: AnyAttention) -> Weights:
    """How `op` makes its weights, for an op of another kind or of other operands that makes the same."""
    return {
        "scale": op.scale.value.data,
        "is_causal": op.is_causal is not None,
        "dropout_p": dropout_of(op),
        "seed": op.seed,
    }


@op_definition
class AttentionBackwardOp(AttentionBase):
    """The gradients of `tw.attention` with respect to q, k and v.

    `grad` is the gradient of its result, of the shape of `result`; `result` and `logsumexp` are what it
    returned. Heads of k and v that several heads of queries share get the sum of theirs. With
    `p = exp(scores - logsumexp)` and `d = p * (grad v^T - sum(grad * result))` the gradients are
    `d k * scale`, `d^T q * scale` and `p^T grad`, computed in f32 or f64. A row that sees no column
    (its log-sum-exp is infinite) adds nothing. The mask has no gradient.

    With `dropout` and `seed`, those of `tw.attention`, the same weights are dropped: `grad v^T`, and `p` in
    `p^T grad`, are 0 there and divided by `1 - dropout` elsewhere.

    ```mlir
    %dq, %dk, %dv = tw.attention_backward %q, %k, %v, %g, %o, %l causal scale 0.125
       : (tensor<1x2x8x64xf32>, tensor<1x2x8x64xf32>, tensor<1x2x8x64xf32>, tensor<1x2x8x64xf32>,
          tensor<1x2x8x64xf32>, tensor<1x2x8xf32>)
         -> (tensor<1x2x8x64xf32>, tensor<1x2x8x64xf32>, tensor<1x2x8x64xf32>)
    ```
    """

    name = "tw.attention_backward"

    query = operand_def(TENSOR)
    key = operand_def(TENSOR)
    value = operand_def(TENSOR)
    grad = operand_def(TENSOR)
    result = operand_def(TENSOR)
    logsumexp = operand_def(TENSOR)
    dropout_p = opt_prop_def(FloatAttr.constr(type=f64))
    query_grad = result_def(TENSOR)
    key_grad = result_def(TENSOR)
    value_grad = result_def(TENSOR)

    def __init__(
        self, values: Sequence[SSAValue], mask: SSAValue | None = None, **how: Unpack[Weights]
    ) -> None:
        """`values`: query, key, value, gradient, result and log-sum-exp."""
        self._attend(values, mask, [v.type for v in values[:3]], how)

    def check(self) -> None:
        _check_factors(self)
        q, v = sizes_of(self.query), sizes_of(self.value)
        _check_saved(self, [*q[:3], v[3]])
        expect_element(self, "result", self.result, element_of(self.query))
        expect_sizes(self, "result shape", sizes_of(self.result), [*q[:3], v[3]])
        for fact, made, of in zip(_GRADS, self.results, (self.query, self.key, self.value), strict=True):
            expect_element(self, fact, made, element_of(of))
            expect_sizes(self, f"{fact} shape", sizes_of(made), sizes_of(of))
        _check_optional(self)


_GRADS = ("query_grad", "key_grad", "value_grad")


class GradOp(AttentionBase, ABC):
    """A part of `tw.attention_backward`, whose `delta` is `sum(grad * result)` of each row."""

    query = operand_def(TENSOR)
    key = operand_def(TENSOR)
    value = operand_def(TENSOR)
    grad = operand_def(TENSOR)
    logsumexp = operand_def(TENSOR)
    delta = operand_def(TENSOR)
    dropout_p = opt_prop_def(FloatAttr.constr(type=f64))

    def check(self) -> None:
        _check_factors(self)
        _check_saved(self, [*sizes_of(self.query)[:3], sizes_of(self.value)[3]])
        expect_element(self, "delta", self.delta, element_of(self.logsumexp))
        expect_sizes(self, "delta shape", sizes_of(self.delta), sizes_of(self.logsumexp))


@op_definition
class AttentionQueryGradOp(GradOp):
    """The gradient of `tw.attention` with respect to q; see `tw.attention_backward`.

    `delta` is `sum(grad * result)` of each row, as wide as `logsumexp`.

    ```mlir
    %dq = tw.attention_query_grad %q, %k, %v, %g, %l, %d scale 0.125
       : (tensor<1x2x8x64xf32>, tensor<1x2x9x64xf32>, tensor<1x2x9x64xf32>, tensor<1x2x8x64xf32>,
          tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> tensor<1x2x8x64xf32>
    ```
    """

    name = "tw.attention_query_grad"

    query_grad = result_def(TENSOR)

    def __init__(
        self, values: Sequence[SSAValue], mask: SSAValue | None = None, **how: Unpack[Weights]
    ) -> None:
        """`values`: query, key, value, gradient, log-sum-exp and delta."""
        self._attend(values, mask, (values[0].type,), how)

    def check(self) -> None:
        super().check()
        expect_element(self, "query_grad", self.query_grad, element_of(self.query))
        expect_sizes(self, "query_grad shape", sizes_of(self.query_grad), sizes_of(self.query))
        _check_optional(self)


@op_definition
class AttentionKeyGradOp(GradOp):
    """The gradients of `tw.attention` with respect to k and v, each summed over heads of queries in a row.

    The results are `[b, n, s, e]` and `[b, n, s, c]`, of the element type of q. `n` divides the `h`
    heads of queries, and the heads of k and v divide it: where it is more than these, whoever wants their
    gradient sums what is left. `delta` is as in `tw.attention_query_grad`.

    ```mlir
    %dk, %dv = tw.attention_key_grad %q, %k, %v, %g, %l, %d scale 0.125
       : (tensor<1x4x8x64xf32>, tensor<1x2x9x64xf32>, tensor<1x2x9x64xf32>, tensor<1x4x8x64xf32>,
          tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x4x9x64xf32>, tensor<1x4x9x64xf32>)
    ```
    """

    name = "tw.attention_key_grad"

    key_grad = result_def(TENSOR)
    value_grad = result_def(TENSOR)

    def __init__(
        self,
        values: Sequence[SSAValue],
        mask: SSAValue | None = None,
        *,
        heads: Expr,
        **how: Unpack[Weights],
    ) -> None:
        """`values`: query, key, value, gradient, log-sum-exp, delta; `heads`: those of the results."""
        element, keys = element_of(values[0]), [sizes_of(v) for v in values[1:3]]
        types = [tensor_type(element, [sizes[0], heads, *sizes[2:]]) for sizes in keys]
        self._attend(values, mask, types, how)

    def check(self) -> None:
        super().check()
        batch, heads = sizes_of(self.query)[:2]
        expect_rank(self, "key_grad", self.key_grad, 4)
        summed = sizes_of(self.key_grad)[1]
        _expect_divides(self, "gradients", summed, "queries", heads)
        _expect_divides(self, "keys", sizes_of(self.key)[1], "gradients", summed)
        for fact, grad, of in zip(_GRADS[1:], self.results, (self.key, self.value), strict=True):
            expect_element(self, fact, grad, element_of(self.query))
            expect_sizes(self, f"{fact} shape", sizes_of(grad), [batch, summed, *sizes_of(of)[2:]])
        _check_optional(self)


AnyAttention: TypeAlias = AttentionOp | AttentionBackwardOp | GradOp


def _check_factors(op: AnyAttention) -> None:
    """Query, key and value."""
    q, k, v = sizes_of(op.query), sizes_of(op.key), sizes_of(op.value)
    element = element_of(op.query)
    expect_kind(op, op.query, "float")
    for fact, value in (("query", op.query), ("key", op.key), ("value", op.value)):
        expect_rank(op, fact, value, 4)
        expect_element(op, fact, value, element)
    expect_sizes(op, "key shape", k, [q[0], k[1], k[2], q[3]])
    _expect_divides(op, "keys", k[1], "queries", q[1])
    expect_sizes(op, "value shape", v, [*k[:3], v[3]])


def _expect_divides(op: AnyAttention, fact: str, few: Expr, of: str, many: Expr) -> None:
    """Whether each head of the one stands for equally many of the other."""
    if few != many and (few.constant == 0 or (many % few).constant != 0):
        raise fail(op, f"{few} heads of {fact} do not divide {many} heads of {of}")


def _expect_element_or_wide(op: AnyAttention, fact: str, value: SSAValue) -> None:
    """Whether a result has the element type of the query, or the one in which its sums are computed."""
    element, made = element_of(op.query), element_of(value)
    allowed = dict.fromkeys((element, wide_element(element)))
    if made not in allowed:
        raise fail(op, f"{fact} is {made}, expected {' or '.join(map(str, allowed))}")


def _check_saved(op: AttentionBackwardOp | GradOp, shape: list[Expr]) -> None:
    """The gradient, and what the forward pass left."""
    element = element_of(op.query)
    expect_element(op, "grad", op.grad, element)
    expect_sizes(op, "grad shape", sizes_of(op.grad), shape)
    expect_element(op, "logsumexp", op.logsumexp, wide_element(element))
    expect_sizes(op, "logsumexp shape", sizes_of(op.logsumexp), shape[:3])


def _check_optional(op: AnyAttention) -> None:
    _check_dropout(op)
    if op.mask is None:
        return
    sizes, full = sizes_of(op.mask), [*sizes_of(op.query)[:3], sizes_of(op.key)[2]]
    if element_of(op.mask) not in (i1, element_of(op.query)):
        raise fail(op, f"mask is {element_of(op.mask)}, expected i1 or {element_of(op.query)}")
    if len(sizes) not in (2, 4):
        raise fail(op, f"mask has rank {len(sizes)}, expected 2 or 4")
    for n, limit in zip(sizes, full[-len(sizes) :], strict=True):
        if n.constant != 1 and n != limit:
            raise fail(op, f"mask has size {n}, expected 1 or {limit}")


def _check_dropout(op: AnyAttention) -> None:
    p = dropout_of(op)
    if not 0.0 <= p < 1.0:
        raise fail(op, f"dropout is {p}, expected at least 0.0 and less than 1.0")
    if (op.seed is None) != (p == 0.0):
        there = "no seed" if op.seed is None else "a seed"
        raise fail(op, f"dropout is {p} and there is {there}, expected a seed with dropout alone")
    if op.seed is not None:
        expect_element(op, "seed", op.seed, i64)
        expect_sizes(op, "seed shape", sizes_of(op.seed), [as_expr(2)])


ATTENTION_OPS = (AttentionOp, AttentionBackwardOp, AttentionQueryGradOp, AttentionKeyGradOp)
