"""Attention with dropout as operators of ours, whose seed says which weights are dropped, whoever runs them.

What torch chooses for GPUs (`_scaled_dot_product_flash_attention` and its like) draws numbers of its own, and
tells its backward pass by a seed and an offset how to draw them again: forward and backward must be of one
kind. So both are taken apart into `tilewright::dropout_attention` and its gradients while AOTAutograd traces.
Their meaning is that of `tw.attention` with a seed: kernels of ours compute them, and where a graph, or one
call, runs by ATen instead, the functions below drop the same weights. The seed of ours is a tensor of two
i64, which no operator of torch returns there: a backward pass whose seed is another's is left alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

import torch
from torch import Tensor

from tilewright.dialects.philox import uniform

from .dtypes import ELEMENTS
from .torch_internals import NONDETERMINISTIC, find_operator, size_expression

NAMESPACE = "tilewright"
_HOW = "Tensor? mask, Tensor seed, float dropout_p, bool is_causal, float scale"
_SAVED = "Tensor grad, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp"
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_LIBRARY: list[Any] = []


# The operators


def _random_state(count: int, *, device: torch.device) -> Tensor:
    """A seed, and the first of `count` counters that nobody else uses with it."""
    seed = torch.randint(_LOWEST, _HIGHEST, (1,), dtype=torch.int64, device=device)
    return torch.cat([seed, torch.zeros_like(seed)])


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
    counters = torch.arange(value.numel(), device=value.device).view(value.shape) + seed[1]
    drawn = uniform(cast("Any", seed[0]), counters).float()
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
    return _heads_inside(weights @ _per_head(value, query), query.dtype), logsumexp


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
    of_query, of_key, of_value = (_heads_inside(g, query.dtype) for g in found)
    return of_query, of_key, of_value


def _mask_grad(*args: Any) -> Tensor:
    mask = args[6]
    return _gradients(*args)[0].sum_to_size(mask.shape).to(mask.dtype)


def _shared(grad: Tensor, like: Tensor) -> Tensor:
    """Summed over the heads of queries that share one of `like`."""
    b, h, n, e = grad.shape
    return grad.view(b, like.shape[1], h // like.shape[1], n, e).sum(2)


def _heads_inside(value: Tensor, dtype: torch.dtype) -> Tensor:
    return value.to(dtype).transpose(1, 2).contiguous().transpose(1, 2)


# What they return, for tracing


def _like_heads(*sizes: int | torch.SymInt, like: Tensor) -> Tensor:
    b, h, n, e = sizes
    return like.new_empty((b, n, h, e)).transpose(1, 2)


def _fake_state(count: int, *, device: torch.device) -> Tensor:
    return torch.empty(2, dtype=torch.int64, device=device)


def _fake_attention(query: Tensor, key: Tensor, value: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    out = _like_heads(*query.shape[:3], value.shape[3], like=query)
    return out, query.new_empty(query.shape[:3], dtype=torch.float32)


def _fake_backward(grad: Tensor, *values: Any) -> tuple[Tensor, ...]:
    return tuple(_like_heads(*value.shape, like=value) for value in values[:3])


def _fake_mask_grad(*args: Any) -> Tensor:
    return args[6].new_empty(args[6].shape)


_OPERATORS: tuple[tuple[str, Callable[..., Any], Callable[..., Any], tuple[torch.Tag, ...]], ...] = (
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


@cache
def operators() -> dict[str, Any]:
    """The operators by name, registered with torch."""
    api: Any = torch.library
    library = api.Library(NAMESPACE, "FRAGMENT")
    _LIBRARY.append(library)
    found: dict[str, Any] = {}
    for schema, run, fake, tags in _OPERATORS:
        name = schema.partition("(")[0]
        library.define(schema, tags=(torch.Tag.pt2_compliant_tag, *tags))
        library.impl(name, run, "CompositeExplicitAutograd")
        api.register_fake(f"{NAMESPACE}::{name}", fake, lib=library)
        found[name] = find_operator(f"{NAMESPACE}::{name}")
    return found


# Taking apart what torch chooses


def _scale(query: Tensor, scale: float | None) -> float:
    return 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale


def _same(one: int | torch.SymInt, other: int | torch.SymInt) -> bool:
    """Whether two sizes are known to be equal."""
    if isinstance(one, torch.SymInt) and isinstance(other, torch.SymInt):
        return size_expression(one) == size_expression(other)
    return isinstance(one, int) and isinstance(other, int) and one == other


def _takes(query: Tensor, key: Tensor, value: Tensor, dropout_p: float, scale: Any) -> bool:
    """Whether kernels of ours compute both the result and its gradients."""
    from tilewright.passes.fusion.lower_attention import Sides, why_no_kernel

    element = ELEMENTS.get(query.dtype)
    numbers = isinstance(cast("Any", dropout_p), float | int) and isinstance(scale, float | int | None)
    if element is None or not numbers or not 0.0 < dropout_p < 1.0:
        return False
    sides = (query.shape[2], key.shape[2], query.shape[3], value.shape[3])
    known = [size if isinstance(size, int) else None for size in cast("Sequence[Any]", sides)]
    return why_no_kernel(element, Sides(*known), gradient=True) is None


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
    return out, logsumexp, seed, seed


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
    unequal = is_causal and not _same(query.shape[2], key.shape[2])
    if return_debug_mask or unequal or not _takes(query, key, value, dropout_p, scale):
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
    unequal = is_causal and not _same(query.shape[2], key.shape[2])
    if return_debug_mask or unequal or not _takes(query, key, value, dropout_p, scale):
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
