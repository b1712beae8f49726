"""Attention as a kernel of tiles, executed from its Triton text, against eager by the float64 rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from matrix_units import UNITS, check_kernels
from packaging.version import Version
from test_gpu_emulated import OPTIONS, check, compiled, floats
from torch import Tensor

from benchmarks.numerics import judge
from tilewright.targets.gpu_triton.compiler import triton_version


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, **how: Any) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, mask, **how)


def heads(rows: int, keys: int, depth: int = 24, **how: Any) -> list[Tensor]:
    return [floats(2, 3, n, depth, seed=i, **how) for i, n in enumerate((rows, keys, keys))]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_more_than_one_block_of_rows_and_keys(dtype: torch.dtype, causal: bool) -> None:
    check(lambda q, k, v: attention(q, k, v, is_causal=causal), *heads(71, 71, dtype=dtype))


@pytest.mark.parametrize(("depth", "width"), [(5, 5), (72, 72)])
def test_sizes_of_heads(depth: int, width: int) -> None:
    q, k, _ = heads(19, 35, depth)
    check(lambda q, k, v: attention(q, k, v, scale=0.3), q, k, floats(2, 3, 35, width, seed=7))


MASKS: dict[str, tuple[int, ...]] = {
    "rows_by_keys": (19, 40),
    "per_head": (1, 3, 1, 40),
}


@pytest.mark.parametrize("shape", MASKS.values(), ids=MASKS)
def test_masks(shape: tuple[int, ...]) -> None:
    mask = floats(*shape, seed=9)
    q, k, v = heads(19, 40)
    check(attention, q, k, v, mask)
    check(lambda q, k, v, m: attention(q, k, v, m > 0), q, k, v, mask)


def test_rows_that_see_nothing_are_zero() -> None:
    q, k, v = heads(19, 40)
    mask = floats(19, 40) > 0
    mask[3] = False
    mask[:, :32] &= torch.arange(19)[:, None] != 5  # the first block of keys alone
    check(attention, q, k, v, mask)
    assert (compiled(attention)(q, k, v, mask)[:, :, 3] == 0).all()


def test_heads_share_keys() -> None:
    q, (k, v) = floats(2, 6, 19, 16), (floats(2, 2, 40, 16, seed=i) for i in (1, 2))
    check(lambda q, k, v: attention(q, k, v, enable_gqa=True), q, k, v)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_rotary_positions(dtype: torch.dtype) -> None:
    """Heads turned by halves (arXiv:2104.09864): the programs that read keys turn them again."""

    def turned(x: Tensor, sine: Tensor) -> Tensor:
        left, right = x.chunk(2, -1)
        sines = sine.repeat(1, 2)
        return x * sines.sqrt() + torch.cat((-right, left), -1) * sines

    def layer(q: Tensor, k: Tensor, v: Tensor, sine: Tensor) -> Tensor:
        return attention(turned(q, sine), turned(k, sine), v, is_causal=True, enable_gqa=True)

    q, k, v = (floats(2, n, 71, 24, seed=n, dtype=dtype) for n in (6, 2, 1))
    sine = floats(71, 12, seed=4, dtype=dtype).abs()
    check(layer, q, k, v.expand(2, 2, 71, 24), sine)
    check_gradients(layer, q, k, v.expand(2, 2, 71, 24), sine)


def test_heads_inside_and_what_surrounds_them() -> None:
    """As models do: one projection, heads taken apart and put together again."""

    def layer(x: Tensor, w: Tensor) -> Tensor:
        q, k, v = (x @ w).view(2, 37, 3, 4, 16).permute(2, 0, 3, 1, 4)
        return attention(q * 1.5, k, v, is_causal=True).transpose(1, 2).reshape(2, 37, 64).relu()

    check(layer, floats(2, 37, 64), floats(64, 192, seed=1) / 8)
    check(layer, floats(2, 37, 64, dtype=torch.bfloat16), floats(64, 192, seed=1, dtype=torch.bfloat16) / 8)


def test_lengths_are_symbols() -> None:
    function = torch.compile(attention, backend="mlir", options=OPTIONS)
    for rows, keys in ((7, 33), (70, 130), (129, 65)):
        q, k, v = heads(rows, keys, 16)
        for tensor in (q, k, v):
            torch._dynamo.mark_dynamic(tensor, 2)
        torch.testing.assert_close(function(q, k, v), attention(q, k, v), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_no_number_stays_in_its_row(bad: float) -> None:
    q, k, v = heads(19, 40)
    q[0, 1, 4, 2] = bad
    found, wanted = compiled(attention)(q, k, v), attention(q, k, v)
    assert found[0, 1, 4].isnan().any()
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5, equal_nan=True)


def test_large_scores() -> None:
    q, k, v = heads(19, 75)
    check(lambda q, k, v: attention(q * 40, k * 40, v), q, k, v)


def check_gradients(function: Any, *inputs: Tensor) -> None:
    """Those of our kernels are as close to float64 as eager's."""

    def gradients(how: Any, given: list[Tensor]) -> list[Tensor]:
        leaves = [t.detach().clone().requires_grad_(t.is_floating_point()) for t in given[:3]]
        out = how(*leaves, *given[3:])
        grad = torch.randn(out.shape, generator=torch.Generator().manual_seed(8), dtype=torch.float64)
        return list(torch.autograd.grad(out, leaves, grad.to(inputs[0].dtype).to(out.dtype)))

    wide = [t.double() if t.is_floating_point() else t for t in inputs]
    want, truth = gradients(function, list(inputs)), gradients(function, wide)
    verdict = judge(gradients(compiled(function), list(inputs)), want, truth)
    assert verdict, verdict.why


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_gradients(dtype: torch.dtype, causal: bool) -> None:
    """More than one block of rows and of keys: what a causal mask hides of either is left out."""
    check_gradients(lambda q, k, v: attention(q, k, v, is_causal=causal), *heads(149, 149, dtype=dtype))


