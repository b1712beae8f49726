"""Attention that the program writes out, as one kernel of tiles: run from its Triton text, and compiled."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from matrix_units import UNITS, check_kernels
from test_gpu_emulated import OPTIONS, compiled, floats
from torch import Tensor
from torch.nn import functional
from torch.nn.attention import flex_attention as flex
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import tilewright
from benchmarks.numerics import judge
from tilewright.targets.gpu_triton.compiler import triton_version

HALVES = (torch.bfloat16, torch.float16)
pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")


def heads(rows: int, keys: int, depth: int = 24, dtype: torch.dtype = torch.bfloat16) -> list[Tensor]:
    return [floats(2, 3, n, depth, seed=i, dtype=dtype) for i, n in enumerate((rows, keys, keys))]


def written_out(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    wide = torch.promote_types(q.dtype, torch.float32)
    scores = (q @ k.transpose(-2, -1)).to(wide) / math.sqrt(q.shape[-1])
    later = torch.arange(k.shape[-2]) > torch.arange(q.shape[-2])[:, None]
    return scores.masked_fill(later, -math.inf).softmax(-1).to(v.dtype) @ v


def causal(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return i >= j


def flexible(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    def score(value: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return 4 * torch.tanh(value / 4) - (i - j).abs() * torch.exp2(-(h + 1.0))

    return flex_attention(q, k, v, score_mod=score)


def check(function: Any, *inputs: Tensor) -> None:
    """As close to float64 as eager is."""
    truth = function(*(t.double() for t in inputs))
    verdict = judge(compiled(function)(*inputs), function(*inputs), truth)
    assert verdict, verdict.why


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("function", [written_out, flexible])
def test_is_one_kernel(function: Any, dtype: torch.dtype) -> None:
    """More than one block of rows and of columns."""
    inputs = heads(71, 71, dtype=dtype)
    check(function, *inputs)
    torch._dynamo.reset()
    (graph,) = tilewright.explain(function, *inputs, options=OPTIONS).graphs
    assert sum(graph.kernels.values()) == 1
    assert not graph.library_calls
    assert int(graph.arena_bytes) == 0


def test_rows_that_see_nothing_at_first_or_at_all() -> None:
    """Row 3 sees nothing and is 0; row 5 nothing of the first block of columns."""

    def visible(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return (i != 3) & ((i != 5) | (j > 40))

    mask = create_block_mask(visible, None, None, 19, 75, "cpu", BLOCK_SIZE=8)
    inputs = heads(19, 75)
    check(lambda q, k, v: flex_attention(q, k, v, block_mask=mask), *inputs)
    found = compiled(lambda q, k, v: flex_attention(q, k, v, block_mask=mask))(*inputs)
    assert (found[:, :, 3] == 0).all()


@pytest.mark.parametrize("least", [torch.finfo(torch.float32).min, torch.finfo(torch.bfloat16).min])
def test_rows_hidden_by_the_least_number_are_means(least: float) -> None:
    """Masks that are added hold it, not -inf: what a power of two would make infinite stays finite."""
    hidden = torch.zeros(71, 75)
    hidden[:, 40:] = least
    hidden[3] = least

    def masked(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = (q @ k.transpose(-2, -1)).to(torch.promote_types(q.dtype, torch.float32)) / math.sqrt(24)
        return (scores + hidden).softmax(-1).to(v.dtype) @ v

    q, k, v = heads(71, 75)
    check(masked, q, k, v)
    row = compiled(masked)(q, k, v)[:, :, 3]
    torch.testing.assert_close(row, v.float().mean(2).bfloat16(), rtol=2e-2, atol=2e-2)


def test_scores_that_become_infinite_as_halves() -> None:
    """Of the first blocks of keys all are -inf then: no maximum to count from, until a later block has one.

    In place, for one block of queries, as in LongT5: the kernel of weights reads the rounded scores twice.
    """
    bias = torch.where(torch.arange(150) < 120, -1e10, 0.0) + floats(33, 150, seed=5).float()

    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = (t.transpose(1, 2)[:, None] for t in (q, k, v))
        scores = torch.einsum("...qhd,...khd->...hqk", q, k)
        scores += bias
        return torch.einsum("...hqk,...khd->...qhd", scores.float().softmax(-1).to(v.dtype), v)

    inputs = [t.half() for t in heads(33, 150)]
    found, eager = compiled(attention)(*inputs), attention(*inputs)
    assert not eager.isnan().any()
    verdict = judge(found, eager, attention(*(t.double() for t in inputs)))
    assert verdict, verdict.why


def test_weights_are_stored_beside_the_product() -> None:
    """They are not known before all keys are seen."""

    def attention(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        wide = torch.promote_types(q.dtype, torch.float32)
        weights = (q @ k.transpose(-2, -1)).to(wide).softmax(-1)
        return weights.to(v.dtype) @ v, 2 * weights

    inputs = heads(33, 150)
    verdict = judge(
        compiled(attention)(*inputs), attention(*inputs), attention(*(t.double() for t in inputs))
    )
    assert verdict, verdict.why


def test_heads_share_keys() -> None:
    q, k, v = heads(19, 40)
    check(lambda q, k, v: flex_attention(q, k, v, enable_gqa=True), q, k[:, :1], v[:, :1])


def test_the_forward_pass_saves_the_log_sum_exp(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which the same kernel stores; gradients are products with kernels between them."""
    monkeypatch.setattr(flex, "_validate_device", lambda *_: None)
    grad = floats(2, 3, 37, 24, seed=8)
    mask = create_block_mask(causal, None, None, 37, 40, "cpu", BLOCK_SIZE=16)

    def masked(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flex_attention(q, k, v, block_mask=mask)

    def gradients(function: Any, dtype: torch.dtype) -> list[Tensor]:
        leaves = [t.to(dtype).requires_grad_() for t in heads(37, 40)]
        out = function(*leaves)
        return [out, *torch.autograd.grad(out, leaves, grad.to(dtype))]

    found, wanted = (gradients(f, torch.bfloat16) for f in (compiled(masked), masked))
    assert (verdict := judge(found, wanted, gradients(masked, torch.float64))), verdict.why
    torch._dynamo.reset()
    inputs = [t.requires_grad_() for t in heads(37, 40)]
    forward, _ = tilewright.explain(masked, *inputs, options=OPTIONS).graphs
    assert sum(forward.kernels.values()) == 1


HIDDEN = torch.where(torch.arange(75) % 5 == 3, -math.inf, 0.0).bfloat16()


def of_halves(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """All in the type of the inputs, with a mask that is added and keys that heads share."""
    k, v = (t.expand(-1, q.shape[1], -1, -1) for t in (k, v))
    return (q @ k.transpose(-2, -1) * 0.25 + HIDDEN.to(q.dtype)).softmax(-1) @ v


def summed_by_letters(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights = (torch.einsum("bhid,bhjd->bhij", q, k) * 0.25).softmax(-1)
    return torch.einsum("bhij,bhjd->bhid", weights, v)


def behind_rows(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """What einsum multiplies is a copy, which no kernel makes."""
    weights = (torch.einsum("bihd,bjhd->bhij", q, k) * 0.25).softmax(-1)
    return torch.einsum("bhij,bjhd->bihd", weights, v)


def added_to_slopes(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """As by Bloom: a bias of each head is added to scores where they are made."""
    slopes = (torch.arange(75) * 0.01).expand(q.shape[0] * q.shape[1], 1, -1).to(q.dtype)
    q, k, v = (t.flatten(0, 1) for t in (q, k, v))
    scores = torch.baddbmm(slopes, q, k.transpose(1, 2), beta=0.5, alpha=0.25)
    return (scores.softmax(-1, dtype=torch.float32).to(v.dtype) @ v).unflatten(0, (2, 3))


@pytest.mark.parametrize(
    ("function", "shared"),
    [
        (written_out, False),
        (of_halves, False),
        (of_halves, True),
        (summed_by_letters, False),
        (behind_rows, False),
        (added_to_slopes, False),
    ],
)
def test_gradients_need_no_weights(function: Any, shared: bool) -> None:
    """One kernel forward; sums of rows, the gradient of queries, and those of keys and values backward.

    Keys that are repeated are copied, and their gradients summed, by kernels of their own.
    """
    q, k, v = heads(71, 75)
    inputs = (q, k[:, :1], v[:, :1]) if shared else (q, k, v)
    grad = floats(2, 3, 71, 24, seed=8)
    if function is behind_rows:
        *inputs, grad = (t.transpose(1, 2).contiguous() for t in (*inputs, grad))

    def gradients(function: Any, dtype: torch.dtype) -> list[Tensor]:
        leaves = [t.to(dtype).requires_grad_() for t in inputs]
        out = function(*leaves)
        return [out, *torch.autograd.grad(out, leaves, grad.to(dtype))]

    found, wanted = (gradients(f, torch.bfloat16) for f in (compiled(function), function))
    assert (verdict := judge(found, wanted, gradients(function, torch.float64))), verdict.why
    torch._dynamo.reset()
    leaves = [t.detach().clone().requires_grad_() for t in inputs]
    forward, backward = tilewright.explain(function, *leaves, options=OPTIONS).graphs
    assert not forward.library_calls
    assert not backward.library_calls
    assert int(backward.arena_bytes) <= 4 * 2 * 3 * (71 + 75 * 24) + 128
    if not shared:
        assert [sum(graph.kernels.values()) for graph in (forward, backward)] == [1, 2]


def chunks(packed: Tensor) -> list[Tensor]:
    return [t.unflatten(2, (3, 24)).transpose(1, 2) for t in packed.chunk(3, -1)]


def heads_apart(packed: Tensor) -> tuple[Tensor, ...]:
    return packed.unflatten(2, (3, 3, 24)).unbind(2)


@pytest.mark.parametrize(("parts", "attention"), [(chunks, summed_by_letters), (heads_apart, behind_rows)])
def test_gradients_of_packed_heads_are_stored_in_their_place(parts: Any, attention: Any) -> None:
    """Batches and heads are one dimension of each gradient; of that of keys, rows lie along another side."""
    packed = floats(2, 71, 3 * 3 * 24, seed=3).bfloat16()

    def gradients(run: Any, dtype: torch.dtype) -> list[Tensor]:
        leaf = packed.to(dtype).requires_grad_()
        out = run(leaf)
        return [out, *torch.autograd.grad(out.square().sum(), leaf)]

    def function(packed: Tensor) -> Tensor:
        return attention(*parts(packed))

    found, wanted = (gradients(f, torch.bfloat16) for f in (compiled(function), function))
    assert (verdict := judge(found, wanted, gradients(function, torch.float64))), verdict.why
    torch._dynamo.reset()
    graphs = tilewright.explain(function, packed.clone().requires_grad_(), options=OPTIONS).graphs
    assert [sum(graph.kernels.values()) for graph in graphs] == [1, 2]


def test_gradients_of_one_head_without_a_batch_need_no_weights() -> None:
    """With a bias that is a product, too, but of other sizes."""

    def one_head(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        bias = (k[:, :3] @ v[:3, :1]).T.detach()
        return torch.addmm(bias, q, k.T, alpha=0.25).softmax(-1) @ v

    inputs = [t[0, 0] for t in heads(75, 75)]

    def gradients(dtype: torch.dtype, function: Any) -> list[Tensor]:
        leaves = [t.to(dtype).requires_grad_() for t in inputs]
        out = function(*leaves)
        return [out, *torch.autograd.grad(out.square().sum(), leaves)]

    found, wanted = (gradients(torch.bfloat16, f) for f in (compiled(one_head), one_head))
    assert (verdict := judge(found, wanted, gradients(torch.float64, one_head))), verdict.why
    torch._dynamo.reset()
    leaves = [t.detach().clone().requires_grad_() for t in inputs]
    for graph in tilewright.explain(one_head, *leaves, options=OPTIONS).graphs:
        assert int(graph.arena_bytes) < 2 * 75 * 75


def test_gradients_of_repeated_keys_are_summed_where_they_are_made() -> None:
    """Those of queries, and those of keys and values, of three heads of queries each: two kernels."""

    def repeated(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return written_out(q, *(t.repeat_interleave(3, 1) for t in (k, v)))

    q, (k, v) = floats(32, 6, 71, 16), (floats(32, 2, 75, 16, seed=i) for i in (1, 2))
    leaves = [t.bfloat16().requires_grad_() for t in (q, k, v)]
    grad = floats(32, 6, 71, 16, seed=8)

    def gradients(function: Any, dtype: torch.dtype) -> list[Tensor]:
        given = [t.detach().to(dtype).requires_grad_() for t in leaves]
        return list(torch.autograd.grad(function(*given), given, grad.to(dtype)))

    found, wanted = (gradients(f, torch.bfloat16) for f in (compiled(repeated), repeated))
    assert (verdict := judge(found, wanted, gradients(repeated, torch.float64))), verdict.why
    torch._dynamo.reset()
    forward, backward = tilewright.explain(repeated, *leaves, options=OPTIONS).graphs
    assert [sum(graph.kernels.values()) for graph in (forward, backward)] == [1, 2]


def soft(q: Tensor, k: Tensor) -> Tensor:
    return ((q @ k.transpose(-2, -1)).to(torch.promote_types(q.dtype, torch.float32)) * 0.25).softmax(-1)


def times_a_factor(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return functional.dropout(soft(q, k), RATE).to(v.dtype) @ v


def zero_or_raised(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """As GPUs have dropout."""
    return torch.native_dropout(soft(q, k).to(v.dtype), RATE, train=True)[0] @ v


RATE = 0.3


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("function", [times_a_factor, zero_or_raised])
def test_gradients_with_dropout_need_no_weights(function: Any, dtype: torch.dtype) -> None:
    """What forward draws is seen where values are unit vectors; the gradients draw the same."""
    inputs = [
        floats(2, 3, n, d, seed=i, dtype=dtype) for i, (n, d) in enumerate(((71, 24), (75, 24), (75, 75)))
    ]
    grad = floats(2, 3, 71, 75, seed=8)

    def gradients(function: Any, wide: torch.dtype) -> list[Tensor]:
        leaves = [t.to(wide).requires_grad_() for t in inputs]
        out = function(*leaves)
        return [out, *torch.autograd.grad(out, leaves, grad.to(wide))]

    run = compiled(function)
    torch.manual_seed(7)
    unit = torch.eye(75, dtype=dtype).expand(2, 3, -1, -1).contiguous().requires_grad_()
    kept = run(*(t.clone().requires_grad_() for t in inputs[:2]), unit).detach() != 0
    assert abs(kept.float().mean() - (1 - RATE)) < 0.02

    def eager(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (soft(q, k) * kept / (1 - RATE)).to(v.dtype) @ v

    torch.manual_seed(7)
    found, wanted = gradients(run, dtype), gradients(eager, dtype)
    assert (verdict := judge(found, wanted, gradients(eager, torch.float64))), verdict.why
    torch._dynamo.reset()
    leaves = [t.requires_grad_() for t in heads(71, 75, dtype=dtype)]
    forward, backward = tilewright.explain(function, *leaves, options=OPTIONS).graphs
    assert set(forward.library_calls) == {"aten::randint.low_out"}
    assert not backward.library_calls
    assert [sum(graph.kernels.values()) for graph in (forward, backward)] == [1, 2]


def test_lengths_are_symbols() -> None:
    function = torch.compile(flexible, backend="mlir", options=OPTIONS, dynamic=True)
    for rows, keys in ((9, 33), (70, 130)):
        found, wanted = (f(*heads(rows, keys, 16)) for f in (function, flexible))
        torch.testing.assert_close(found, wanted, rtol=2e-2, atol=1e-2)


TEXT = """func.func @main(
    %seed: tensor<i64>, %q: tensor<8x1024x{d}xbf16>, %k: tensor<8x{d}x1024xbf16>, %v: tensor<8x1024x{d}xbf16>
  ) -> tensor<8x1024x{d}xbf16> {
  %p = tw.matmul %q, %k : (tensor<8x1024x{d}xbf16>, tensor<8x{d}x1024xbf16>) -> tensor<8x1024x1024xbf16>
  %f = tw.cast %p : tensor<8x1024x1024xbf16> -> tensor<8x1024x1024xf32>
  %h = tw.tanh %f : tensor<8x1024x1024xf32>
  %i = tw.iota dim 0 start "0" step "1" -> tensor<1024x1024xi64>
  %j = tw.iota dim 1 start "0" step "1" -> tensor<1024x1024xi64>
  %c = tw.compare ge %i, %j : tensor<1024x1024xi64> -> tensor<1024x1024xi1>
  %cb = tw.broadcast %c dims [1, 2] : tensor<1024x1024xi1> -> tensor<8x1024x1024xi1>
  %n = tw.full 0xff800000 : f32 -> tensor<8x1024x1024xf32>
  %s = tw.select %cb, %h, %n : tensor<8x1024x1024xi1>, tensor<8x1024x1024xf32>
  %m = tw.max %s over [2] : tensor<8x1024x1024xf32> -> tensor<8x1024xf32>
  %mb = tw.broadcast %m dims [0, 1] : tensor<8x1024xf32> -> tensor<8x1024x1024xf32>
  %d = tw.sub %s, %mb : tensor<8x1024x1024xf32>
  %x = tw.exp %d : tensor<8x1024x1024xf32>
  %t = tw.sum %x over [2] : tensor<8x1024x1024xf32> -> tensor<8x1024xf32>
  %tb = tw.broadcast %t dims [0, 1] : tensor<8x1024xf32> -> tensor<8x1024x1024xf32>
  %y = tw.div %x, %tb : tensor<8x1024x1024xf32>
  {dropout}
  %w = tw.cast {weights} : tensor<8x1024x1024xf32> -> tensor<8x1024x1024xbf16>
  %r = tw.matmul %w, %v : (tensor<8x1024x1024xbf16>, tensor<8x1024x{d}xbf16>) -> tensor<8x1024x{d}xbf16>
  func.return %r : tensor<8x1024x{d}xbf16>
}"""


DROPOUT = """%u = tw.rng_uniform %seed offset "0" : tensor<i64> -> tensor<8x1024x1024xf32>
  %rate = tw.full 0.1 : f32 -> tensor<8x1024x1024xf32>
  %kept = tw.compare ge %u, %rate : tensor<8x1024x1024xf32> -> tensor<8x1024x1024xi1>
  %zero = tw.full 0.0 : f32 -> tensor<8x1024x1024xf32>
  %l = tw.select %kept, %y, %zero : tensor<8x1024x1024xi1>, tensor<8x1024x1024xf32>"""


@pytest.mark.skipif(not triton_version(), reason="triton is not installed")
@pytest.mark.parametrize("target", UNITS)
@pytest.mark.parametrize("depth", [64, 128])
@pytest.mark.parametrize(("dropout", "weights"), [("", "%y"), (DROPOUT, "%l")], ids=["plain", "dropout"])
def test_compiles_to_matrix_units_without_spills(
    target: str, depth: int, dropout: str, weights: str, tmp_path: Path
) -> None:
    text = TEXT.replace("{d}", str(depth)).replace("{dropout}", dropout).replace("{weights}", weights)
    check_kernels(text, target, tmp_path, 1)
