"""Products of int8 and of 8-bit floats on GPUs: the text executed on CPU tensors, and compiled for devices.

Sizes are odd, sums no multiple of a step, and one of each is empty. 8-bit floats go both ways: with the types
of a device that has them, and decoded by integers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch._dynamo.exc import BackendCompilerFailed
from xdsl.parser import Parser

from benchmarks.numerics import judge
from tilewright.dialects.registry import new_context
from tilewright.passes.manager import parse_pipeline, run_pipeline, with_facts
from tilewright.passes.pipeline import pipeline_text
from tilewright.targets.gpu_triton.architectures import architecture
from tilewright.targets.gpu_triton.compiler import compile_kernel, triton_version
from tilewright.targets.gpu_triton.emit import emit_unit
from tilewright.targets.gpu_triton.kernel import TritonUnit

KINDS = ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz")
SIZES = ((37, 71, 53), (16, 300, 24), (129, 64, 9), (5, 3, 7), (0, 16, 8), (8, 0, 9))
EXPANDED: dict[str, Any] = {"target": "gpu_emulated", "fallback": False}
NATIVE = EXPANDED | {
    "pipeline": pipeline_text("gpu").replace("expand-float8", f"expand-float8{{float8={','.join(KINDS)}}}")
}
CPU: dict[str, Any] = {"target": "cpu_openmp", "fallback": False}
WAYS = {"expanded": EXPANDED, "native": NATIVE, "cpu": CPU}


def compiled(function: Callable[..., Any], options: dict[str, Any], **more: Any) -> Callable[..., Any]:
    torch._dynamo.reset()
    return torch.compile(function, backend="mlir", options=options, **more)


def float8(kind: str) -> torch.dtype:
    return getattr(torch, f"float8_{kind}")


def randoms(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def bytes_of(*shape: int, seed: int = 0) -> Tensor:
    return torch.randint(-128, 128, shape, generator=torch.Generator().manual_seed(seed), dtype=torch.int8)


# int8


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_integers_are_exact(sizes: tuple[int, int, int], turned: bool) -> None:
    m, k, n = sizes
    x, w = bytes_of(m, k), bytes_of(n, k, seed=1).t() if turned else bytes_of(k, n, seed=1)
    got = compiled(torch._int_mm, EXPANDED)(x, w)
    assert got.dtype == torch.int32
    assert torch.equal(got, (x.long() @ w.long()).int())


@pytest.mark.parametrize("way", ["expanded", "cpu"])
def test_scales_bias_and_activation_of_integers(way: str) -> None:
    def linear(x: Tensor, w: Tensor, rows: Tensor, columns: Tensor, bias: Tensor) -> Tensor:
        product = torch._int_mm(x, w.t()).to(rows.dtype)
        return F.gelu(product * rows * columns + bias)

    x, w = bytes_of(37, 171), bytes_of(53, 171, seed=1)
    floats = (randoms(37, 1).abs() * 1e-3, randoms(53, seed=2).abs(), randoms(53, seed=3))
    got, want = compiled(linear, WAYS[way])(x, w, *floats), linear(x, w, *floats)
    verdict = judge(got, want, linear(x, w, *(f.double() for f in floats)))
    assert verdict, verdict.why


def test_a_long_sum_of_few_integers_is_split() -> None:
    x, w = bytes_of(16, 4096), bytes_of(4096, 24, seed=1)
    assert torch.equal(compiled(torch._int_mm, EXPANDED)(x, w), torch._int_mm(x, w))


def test_quantised_in_the_graph() -> None:
    def dynamic(x: Tensor, w: Tensor) -> Tensor:
        scale = x.abs().amax(1, keepdim=True) / 127
        return torch._int_mm((x / scale).round().clamp(-128, 127).to(torch.int8), w).float() * scale

    x, w = randoms(37, 71), bytes_of(71, 53)
    torch.testing.assert_close(compiled(dynamic, EXPANDED)(x, w), dynamic(x, w))


@pytest.mark.parametrize("rows", [3, 37, 300])
def test_weights_alone_are_integers(rows: int) -> None:
    def linear(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
        return (x @ w.to(x.dtype)) * scale

    x, w, scale = randoms(rows, 171).bfloat16(), bytes_of(53, 171).t(), randoms(53).bfloat16()
    truth = linear(x.double(), w, scale.double())
    verdict = judge(compiled(linear, EXPANDED)(x, w, scale), linear(x, w, scale), truth)
    assert verdict, verdict.why


# 8-bit floats


def scaled(out: torch.dtype) -> Callable[..., Tensor]:
    def function(x: Tensor, y: Tensor, a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
        return torch._scaled_mm(x, y, a, b, bias=bias, out_dtype=out)

    return function


def in_steps(dtype: torch.dtype, x: Tensor, y: Tensor, a: Tensor, b: Tensor, bias: Tensor | None) -> Tensor:
    total = (x.to(dtype) @ y.to(dtype)) * a.to(dtype) * b.to(dtype)
    return total if bias is None else total + bias.to(dtype)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("sizes", "out"),
    [(SIZES[0], torch.bfloat16), (SIZES[0], torch.float16), *((sizes, torch.float32) for sizes in SIZES)],
    ids=str,
)
def test_scaled_product(sizes: tuple[int, int, int], out: torch.dtype, way: str) -> None:
    m, k, n = sizes
    x, y = randoms(m, k).to(float8("e4m3fn")), randoms(n, k, seed=1).to(float8("e4m3fn")).t()
    given = (x, y, torch.tensor(0.5), torch.tensor([0.3]), None)
    got, want = compiled(scaled(out), WAYS[way])(*given), in_steps(torch.float32, *given).to(out)
    verdict = judge(got, want, in_steps(torch.float64, *given))
    assert verdict, verdict.why


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("left", "right"), [*zip(KINDS, KINDS, strict=True), KINDS[:2], KINDS[1::-1], KINDS[2:]]
)
def test_scales_of_rows_and_columns_with_a_bias(left: str, right: str, way: str) -> None:
    x, y = randoms(37, 171).to(float8(left)), randoms(53, 171, seed=1).to(float8(right)).t()
    bias = randoms(53, seed=4).bfloat16()
    given = (x, y, randoms(37, 1, seed=2).abs(), randoms(1, 53, seed=3).abs(), bias)
    got = compiled(scaled(torch.bfloat16), WAYS[way])(*given)
    verdict = judge(got, in_steps(torch.float32, *given).bfloat16(), in_steps(torch.float64, *given))
    assert verdict, verdict.why


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_pattern_of_bits(kind: str, way: str) -> None:
    x = torch.arange(256, dtype=torch.uint8).view(float8(kind))
    got = compiled(lambda x: x.to(torch.float32), WAYS[way])(x)
    want = x.to(torch.float32)
    assert torch.equal(got.isnan(), want.isnan())
    number = ~want.isnan()
    assert torch.equal(got[number].view(torch.int32), want[number].view(torch.int32))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int32])
def test_conversions_to_8_bits(kind: str, dtype: torch.dtype, way: str) -> None:
    def function(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        rounded = (x.t() * 3).to(float8(kind))
        return rounded, rounded.float() + 1, x[0, 0].to(float8(kind)), y.to(float8(kind))

    x = (randoms(37, 13) * 300).to(dtype)
    if dtype.is_floating_point:
        x[0, :6] = torch.tensor([float("inf"), -float("inf"), 0.0, -0.0, 1e-3, 6e4], dtype=dtype)
    given = (x, torch.ones(0, 3, dtype=dtype))
    for got, want in zip(compiled(function, WAYS[way])(*given), function(*given), strict=True):
        assert got.dtype == want.dtype
        torch.testing.assert_close(got.float(), want.float(), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_products_of_8_bits(kind: str, way: str) -> None:
    """Sums of quarters are exact, so that results are, too large ones as torch's conversions have them."""
    x = (randoms(37, 71) * 8).round().div(4).to(float8("e4m3fn"))
    y = (randoms(53, 71, seed=1) * 8).round().div(4).to(float8("e5m2")).t()
    a, b = torch.exp2(torch.arange(37.0) - 18)[:, None], torch.exp2(torch.arange(53.0) - 26)[None]
    given = (x, y, a, b, None)
    got, want = compiled(scaled(float8(kind)), WAYS[way])(*given), in_steps(torch.float64, *given)
    assert got.dtype == float8(kind)
    assert torch.equal(got.view(torch.int8), want.to(float8(kind)).view(torch.int8))


