"""The reference semantics of attention and its gradients against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from test_tw_linalg import TOLERANCE, values
from torch import Tensor
from torch.nn import functional
from tw_harness import FLOATS, check, module_of

from tilewright.dialects.index_expr import as_expr
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.tw import attention as t
from tilewright.dialects.tw.creation import RngUniformOp


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("mask", [None, "i1", "same"])
def test_attention(name: str, is_causal: bool, mask: str | None) -> None:
    q, k = values(2, 3, 5, 4, name=name), values(2, 3, 7, 4, name=name, seed=1)
    v, inputs = values(2, 3, 7, 4, name=name, seed=2), []
    bias = torch.zeros(5, 7, dtype=torch.float64)
    if mask == "i1":
        seen = values(2, 1, 5, 7, seed=3) > -0.5
        seen[..., 0] = True
        inputs, bias = [seen], torch.zeros(seen.shape, dtype=torch.float64).masked_fill(~seen, float("-inf"))
    elif mask == "same":
        added = values(5, 7, name=name, seed=3)
        inputs, bias = [added], added.double()
    if is_causal:
        bias = bias + torch.full((5, 7), float("-inf"), dtype=torch.float64).triu(1)
    scores = q.double() @ k.double().mT * 0.3 + bias
    wanted = (torch.softmax(scores, -1) @ v.double()).to(q.dtype)
    total = torch.logsumexp(scores, -1).to(torch.float64 if name == "f64" else torch.float32)
    tolerance = TOLERANCE[name]
    check(
        [q, k, v, *inputs],
        lambda a: t.AttentionOp(*a, scale=0.3, is_causal=is_causal),
        wanted,
        total,
        rtol=tolerance,
        atol=tolerance,
    )


def test_attention_agrees_with_aten() -> None:
    q, k, v = values(1, 2, 6, 8), values(1, 2, 6, 8, seed=1), values(1, 2, 6, 8, seed=2)
    out, total = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, True, scale=0.5)
    check([q, k, v], lambda a: t.AttentionOp(*a, scale=0.5, is_causal=True), out, total, rtol=1e-4, atol=1e-5)


def test_attention_of_a_row_that_sees_nothing() -> None:
    q = values(1, 1, 2, 4)
    seen = torch.tensor([[True, True], [False, False]])
    module = module_of([q, q, q, seen], lambda a: t.AttentionOp(*a, scale=1.0))
    out, total = interpret(module, [q, q, q, seen], torch)
    assert bool((out[0, 0, 1] == 0).all())
    assert float(total[0, 0, 1]) == float("-inf")


def test_attention_of_no_keys() -> None:
    q, k = values(1, 2, 3, 4), torch.empty(1, 2, 0, 4)
    nothing = torch.full((1, 2, 3), float("-inf"))
    check([q, k, k], lambda a: t.AttentionOp(*a, scale=1.0), torch.zeros_like(q), nothing)


def saved(q: Tensor, k: Tensor, v: Tensor, **how: Any) -> list[Tensor]:
    """What the backward pass gets, and the gradients that autograd finds in float64."""
    wide = [x.detach().double().clone().requires_grad_() for x in (q, k, v)]
    out = functional.scaled_dot_product_attention(*wide, **how, scale=0.3, enable_gqa=True)
    grad = values(*out.shape, seed=5).to(q.dtype)
    gradients = torch.autograd.grad(out, wide, grad.double())
    heads = q.shape[1] // k.shape[1]
    scores = wide[0] @ wide[1].repeat_interleave(heads, 1).mT * 0.3
    if (mask := how.get("attn_mask")) is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    if how.get("is_causal"):
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), float("-inf"))
    total = scores.logsumexp(-1).detach()
    total = total if q.dtype == torch.float64 else total.float()
    return [grad, out.detach().to(q.dtype), total, *gradients]


SEEN = torch.rand(5, 7, generator=torch.Generator().manual_seed(0)) > 0.5
SEEN[2] = False
CASES: dict[str, dict[str, Any]] = {"plain": {}, "causal": {"is_causal": True}, "mask": {"attn_mask": SEEN}}


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("how", CASES.values(), ids=CASES)
def test_gradients(name: str, how: dict[str, Any]) -> None:
    """Those of keys are sums over the heads that share them; a row that sees nothing adds nothing."""
    q, k, v = values(2, 6, 5, 4, name=name), values(2, 3, 7, 4, name=name), values(2, 3, 7, 3, name=name)
    grad, out, total, *wanted = saved(q, k, v, **how)
    inputs = [q, k, v, grad, out, total, *([how["attn_mask"]] if "attn_mask" in how else [])]
    tolerance = TOLERANCE[name] * 4  # the result that the forward pass left is rounded, too

    def build(args: Any) -> t.AttentionBackwardOp:
        return t.AttentionBackwardOp(args[:6], *args[6:], scale=0.3, is_causal=bool(how.get("is_causal")))

    rounded = [w.to(q.dtype) for w in wanted]
    check(inputs, build, *rounded, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("heads", [8, 4, 2])
def test_gradients_in_parts(heads: int) -> None:
    """Of keys for some heads of queries at a time, each rounded."""
    q, k, v = (values(1, 8, 5, 4, name="bf16"), *(values(1, 2, 7, 4, name="bf16", seed=i) for i in (1, 2)))
    grad, out, total, dq, dk, dv = saved(q, k, v)
    delta = (grad.float() * out.float()).sum(-1)
    inputs = [q, k, v, grad, total, delta]
    how: Any = {"rtol": 2e-2, "atol": 2e-2}
    check(inputs, lambda a: t.AttentionQueryGradOp(a, scale=0.3), dq.bfloat16(), **how)
    of_keys: Any = {"scale": 0.3, "heads": as_expr(heads)}
    module = module_of(inputs, lambda a: t.AttentionKeyGradOp(a, **of_keys))
    for found, wanted in zip(interpret(module, inputs, torch), (dk, dv), strict=True):
        assert found.dtype == torch.bfloat16
        assert found.shape[1] == heads
        summed = found.double().view(1, 2, heads // 2, 7, 4).sum(2)
        torch.testing.assert_close(summed, wanted, **how)


SEED = torch.tensor([-1234567890123456789, 11])
P = 0.3


def kept(b: int, h: int, rows: int, keys: int) -> Tensor:
    """Which weights dropout keeps, by the text of the op: `tw.rng_uniform` at the position of the weight."""
    numbers = module_of([SEED[0]], lambda a: RngUniformOp(a[0], [b, h, rows, keys], int(SEED[1]) & -4))
    (drawn,) = interpret(numbers, [SEED[0]], torch)
    return drawn >= P


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("how", CASES.values(), ids=CASES)
def test_dropout(name: str, how: dict[str, Any]) -> None:
    """The result, and the gradients that autograd finds in float64 with the same weights left out."""
    q, k, v = values(2, 6, 5, 4, name=name), values(2, 3, 7, 4, name=name), values(2, 3, 7, 3, name=name)
    leaves = [x.detach().double().clone().requires_grad_() for x in (q, k, v)]
    wide = [leaves[0], *(x.repeat_interleave(2, 1) for x in leaves[1:])]
    scores = wide[0] @ wide[1].mT * 0.3
    hidden = ~how["attn_mask"] if "attn_mask" in how else torch.zeros(5, 7, dtype=torch.bool)
    if how.get("is_causal"):
        hidden = torch.ones(5, 7, dtype=torch.bool).triu(1)
    blind = hidden.all(-1, keepdim=True)
    weights = scores.masked_fill(hidden & ~blind, float("-inf")).softmax(-1)
    out = torch.where(kept(2, 6, 5, 7) & ~blind, weights / (1 - P), 0.0) @ wide[2]
    total = scores.masked_fill(hidden, float("-inf")).logsumexp(-1).detach()
    total = total if name == "f64" else total.float()
    masks = [how["attn_mask"]] if "attn_mask" in how else []
    options: Any = {"scale": 0.3, "is_causal": bool(how.get("is_causal")), "dropout_p": P}
    tolerance = TOLERANCE[name] * 4

    def forward(a: Any) -> t.AttentionOp:
        return t.AttentionOp(*a[:-1], seed=a[-1], **options)

    rounded = out.detach().to(q.dtype)
    check([q, k, v, *masks, SEED], forward, rounded, total, rtol=tolerance, atol=tolerance)
    grad = values(*out.shape, seed=5).to(q.dtype)
    wanted = torch.autograd.grad(out, leaves, grad.double())

    def backward(a: Any) -> t.AttentionBackwardOp:
        return t.AttentionBackwardOp(a[:6], *a[6:-1], seed=a[-1], **options)

    inputs = [q, k, v, grad, rounded, total, *masks, SEED]
    check(inputs, backward, *(w.to(q.dtype) for w in wanted), rtol=tolerance, atol=tolerance)


def test_share_of_weights_that_dropout_keeps() -> None:
    """All scores are equal and values are one: a result counts what was kept of its row."""
    q, rows, keys = torch.zeros(1, 2, 100, 4), 100, 200
    k, v = torch.zeros(1, 2, keys, 4), torch.ones(1, 2, keys, 1)
    module = module_of([q, k, v, SEED], lambda a: t.AttentionOp(*a[:3], scale=1.0, dropout_p=P, seed=a[3]))
    out, total = interpret(module, [q, k, v, SEED], torch)
    share = out[..., 0].double() * (1 - P)
    torch.testing.assert_close(share, kept(1, 2, rows, keys).double().mean(-1), rtol=1e-5, atol=1e-5)
    deviation = (P * (1 - P) / (2 * rows * keys)) ** 0.5
    assert abs(float(share.mean()) - (1 - P)) < 4 * deviation  # of one fixed seed
    torch.testing.assert_close(total, torch.full((1, 2, rows), keys).float().log())
