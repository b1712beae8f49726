"""Attention under masks on CPUs: nothing visible is left out, and what nobody sees is not read."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from test_gpu_masks import LISTED, MASKS, grouped, heads, masked, written_out
from torch import Tensor, nn
from torch.nn.attention import flex_attention as flex
from torch.nn.attention.flex_attention import AuxRequest, BlockMask, create_block_mask, flex_attention

import tilewright
from benchmarks.numerics import judge

pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eager computes gradients on CPUs, too, but for a check in front."""
    monkeypatch.setattr(flex, "_validate_device", lambda *_: None)
    torch._dynamo.reset()


def compiled(function: Any, **how: Any) -> Any:
    return torch.compile(function, backend="mlir", options={"fallback": False}, **how)


def check(function: Any, inputs: list[Tensor], dtype: torch.dtype) -> None:
    """As close to float64 as eager is."""
    inputs = [t.to(dtype) for t in inputs]
    with torch.no_grad():
        found, wanted = compiled(function)(*inputs), function(*inputs)
        truth = function(*(t.double() for t in inputs))
    assert (verdict := judge([found], [wanted], [truth])), verdict.why


@DTYPES
@pytest.mark.parametrize("mask", MASKS)
def test_masks_on_positions(mask: str, dtype: torch.dtype) -> None:
    """Rows and keys are no multiples of anything; some rows see nothing."""
    check(masked(MASKS[mask]), heads(), dtype)


@DTYPES
@pytest.mark.parametrize(
    ("mask", "size"),
    [("documents", 64), ("heads", (48, 80)), ("batches", 128), ("blind", 128), ("blind", 24)],
)
def test_listed_blocks(mask: str, size: Any, dtype: torch.dtype) -> None:
    """Blocks larger than those of a kernel, smaller, of other sizes, and such as it cannot walk."""
    found = create_block_mask(LISTED[mask], 2, 4, 300, 333, "cpu", BLOCK_SIZE=size)
    check(lambda q, k, v: flex_attention(q, k, v, block_mask=found, enable_gqa=True), grouped(), dtype)


def test_gradients_after_a_chain() -> None:
    """They read the log-sum-exp that it saves."""
    mask = create_block_mask(LISTED["documents"], None, None, 300, 333, "cpu", BLOCK_SIZE=64)

    def gradients(function: Any, dtype: torch.dtype) -> list[Tensor]:
        leaves = [t.to(dtype).requires_grad_() for t in heads()]
        out, aux = function(*leaves)
        return [out, aux.lse, *torch.autograd.grad(out.square().sum() + aux.lse.sum(), leaves)]

    def attention(q: Tensor, k: Tensor, v: Tensor) -> Any:
        return flex_attention(q, k, v, block_mask=mask, return_aux=AuxRequest(lse=True))

    found, wanted = (gradients(f, torch.float32) for f in (compiled(attention), attention))
    verdict = judge(found, wanted, gradients(attention, torch.float64))
    assert verdict, verdict.why


def test_scores_that_are_no_numbers() -> None:
    """Infinite and NaN scores spoil the rows that see them, and no others."""
    q, k, v = (t.float() for t in heads(97, 97))
    q[0, 0, 3, 0], q[0, 1, 50, 2], k[0, 1, 60, 5] = math.nan, math.inf, -math.inf
    function = masked(MASKS["causal"], 97, 97)
    with torch.no_grad():
        torch.testing.assert_close(compiled(function)(q, k, v), function(q, k, v), equal_nan=True)


@DTYPES
def test_what_a_block_of_rows_does_not_see_is_not_read(dtype: torch.dtype) -> None:
    """Neither keys and values before a window, nor those in blocks that are not listed."""
    q, k, v = (t.to(dtype) for t in heads(512, 512))
    documents = torch.arange(512) // 128
    function = masked(lambda b, h, i, j: documents[i] == documents[j], 512, 512)
    for attention, first in ((written_out, 256), (function, 128)):
        with torch.no_grad():
            call = compiled(attention)
            wanted = call(q, k, v)
            spoilt = [t.clone() for t in (k, v)]
            for t in spoilt:
                t[..., :128, :] = math.nan
            assert torch.equal(call(q, *spoilt)[..., first:, :], wanted[..., first:, :])
            assert call(q, *spoilt)[..., :128, :].isnan().all()