@pytest.mark.parametrize("way", WAYS)
def test_views_of_8_bit_floats(way: str) -> None:
    def views(x: Tensor) -> tuple[Tensor, Tensor]:
        return x.t()[1:, ::2].to(torch.bfloat16) * 2, x.reshape(3, -1)[1]

    x = randoms(6, 11).to(float8("e4m3fn"))
    got, want = compiled(views, WAYS[way])(x), views(x)
    assert torch.equal(got[0], want[0])
    assert got[1].dtype == want[1].dtype
    assert torch.equal(got[1].view(torch.int8), want[1].view(torch.int8))


@pytest.mark.skipif(
    not torch._C._dispatch_has_kernel_for_dispatch_key("aten::_scaled_mm_v2", "CPU"),
    reason="torch 2.11 has no kernel of `scaled_mm` for CPUs to compare with",
)
@pytest.mark.parametrize("way", WAYS)
def test_scales_by_recipes(way: str) -> None:
    def function(x: Tensor, y: Tensor, a: Tensor, b: Tensor, bias: Tensor) -> Tensor:
        rows, whole = F.ScalingType.RowWise, F.ScalingType.TensorWise
        scaled = F.scaled_mm(x, y, a, rows, b, rows, bias=bias)
        return scaled + F.scaled_mm(x, y, a[:1, 0], whole, b[0, :1], whole)

    x, y = randoms(32, 64).to(float8("e4m3fn")), randoms(48, 64, seed=1).to(float8("e4m3fn")).t()
    a, b, bias = randoms(32, 1).abs(), randoms(1, 48).abs(), randoms(48).bfloat16()
    by_rows, whole = (x, y, a, b, bias), (x, y, a[:1, 0], b[0, :1], None)
    truth = in_steps(torch.float64, *by_rows) + in_steps(torch.float64, *whole)
    verdict = judge(compiled(function, WAYS[way])(*by_rows), function(*by_rows), truth)
    assert verdict, verdict.why


