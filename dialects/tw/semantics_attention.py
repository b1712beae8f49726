"""What attention and its gradients compute, written for clarity, not speed."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import f32

from ..arrays import Array
from ..philox import first_of_block, uniform
from ..semantics import Args, Machine, Results, semantics
from ..types import element_type_of, sizes_of
from .attention import (
    AnyAttention,
    AttentionBackwardOp,
    AttentionKeyGradOp,
    AttentionOp,
    AttentionQueryGradOp,
    dropout_of,
    wide_element,
)
from .semantics_elementwise import compute


def _shared_heads(m: Machine, value: Array, heads: int) -> Array:
    """Each head as often as queries have one for it."""
    count = value.shape[1]
    if count in (0, heads):
        return value
    parts = [value[:, i : i + 1] for i in range(count) for _ in range(heads // count)]
    return m.arrays.concat(parts, 1)


def _scores(op: AnyAttention, m: Machine, query: Array, key: Array, mask: Args) -> Array:
    """Scaled and masked products of queries and keys."""
    scores = m.xp.matmul(query, _swapped(m, key)) * op.scale.value.data
    hidden = m.arrays.full([1], float("-inf"), scores.dtype)
    for term in mask:
        scores = m.xp.where(term, scores, hidden) if term.dtype == m.xp.bool else scores + term
    if op.is_causal is not None:
        rows, columns = m.arrays.arange(scores.shape[2]), m.arrays.arange(scores.shape[3])
        scores = m.xp.where(columns.reshape([1, -1]) <= rows.reshape([-1, 1]), scores, hidden)
    return m.arrays.cast(scores, m.arrays.compute_dtype(element_type_of(op.query)))


def _optional(op: AnyAttention, rest: Args) -> tuple[Args, Array | None]:
    """The mask, if there is one, and the seed."""
    return (rest, None) if op.seed is None else (rest[:-1], rest[-1])


def _dropped(op: AnyAttention, m: Machine, weights: Array, seed: Array | None) -> Array:
    """`weights`, or what stands in their place, with dropout."""
    if seed is None:
        return weights
    p, (key, first) = dropout_of(op), seed.tolist()
    counters = m.arrays.arange(prod(weights.shape)) + first_of_block(first)
    numbers = m.arrays.cast(uniform(key, counters), m.arrays.dtype(f32))
    kept = numbers.reshape(weights.shape) >= float(np.float32(p))
    return m.xp.where(kept, weights / (1.0 - p), m.xp.zeros_like(weights))


def _swapped(m: Machine, value: Array) -> Array:
    return m.arrays.permute(value, [0, 1, 3, 2])


@semantics(AttentionOp)
def run_attention(op: AttentionOp, args: Args, machine: Machine) -> Results:
    element, xp = element_type_of(op.query), machine.xp
    query, key, value, *rest = args
    mask, seed = _optional(op, rest)
    query, key, value = (compute(machine, arg, element) for arg in (query, key, value))
    key, value = (_shared_heads(machine, arg, query.shape[1]) for arg in (key, value))
    with machine.quiet():
        scores = _scores(op, machine, query, key, mask)
        nothing = machine.arrays.full([*scores.shape[:3], 1], float("-inf"), scores.dtype)
        seen = machine.arrays.concat([scores, nothing], 3)  # there may be no key
        top = machine.arrays.reduce("amax", seen, (3,)).reshape(nothing.shape)
        weights = xp.exp(scores - xp.where(xp.isinf(top), xp.zeros_like(top), top))
        total = machine.arrays.reduce("sum", weights, (3,)).reshape(top.shape)
        logsumexp = (xp.log(total) + xp.where(xp.isinf(top), xp.zeros_like(top), top)).reshape(top.shape[:3])
        weights = weights / xp.where(total == 0, xp.ones_like(total), total)
    result = xp.matmul(_dropped(op, machine, weights, seed), value)
    wide = wide_element(element)
    return machine.arrays.store(result, element_type_of(op.result)), machine.arrays.store(logsumexp, wide)


@semantics(AttentionBackwardOp)
def run_backward(op: AttentionBackwardOp, args: Args, machine: Machine) -> Results:
    element = element_type_of(op.query)
    query, key, value, grad, result, logsumexp, *rest = args
    grad, result = (compute(machine, arg, element) for arg in (grad, result))
    delta = machine.arrays.reduce("sum", grad * result, (3,))
    factors = (query, key, value, args[3], logsumexp, delta, *rest)
    parts = _gradients(op, machine, factors)
    heads = key.shape[1]
    found = (parts[0], *(_over_group(machine, part, heads) for part in parts[1:]))
    return tuple(machine.arrays.store(part, element) for part in found)


def _over_group(m: Machine, grad: Array, heads: int) -> Array:
    """The sums over heads of queries in a row, as many as leave `heads` of them."""
    b, h, s, e = grad.shape
    if heads in (0, h):
        return grad
    return m.arrays.reduce("sum", grad.reshape([b, heads, h // heads, s, e]), (2,))


@semantics(AttentionQueryGradOp)
def run_query_grad(op: AttentionQueryGradOp, args: Args, machine: Machine) -> Results:
    return (machine.arrays.store(_gradients(op, machine, args)[0], element_type_of(op.query_grad)),)


@semantics(AttentionKeyGradOp)
def run_key_grad(op: AttentionKeyGradOp, args: Args, machine: Machine) -> Results:
    element, heads = element_type_of(op.key_grad), machine.sizes(sizes_of(op.key_grad))[1]
    parts = (_over_group(machine, part, heads) for part in _gradients(op, machine, args)[1:])
    return tuple(machine.arrays.store(part, element) for part in parts)


def _gradients(
    op: AttentionBackwardOp | AttentionQueryGradOp | AttentionKeyGradOp, m: Machine, args: Args
) -> tuple[Array, Array, Array]:
    """Of query, key and value, of each head of queries alone."""
    element, xp = element_type_of(op.query), m.xp
    query, key, value, grad = (compute(m, arg, element) for arg in args[:4])
    logsumexp, delta, *rest = args[4:]
    mask, seed = _optional(op, rest)
    key, value = (_shared_heads(m, arg, query.shape[1]) for arg in (key, value))
    rows = [*query.shape[:3], 1]
    with m.quiet():
        scores = _scores(op, m, query, key, mask)
        top = logsumexp.reshape(rows)
        weights = xp.exp(scores - xp.where(top == float("-inf"), xp.zeros_like(top), top))
        above = _dropped(op, m, xp.matmul(grad, _swapped(m, value)), seed)
        inner = weights * (above - delta.reshape(rows)) * op.scale.value.data
    return (
        xp.matmul(inner, key),
        xp.matmul(_swapped(m, inner), query),
        xp.matmul(_swapped(m, _dropped(op, m, weights, seed)), grad),
    )