@pytest.mark.parametrize(("rows", "keys"), [(19, 75), (75, 19)])
@pytest.mark.parametrize("causal", [False, True])
def test_gradients_of_unequal_lengths(rows: int, keys: int, causal: bool) -> None:
    check_gradients(lambda q, k, v: attention(q, k, v, is_causal=causal), *heads(rows, keys, 40))


@pytest.mark.parametrize("shape", MASKS.values(), ids=MASKS)
def test_gradients_with_masks(shape: tuple[int, ...]) -> None:
    mask = floats(*shape, seed=9)
    check_gradients(attention, *heads(19, 40), mask)
    seen = mask > 0
    seen[..., :1, :] = False  # a row that sees nothing, or all of them
    check_gradients(attention, *heads(19, 40), seen)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_gradients_of_shared_keys_are_summed(dtype: torch.dtype) -> None:
    q, (k, v) = (
        floats(2, 6, 19, 16, dtype=dtype),
        (floats(2, 2, 40, 16, seed=i, dtype=dtype) for i in (1, 2)),
    )
    check_gradients(lambda q, k, v: attention(q, k, v, enable_gqa=True), q, k, v)


@pytest.mark.parametrize(
    ("batch", "shared", "dtype"),
    [(32, 1, torch.float32), (64, 1, torch.bfloat16), (64, 2, torch.bfloat16)],
    ids=["two of four", "four", "two of two"],
)
def test_gradients_of_shared_keys_are_summed_where_they_are_made(
    batch: int, shared: int, dtype: torch.dtype
) -> None:
    """Of so many heads; there are programs enough. A mask of heads, and rows that are hidden from others."""
    q, (k, v) = (
        floats(batch, 4, 70, 16, dtype=dtype),
        (floats(batch, shared, 70, 16, seed=i, dtype=dtype) for i in (1, 2)),
    )
    check_gradients(lambda q, k, v: attention(q, k, v, is_causal=True, enable_gqa=True), q, k, v)
    mask = floats(1, 4, 1, 70, seed=9, dtype=dtype)
    check_gradients(lambda q, k, v, m: attention(q, k, v, m, enable_gqa=True), q, k, v, mask)


@pytest.mark.parametrize("inside", [False, True], ids=["heads outside", "heads inside"])
def test_repeated_keys_are_shared_keys(inside: bool) -> None:
    """As programs write it that know no shared heads; rows stand between batch and heads, or not."""

    def repeated(x: Tensor) -> Tensor:
        return (
            x.repeat_interleave(3, 2).transpose(1, 2) if inside else x.transpose(1, 2).repeat_interleave(3, 1)
        )

    q, (k, v) = floats(2, 6, 19, 16), (floats(2, 40, 2, 16, seed=i) for i in (1, 2))
    check_gradients(lambda q, k, v: attention(q, repeated(k), repeated(v)), q, k, v)