def test_symbolic_rows() -> None:
    function = compiled(scaled(torch.bfloat16), NATIVE, dynamic=True)
    y, columns = randoms(53, 71, seed=1).to(float8("e4m3fn")).t(), randoms(1, 53).abs()
    for rows in (33, 50):
        given = (randoms(rows, 71).to(float8("e4m3fn")), y, randoms(rows, 1).abs(), columns, None)
        verdict = judge(
            function(*given), in_steps(torch.float32, *given).bfloat16(), in_steps(torch.float64, *given)
        )
        assert verdict, verdict.why


@pytest.mark.parametrize("target", ["gpu_emulated", "cpu_openmp"])
def test_what_is_left_to_aten_says_why(target: str) -> None:
    x, y = randoms(32, 64).to(float8("e4m3fn")), randoms(48, 64, seed=1).to(float8("e4m3fn")).t()
    one = torch.tensor(1.0)

    def result_scaled(x: Tensor, y: Tensor) -> Tensor:
        return torch._scaled_mm(x, y, one, one, scale_result=one, out_dtype=float8("e4m3fn"))

    with pytest.raises(BackendCompilerFailed, match="a scale of the product"):
        compiled(result_scaled, {"target": target, "fallback": False})(x, y)
    got, want = compiled(result_scaled, {"target": target})(x, y), result_scaled(x, y)
    assert torch.equal(got.view(torch.int8), want.view(torch.int8))


# Machine code

TARGETS = ("sm_80", "sm_90", "sm_100", "gfx942")
INTEGERS = """
func.func @main(%a: tensor<MxKxi8>, %w: tensor<NxKxi8>, %s: tensor<Nxf32>) -> tensor<MxNxbf16> {
  %t = tw.transpose %w by [1, 0] : tensor<NxKxi8> -> tensor<KxNxi8>
  %p = tw.matmul %a, %t : (tensor<MxKxi8>, tensor<KxNxi8>) -> tensor<MxNxi32>
  %f = tw.cast %p : tensor<MxNxi32> -> tensor<MxNxf32>
  %b = tw.broadcast %s dims [1] : tensor<Nxf32> -> tensor<MxNxf32>
  %q = tw.mul %f, %b : tensor<MxNxf32>
  %r = tw.cast %q : tensor<MxNxf32> -> tensor<MxNxbf16>
  func.return %r : tensor<MxNxbf16>
}
"""
FLOATS = """
func.func @main(%a: tensor<MxKxi8>, %w: tensor<NxKxi8>, %s: tensor<Nxf32>) -> tensor<MxNxbf16> {
  %t = tw.transpose %w by [1, 0] : tensor<NxKxi8> -> tensor<KxNxi8>
  %x = tw.decode_float8 %a from "LEFT" : tensor<MxKxi8> -> tensor<MxKxf32>
  %y = tw.decode_float8 %t from "RIGHT" : tensor<KxNxi8> -> tensor<KxNxf32>
  %p = tw.matmul %x, %y : (tensor<MxKxf32>, tensor<KxNxf32>) -> tensor<MxNxf32>
  %b = tw.broadcast %s dims [1] : tensor<Nxf32> -> tensor<MxNxf32>
  %q = tw.mul %p, %b : tensor<MxNxf32>
  %r = tw.cast %q : tensor<MxNxf32> -> tensor<MxNxbf16>
  func.return %r : tensor<MxNxbf16>
}
"""
WEIGHTS = """
func.func @main(%a: tensor<MxKxbf16>, %w: tensor<NxKxi8>) -> tensor<MxNxbf16> {
  %t = tw.transpose %w by [1, 0] : tensor<NxKxi8> -> tensor<KxNxi8>
  %y = tw.cast %t rounded : tensor<KxNxi8> -> tensor<KxNxbf16>
  %p = tw.matmul %a, %y : (tensor<MxKxbf16>, tensor<KxNxbf16>) -> tensor<MxNxbf16>
  func.return %p : tensor<MxNxbf16>
}
"""