def test_lists_that_name_less_than_the_function_shows() -> None:
    """Rows of the last block have none."""
    counts, numbers = torch.tensor([[[1, 2, 0]]]), torch.tensor([[[[1, 0, 2], [2, 0, 1], [0, 1, 2]]]])
    mask = BlockMask.from_kv_blocks(counts.int(), numbers.int(), BLOCK_SIZE=32, seq_lengths=(96, 96))
    q, k, v = (t.float() for t in heads(96, 96))
    listed = torch.zeros(3, 3, dtype=torch.bool)
    for row, columns in enumerate(([1], [2, 0], [])):
        listed[row, columns] = True
    hidden = ~listed.repeat_interleave(32, 0).repeat_interleave(32, 1)
    with torch.no_grad():
        found = compiled(lambda q, k, v: flex_attention(q, k, v, block_mask=mask))(q, k, v)
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(hidden, -math.inf)
    torch.testing.assert_close(found, scores.softmax(-1).nan_to_num(0.0) @ v)


@DTYPES
def test_lengths_are_symbols(dtype: torch.dtype) -> None:
    both = compiled(written_out, dynamic=True)
    for rows, keys in ((70, 75), (200, 201), (5, 64)):
        inputs = [t.to(dtype) for t in heads(rows, keys)]
        with torch.no_grad():
            torch.testing.assert_close(both(*inputs), written_out(*inputs), rtol=3e-2, atol=2e-2)


@pytest.mark.parametrize(
    ("rows", "dtype", "calls"),
    [(64, torch.float32, 0), (64, torch.bfloat16, 2), (8, torch.float32, 2), (64, torch.float64, 2)],
    ids=str,
)
def test_what_stays_with_a_library(rows: int, dtype: torch.dtype, calls: int) -> None:
    """Halves of which nothing is left out, few rows, and what is wider than f32."""

    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (q @ k.mT).softmax(-1) @ v

    found = tilewright.explain(attention, *(t.to(dtype) for t in heads(rows, 64)))
    assert found.graphs[0].library_calls.get("aten::bmm.out", 0) == calls


def heads_of(rows: int, keys: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """As models have them: heads inside of rows."""
    return [t.to(dtype).mT.contiguous().mT for t in heads(rows, keys)]


@DTYPES
@pytest.mark.parametrize(
    ("rows", "keys", "how"),
    [(83, 83, {"is_causal": True}), (40, 71, {}), (71, 40, {"is_causal": True}), (17, 33, {"mask": True})],
    ids=str,
)
def test_scaled_dot_product_attention(rows: int, keys: int, how: Any, dtype: torch.dtype) -> None:
    """A kernel forward, whose log-sum-exp ATen's backward reads."""
    how = dict(how)
    bias = torch.randn(rows, keys, generator=torch.Generator().manual_seed(3))
    bias[:, 7] = -math.inf
    masked = how.pop("mask", False)

    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        mask = bias.to(q.dtype) if masked else None
        return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, **how)

    def gradients(function: Any, of: torch.dtype) -> list[Tensor]:
        leaves = [t.to(of).requires_grad_() for t in heads_of(rows, keys, dtype)]
        out = function(*leaves)
        return [out, *torch.autograd.grad(out.square().sum(), leaves)]

    found, wanted = (gradients(f, dtype) for f in (compiled(attention), attention))
    assert (verdict := judge(found, wanted, gradients(attention, torch.float64))), verdict.why


@pytest.mark.parametrize(("rows", "calls"), [(16, 0), (15, 1)])
def test_attention_of_few_rows_stays_with_a_library(rows: int, calls: int) -> None:
    attention = nn.functional.scaled_dot_product_attention
    (graph,) = tilewright.explain(attention, *(t.float() for t in heads(rows, 64))).graphs
    assert sum(graph.library_calls.values()) == calls
