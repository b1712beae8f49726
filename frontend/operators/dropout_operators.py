"""Operators of ours for attention with dropout, whose seed says which weights are dropped, whoever runs them.

Their meaning is that of `tw.attention` with a seed: kernels of ours compute them, and where a graph, or one
call, runs by ATen instead, the functions below drop the same weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor

from tilewright.dialects.philox import first_of_block, uniform

from ..torch_internals import NONDETERMINISTIC
from .random_operators import HIGHEST, LOWEST

_HOW = "Tensor? mask, Tensor seed, float dropout_p, bool is_causal, float scale"
_SAVED = "Tensor grad, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp"


# What they mean


def _random_state(count: int, *, device: torch.device) -> Tensor:
    """A seed that nobody else uses, and where `count` counters begin: at the multiple of four before it."""
    return torch.randint(LOWEST, HIGHEST, (2,), dtype=torch.int64, device=device)


def _scores(query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool, scale: float) -> Tensor:
    scores = query.float() @ _per_head(key, query).mT * scale
    if mask is not None:
        hidden = mask.logical_not() if mask.dtype == torch.bool else None
        scores = scores + mask if hidden is None else scores.masked_fill(hidden, -math.inf)
    if is_causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        scores = scores.masked_fill(seen.logical_not(), -math.inf)
    return scores


def _per_head(value: Tensor, query: Tensor) -> Tensor:
    """Keys or values in f32, as often as heads of queries share them."""
    return value.float().repeat_interleave(query.shape[1] // value.shape[1], 1)


def _weights(scores: Tensor, logsumexp: Tensor) -> Tensor:
    """What the softmax makes of the scores; zeros in a row that sees no key."""
    return (scores - logsumexp.masked_fill(logsumexp == -math.inf, 0.0).unsqueeze(-1)).exp()


def _dropped(value: Tensor, seed: Tensor, p: float) -> Tensor:
    key, first = cast("Any", seed)
    counters = torch.arange(value.numel(), device=value.device).view(value.shape) + first_of_block(first)
    drawn = uniform(key, counters).float()
    kept = drawn >= torch.tensor(p, dtype=torch.float32, device=value.device)
    return torch.where(kept, value / (1.0 - p), 0.0)


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    seed: Tensor,
    dropout_p: float,
    is_causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor]:
    scores = _scores(query, key, mask, is_causal, scale)
    logsumexp = scores.logsumexp(-1)
    weights = _dropped(_weights(scores, logsumexp), seed, dropout_p)
    return _result(query, value).copy_(weights @ _per_head(value, query)), logsumexp


def _gradients(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    mask: Tensor | None,
    seed: Tensor,
    dropout_p: float,
    is_causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor]:
    """Of the scores; and the weights after dropout."""
    weights = _weights(_scores(query, key, mask, is_causal, scale), logsumexp)
    delta = (grad.float() * out.float()).sum(-1, keepdim=True)
    above = _dropped(grad.float() @ _per_head(value, query).mT, seed, dropout_p)
    return weights * (above - delta), _dropped(weights, seed, dropout_p)


def _backward(*args: Any) -> tuple[Tensor, Tensor, Tensor]:
    grad, query, key, value = args[:4]
    inner, weights = _gradients(*args)
    scale = args[-1]
    found = (
        inner @ _per_head(key, query) * scale,
        _shared(inner.mT @ query.float() * scale, key),
        _shared(weights.mT @ grad.float(), value),
    )
    of_query, of_key, of_value = (heads_inside(g.to(query.dtype)) for g in found)
    return of_query, of_key, of_value


def _mask_grad(*args: Any) -> Tensor:
    mask = args[6]
    return _gradients(*args)[0].sum_to_size(mask.shape).to(mask.dtype)


def _shared(grad: Tensor, like: Tensor) -> Tensor:
    """Summed over the heads of queries that share one of `like`."""
    b, h, n, e = grad.shape
    return grad.view(b, like.shape[1], h // like.shape[1], n, e).sum(2)


def heads_inside(value: Tensor) -> Tensor:
    """`[b, h, n, e]` with the strides of `[b, n, h, e]`."""
    return value.transpose(1, 2).contiguous().transpose(1, 2)


# What they return, for tracing


def _like_heads(*sizes: int | torch.SymInt, like: Tensor) -> Tensor:
    b, h, n, e = sizes
    return like.new_empty((b, n, h, e)).transpose(1, 2)


def _result(query: Tensor, value: Tensor) -> Tensor:
    """Memory for what attention makes of `query`, in its order, as flash attention and cuDNN return it."""
    if query.shape[3] == value.shape[3]:
        return torch.empty_like(query)
    return _like_heads(*query.shape[:3], value.shape[3], like=query)


def _fake_state(count: int, *, device: torch.device) -> Tensor:
    return torch.empty(2, dtype=torch.int64, device=device)


def _fake_attention(query: Tensor, key: Tensor, value: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return _result(query, value), query.new_empty(query.shape[:3], dtype=torch.float32)


def _fake_backward(grad: Tensor, *values: Any) -> tuple[Tensor, ...]:
    return tuple(_like_heads(*value.shape, like=value) for value in values[:3])


def _fake_mask_grad(*args: Any) -> Tensor:
    return args[6].new_empty(args[6].shape)


OPERATORS: tuple[tuple[str, Callable[..., Any], Callable[..., Any], tuple[torch.Tag, ...]], ...] = (
    (
        "random_state(SymInt count, *, Device device) -> Tensor",
        _random_state,
        _fake_state,
        (NONDETERMINISTIC,),
    ),
    (
        f"dropout_attention(Tensor query, Tensor key, Tensor value, {_HOW}) -> (Tensor, Tensor)",
        _attention,
        _fake_attention,
        (),
    ),
    (
        f"dropout_attention_backward({_SAVED}, {_HOW}) -> (Tensor, Tensor, Tensor)",
        _backward,
        _fake_backward,
        (),
    ),
    (f"dropout_attention_mask_grad({_SAVED}, {_HOW}) -> Tensor", _mask_grad, _fake_mask_grad, ()),
)