def unit_of(text: str, sizes: tuple[int, int, int], target: str, **kinds: str) -> TritonUnit:
    for letter, size in zip("MKN", sizes, strict=True):
        text = re.sub(rf"\b{letter}x|(?<=x){letter}x", f"{size}x", text)
    for name, kind in kinds.items():
        text = text.replace(name, kind)
    context = new_context()
    module = Parser(context, text).parse_module()
    passes = with_facts(parse_pipeline(pipeline_text("gpu")), architecture(target).facts)
    run_pipeline(context, module, passes)
    return emit_unit(module)


LARGE, SMALL = (4096, 4096, 4096), (37, 71, 53)
CASES = {
    "integers": (
        INTEGERS,
        LARGE,
        {},
        (r"mma\.sync.*s8\.s8", r"wgmma.*s8\.s8", r"tcgen05.*i8|mma\.sync.*s8\.s8", r"mfma_i32.*i8"),
    ),
    "few integers": (
        INTEGERS,
        SMALL,
        {},
        (r"mma\.sync.*s8\.s8", r"wgmma.*s8\.s8", r"tcgen05.*i8|mma\.sync.*s8\.s8", r"mfma_i32.*i8"),
    ),
    "floats": (
        FLOATS,
        LARGE,
        {"LEFT": "e4m3fn", "RIGHT": "e5m2"},
        (r"mma\.sync.*f16\.f16", r"wgmma.*e4m3\.e5m2", r"tcgen05.*f8f6f4", r"mfma_f32.*f16"),
    ),
    "floats of AMD": (
        FLOATS,
        LARGE,
        {"LEFT": "e4m3fnuz", "RIGHT": "e5m2fnuz"},
        (r"mma\.sync.*f16\.f16", r"wgmma.*f16\.f16", r"tcgen05.*f16", r"mfma_f32.*(fp8_bf8|bf8_fp8)"),
    ),
    "few floats": (
        FLOATS,
        SMALL,
        {"LEFT": "e5m2", "RIGHT": "e4m3fn"},
        (r"mma\.sync.*f16\.f16", r"wgmma.*e5m2\.e4m3", r"tcgen05.*f8f6f4", r"mfma_f32.*f16"),
    ),
    "weights": (
        WEIGHTS,
        (1024, 4096, 4096),
        {},
        (r"mma\.sync.*bf16", r"wgmma.*bf16", r"tcgen05.*f16", r"mfma_f32.*bf16"),
    ),
}


@pytest.mark.skipif(not triton_version(), reason="triton is not installed")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", CASES)
def test_matrix_units_multiply(case: str, target: str, tmp_path: Path) -> None:
    text, sizes, kinds, instructions = CASES[case]
    unit = unit_of(text, sizes, target, **kinds)
    (kernel,) = unit.kernels  # what is before and behind the product is in it
    binary = compile_kernel(unit.text, kernel, target, cache_dir=tmp_path)
    assert re.search(instructions[TARGETS.index(target)], binary.assembly)
    assert binary.spills == 0
    assert binary.shared <= architecture(target).shared_per_block


@pytest.mark.parametrize(("target", "has"), [("sm_86", False), ("sm_89", True), ("gfx942", False)])
def test_the_table_of_targets_decides_who_decodes(target: str, has: bool) -> None:
    text = unit_of(FLOATS, LARGE, target, LEFT="e4m3fn", RIGHT="e5m2").text
    assert (".to(tl.float8e4nv, bitcast=True)" in text) == has
    assert (".to(tl.float8e5, bitcast=True)" in text) == has
