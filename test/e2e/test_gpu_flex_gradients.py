"""Gradients of flex attention on tiles: no score is written. Run from their Triton text, and compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from flex_gradients import Function, check, gradients
from matrix_units import UNITS, check_kernels
from test_gpu_emulated import OPTIONS, compiled, floats
from torch import Tensor
from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention

import tilewright
from tilewright.targets.gpu_triton.compiler import triton_version

ROWS, KEYS, HEADS = 71, 75, 4
SLOPES, TABLE = floats(HEADS, seed=5), floats(HEADS, ROWS + KEYS, seed=6)
DOCUMENTS = torch.arange(KEYS) // 20

pytestmark = [
    pytest.mark.usefixtures("flex_gradients_on_cpus"),
    pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile"),
]


SCORES: dict[str, Function] = {
    "slopes": lambda s, b, h, i, j: s - SLOPES[h] * (i - j).abs(),
    "relative": lambda s, b, h, i, j: s + TABLE[h, i - j + KEYS],
    "capped": lambda s, b, h, i, j: 2 * torch.tanh(s / 2),
}
MASKS: dict[str, Function] = {
    "causal": lambda b, h, i, j: i >= j,
    "window": lambda b, h, i, j: (i - j).abs() <= 17,
    "documents": lambda b, h, i, j: (DOCUMENTS[i] == DOCUMENTS[j]) & (i >= j),
    "blind": lambda b, h, i, j: (i != 3) & ((i != 5) | (j > 40)) & (j != 7),
}


def heads(shared: int = 1, depth: int = 24, dtype: torch.dtype = torch.bfloat16) -> list[Tensor]:
    """More than one block of rows and of keys; the last ones are not full."""
    kinds = ((HEADS, ROWS, depth), (HEADS // shared, KEYS, depth), (HEADS // shared, KEYS, 16))
    return [floats(2, *shape, seed=i, dtype=dtype) for i, shape in enumerate(kinds)]


def attention(score: Function | None = None, mask: Function | None = None) -> Function:
    found = None if mask is None else create_block_mask(mask, None, None, ROWS, KEYS, "cpu", BLOCK_SIZE=8)
    return lambda q, k, v: flex_attention(q, k, v, score_mod=score, block_mask=found, enable_gqa=True)


def graphs_of(function: Function, *inputs: Tensor) -> list[Any]:
    torch._dynamo.reset()
    leaves = [t.detach().clone().requires_grad_() for t in inputs]
    return list(tilewright.explain(function, *leaves, options=OPTIONS).graphs)


@pytest.mark.parametrize(
    ("score", "dtype"), [("capped", torch.float16), *((name, torch.bfloat16) for name in (None, *SCORES))]
)
def test_scores(score: str | None, dtype: torch.dtype) -> None:
    """The gradient of queries, with sums of result times gradient; those of keys and values: two kernels.

    What torch makes in front of both passes, a mask of one block, is not even computed.
    """
    function = attention(SCORES.get(score or ""))
    check(function, *heads(dtype=dtype))
    forward, backward = graphs_of(function, *heads(dtype=dtype))
    assert (sum(forward.kernels.values()), forward.library_calls) == (1, {})
    assert (sum(backward.kernels.values()), backward.library_calls) == (2, {})
    assert int(backward.arena_bytes) <= 4 * 2 * HEADS * ROWS + 64


@pytest.mark.parametrize("mask", MASKS)
def test_masks(mask: str) -> None:
    """Row 3 of `blind` sees nothing and column 7 is not seen: their gradients are 0."""
    function = attention(SCORES["capped"], MASKS[mask])
    check(function, *heads())
    if mask == "blind":
        _, of_query, of_key, of_value = gradients(compiled(function), heads(), torch.bfloat16)
        assert all((g == 0).all() for g in (of_query[:, :, 3], of_key[:, :, 7], of_value[:, :, 7]))


@pytest.mark.parametrize("shared", [1, 2])
@pytest.mark.parametrize("score", [None, "slopes", "capped"])
@pytest.mark.parametrize("mask", ["causal", "documents"])
def test_blocks_fill_rows_and_keys(mask: str, score: str | None, shared: int) -> None:
    """As most masks are: no axis hangs over, and views of the lists split rows and keys."""
    found = create_block_mask(MASKS[mask], None, None, 64, 64, "cpu", BLOCK_SIZE=16)

    def function(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flex_attention(q, k, v, score_mod=SCORES.get(score or ""), block_mask=found, enable_gqa=True)

    inputs = [t[:, :, :64].contiguous() for t in heads(shared)]
    check(function, *inputs)
    _, backward = graphs_of(function, *inputs)
    assert backward.library_calls == {}
    assert sum(backward.kernels.values()) == 2 + shared  # the table of columns; sums of heads that share keys


@pytest.mark.parametrize("shared", [2, 4])
def test_heads_share_keys(shared: int) -> None:
    """What heads of queries add to a head of keys is summed by one launch, tables are made by another."""
    function = attention(SCORES["relative"], MASKS["causal"])
    check(function, *heads(shared))
    _, backward = graphs_of(function, *heads(shared))
    assert (sum(backward.kernels.values()), backward.library_calls) == (4, {})


def test_wide_heads() -> None:
    """Of more than 128 elements; sums of both factors are held."""
    function = attention(SCORES["capped"], MASKS["causal"])
    inputs = [t[:1, :1] for t in heads(depth=200)[:2]]
    value = floats(1, 1, KEYS, 160, seed=2, dtype=torch.bfloat16)
    check(function, *inputs, value)
    _, backward = graphs_of(function, *inputs, value)
    assert backward.library_calls == {}


def test_one_batch_of_one_head() -> None:
    check(attention(SCORES["capped"]), *(t[:1, :1] for t in heads()))


def test_captured_tensors_have_gradients() -> None:
    """The gradient of the scores is stored once, by the kernel that goes along keys."""

    def function(q: Tensor, k: Tensor, v: Tensor, table: Tensor, slopes: Tensor) -> Tensor:
        def score(value: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
            return 2 * torch.tanh(value / 2) * slopes[h] + table[h, i - j + KEYS]

        return flex_attention(q, k, v, score_mod=score)

    inputs = [*heads(), TABLE.bfloat16(), SLOPES.bfloat16()]
    check(function, *inputs)


def test_lengths_are_symbols() -> None:
    def function(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flex_attention(q, k, v, score_mod=SCORES["capped"], scale=0.3)

    both = torch.compile(function, backend="mlir", options=OPTIONS, dynamic=True)
    for rows, keys in ((9, 33), (70, 130)):
        inputs = [floats(2, 3, n, 16, seed=i) for i, n in enumerate((rows, keys, keys))]
        found, wanted = (gradients(f, inputs, torch.bfloat16) for f in (both, function))
        torch.testing.assert_close(found, wanted, rtol=3e-2, atol=2e-2)


def test_the_log_sum_exp_has_a_gradient() -> None:
    def function(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        out, aux = flex_attention(q, k, v, score_mod=SCORES["capped"], return_aux=AuxRequest(lse=True))
        return torch.cat((out, aux.lse.unsqueeze(-1).to(out.dtype)), -1)

    check(function, *heads())


def program(depth: int) -> str:
    """Causal attention whose scores are capped: its gradients, from the log-sum-exp and sums of each row."""
    x, xt, s = f"tensor<16x1024x{depth}xbf16>", f"tensor<16x{depth}x1024xbf16>", "tensor<16x1024x1024x"
    rows = "tensor<16x1024xf32>"
    return f"""func.func @main(
        %q: {x}, %k: {x}, %v: {x}, %g: {x}, %l: {rows}, %t: {rows}) -> ({x}, {x}, {x}) {{
      %kt = tw.transpose %k by [0, 2, 1] : {x} -> {xt}
      %vt = tw.transpose %v by [0, 2, 1] : {x} -> {xt}
      %s0 = tw.matmul %q, %kt : ({x}, {xt}) -> {s}bf16>
      %s1 = tw.cast %s0 : {s}bf16> -> {s}f32>
      %h = tw.tanh %s1 : {s}f32>
      %i = tw.iota dim 1 start "0" step "1" -> {s}i64>
      %j = tw.iota dim 2 start "0" step "1" -> {s}i64>
      %c = tw.compare ge %i, %j : {s}i64> -> {s}i1>
      %n = tw.full 0xff800000 : f32 -> {s}f32>
      %s2 = tw.select %c, %h, %n : {s}i1>, {s}f32>
      %lb = tw.broadcast %l dims [0, 1] : {rows} -> {s}f32>
      %x = tw.sub %s2, %lb : {s}f32>
      %p = tw.exp %x : {s}f32>
      %ph = tw.cast %p rounded : {s}f32> -> {s}bf16>
      %pt = tw.transpose %ph by [0, 2, 1] : {s}bf16> -> {s}bf16>
      %gv = tw.matmul %pt, %g : ({s}bf16>, {x}) -> {x}
      %y0 = tw.matmul %g, %vt : ({x}, {xt}) -> {s}bf16>
      %y1 = tw.cast %y0 : {s}bf16> -> {s}f32>
      %tb = tw.broadcast %t dims [0, 1] : {rows} -> {s}f32>
      %y2 = tw.sub %y1, %tb : {s}f32>
      %d0 = tw.mul %p, %y2 : {s}f32>
      %hh = tw.mul %h, %h : {s}f32>
      %one = tw.full 1.0 : f32 -> {s}f32>
      %slope = tw.sub %one, %hh : {s}f32>
      %d1 = tw.mul %d0, %slope : {s}f32>
      %d = tw.cast %d1 rounded : {s}f32> -> {s}bf16>
      %dt = tw.transpose %d by [0, 2, 1] : {s}bf16> -> {s}bf16>
      %gk = tw.matmul %dt, %q : ({s}bf16>, {x}) -> {x}
      %gq = tw.matmul %d, %k : ({s}bf16>, {x}) -> {x}
      func.return %gq, %gk, %gv : {x}, {x}, {x}
    }}"""


@pytest.mark.skipif(not triton_version(), reason="triton is not installed")
@pytest.mark.parametrize("target", UNITS)
@pytest.mark.parametrize("depth", [64, 128, 256])
def test_compiles_to_matrix_units_without_spills(target: str, depth: int, tmp_path: Path) -> None:
    check_kernels(program(depth), target, tmp_path, 2)