def test_gradients_of_symbolic_lengths() -> None:
    torch.compiler.reset()  # heads of other sizes in the tests before would make theirs a symbol, too
    function = torch.compile(attention, backend="mlir", options=OPTIONS)
    for rows, keys in ((7, 33), (70, 130)):
        inputs = [t.requires_grad_() for t in heads(rows, keys, 16)]
        for tensor in inputs:
            torch._dynamo.mark_dynamic(tensor, 2)
        found, wanted = (f(*inputs).square().sum() for f in (function, attention))
        for one, other in zip(
            torch.autograd.grad(found, inputs), torch.autograd.grad(wanted, inputs), strict=True
        ):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_gradients_of_wide_heads(dtype: torch.dtype) -> None:
    """More than one block of rows and of keys, and blocks that a head does not fill."""
    check_gradients(lambda q, k, v: attention(q, k, v, is_causal=True), *heads(37, 37, 72, dtype=dtype))
    check_gradients(attention, *heads(19, 37, 128, dtype=dtype))


def test_gradients_that_are_left_to_a_library() -> None:
    """Heads beyond 128 elements: ATen's backward pass, from the logsumexp of our forward."""
    check_gradients(lambda q, k, v: attention(q, k, v, is_causal=True), *heads(37, 37, 136))


def program(heads: str, *, length: int = 1024, drops: bool = False, group: int = 1) -> str:
    """Causal attention and its gradients, of heads of so many elements of that type; `group` share keys."""
    y = f"tensor<2x4x{length}x{heads}>"
    x, rows = (f"tensor<2x{4 * group}x{length}x{of}>" for of in (heads, "f32"))
    seed = ", tensor<2xi64>" if drops else ""
    p = "dropout 0.1 seed %s" if drops else ""
    return f"""func.func @main(%q: {x}, %k: {y}, %g: {x}, %s: tensor<2xi64>) -> ({x}, {x}, {y}, {y}) {{
      %o, %l = tw.attention %q, %k, %k causal scale 0.125 {p or "dropout 0.0"}
        : ({x}, {y}, {y}{seed}) -> ({x}, {rows})
      %dq, %dk, %dv = tw.attention_backward %q, %k, %k, %g, %o, %l causal scale 0.125 {p}
        : ({x}, {y}, {y}, {x}, {x}, {rows}{seed}) -> ({x}, {y}, {y})
      func.return %o, %dq, %dk, %dv : {x}, {x}, {y}, {y}
    }}"""


def heads_inside() -> str:
    """Gradients of masked attention, heads between rows; that of queries sums gradient times result too."""
    x, inside, mask = "tensor<8x12x128x64xf32>", "tensor<8x128x12x64xf32>", "tensor<8x1x128x128xf32>"
    rows, rows_inside = "tensor<8x12x128xf32>", "tensor<8x128x12xf32>"
    turn = "by [0, 2, 1, 3]"
    return f"""func.func @main(
        %q: {inside}, %k: {x}, %v: {x}, %g: {inside}, %o: {inside}, %l: {rows_inside}, %m: {mask}
        ) -> ({x}, {x}, {x}) {{
      %qt = tw.transpose %q {turn} : {inside} -> {x}
      %gt = tw.transpose %g {turn} : {inside} -> {x}
      %ot = tw.transpose %o {turn} : {inside} -> {x}
      %lt = tw.transpose %l by [0, 2, 1] : {rows_inside} -> {rows}
      %dq, %dk, %dv = tw.attention_backward %qt, %k, %v, %gt, %ot, %lt mask %m scale 0.125
        : ({x}, {x}, {x}, {x}, {x}, {rows}, {mask}) -> ({x}, {x}, {x})
      func.return %dq, %dk, %dv : {x}, {x}, {x}
    }}"""


PROGRAMS = {
    "bf16": program("128xbf16"),
    "f32": program("64xf32"),
    "f32_ragged": program("64xf32", length=197),
    "f32_wide": program("128xf32"),
    "bf16_dropout": program("128xbf16", drops=True),
    "bf16_shared": program("128xbf16", group=4),
    "f32_shared": program("64xf32", group=4),
    "f32_heads_inside": heads_inside(),
}
SPILLS_BEFORE_3_8 = {("f32", "sm_100"), ("f32_wide", "gfx942"), ("bf16_dropout", "gfx942")}
"""A few bytes, by the assemblers that come with Triton 3.6 and 3.7."""


@pytest.mark.skipif(not triton_version(), reason="triton is not installed")
@pytest.mark.parametrize("target", UNITS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiles_to_matrix_units_without_spills(target: str, name: str, tmp_path: Path) -> None:
    """Forward, gradients of queries, gradients of keys; products of f32 have no matrix unit that is exact."""
    text, version = PROGRAMS[name], Version(triton_version())
    spills = 16 if version < Version("3.8") and (name, target) in SPILLS_BEFORE_3_8 else 0
    count = text.count("tw.attention ") + 2 * text.count("tw.attention_backward ")
    check_kernels(text, target, tmp_path, count, named="attention", spills=spills, units="bf16" in text)
