"""A fixed sample of what `python -m benchmarks.gpu_static` checks: compiled kernels have no faults."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from packaging.version import Version
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks import gpu_static
from benchmarks.gpu_static import (
    TARGETS,
    Lowered,
    faults_of,
    lowering_for,
    main,
    modules_of,
    multiplies_narrow,
    rows_of,
    table,
    unit_of,
    units_of,
    without_faults,
)
from benchmarks.models import BY_NAME, Model
from tilewright.dialects.registry import new_context
from tilewright.frontend.capture import capture
from tilewright.frontend.operators.own_operators import operators
from tilewright.frontend.tools.tool_io import chunks, parse_module
from tilewright.passes.manager import parse_pipeline, run_pipeline, with_facts
from tilewright.passes.pipeline import pipeline_text
from tilewright.targets.gpu_triton.architectures import architecture
from tilewright.targets.gpu_triton.compiler import compile_kernel, triton_version
from tilewright.targets.gpu_triton.emit import emit_unit

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not triton_version(), reason="triton is not installed")


def test_kernels_of_a_model_have_no_faults(tmp_path: Path) -> None:
    (lowered,) = units_of("mlp-mixer", "bf16", "tiny", False, ["sm_90"])
    rows = rows_of("mlp-mixer", lowered, tmp_path)
    assert [row for row in rows if row.faults] == []
    assert sum(row.tensor_core > 0 for row in rows) >= 3
    assert any(row.wide_loads for row in rows)
    assert table(rows).row_count == 1


def test_kernels_are_those_that_a_target_is_lowered_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forward and backward, as the whole pipeline makes them on a machine that has such a device."""
    made = Model(
        "convolutions",
        lambda: nn.Sequential(nn.Conv2d(3, 72, 3), nn.ReLU(), nn.Conv2d(72, 80, 3), nn.ReLU()),
        lambda _, batch, sample: (torch.randn(batch, *sample),),
        {"tiny": (3, 10, 9)},
        {"tiny": {}},
    )
    monkeypatch.setitem(BY_NAME, made.name, made)
    units = units_of(made.name, "bf16", "tiny", True, ("sm_90", "gfx942"))
    texts = {target: [unit.text for _, unit, of in units if of == target] for target in ("sm_90", "gfx942")}
    told = with_facts(parse_pipeline(pipeline_text("gpu")), architecture("gfx942").facts)
    whole = modules_of(made.name, "bf16", "tiny", True, tuple(map(str, told)))
    assert texts["gfx942"] == [emit_unit(module).text for module in whole]
    turned = {
        target: [bool(re.search(r"copy\w*_group", text)) for text in found] for target, found in texts.items()
    }
    assert turned == {"sm_90": [True, True], "gfx942": [False, False]}, "filters of images with channels last"


def test_targets_that_are_lowered_alike_share_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[tuple[str, ...]] = []
    module = parse_module(new_context(), _product("bf16"), "product.mlir")

    def modules_of(*arguments: Any) -> list[Any]:
        traced.append(arguments[-1])
        return [module]

    monkeypatch.setattr(gpu_static, "modules_of", modules_of)
    units = units_of("any", "bf16", "tiny", False, ("sm_100", "gfx942", "sm_90"))
    assert [lowered.target for lowered in units] == ["sm_100", "gfx942", "sm_90"]
    assert traced == [lowering_for("sm_90"), lowering_for("gfx942")]
    assert traced[0] != traced[1]


SPILLS_BEFORE_3_8 = {("beside_each_other", "gfx942"): ("spills 8",)}
"""By the LLVM of Triton 3.6 and 3.7: six exponentials of each of 16 elements are live, and lanes have 128
registers. These are 32 bytes of a lane; reading the row again, as where more is live, would be 384."""


HALF_AS_WIDE = {"two_long_products_of_f32"}
"""Tiles of 16 by 32 elements of f32, by eight warps: 64 bits of each lane, hundreds of multiplications."""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("few_rows", 6),
        ("lanes", 9),
        ("rows", 30),
        ("branches", 6),
        ("masks", 4),
        ("room", 18),
        ("chain_room", 6),
        ("shared", 6),
        ("tiles", 4),
    ],
)
def test_lanes_load_by_whole_instructions(name: str, count: int, target: str, tmp_path: Path) -> None:
    """Warps of 64 lanes want more elements, fewer warps, and of masks fewer elements; nothing spills."""
    path = ROOT / "test" / "passes" / f"schedule_gpu_{name}.mlir"
    modules = [parse_module(new_context(), part, str(path)) for part in chunks(path.read_text(), split=True)]
    rows = [row for m in modules for row in rows_of(name, Lowered(m, unit_of(m, target), target), tmp_path)]
    assert len(rows) == len(modules) == count
    known = SPILLS_BEFORE_3_8 if Version(triton_version()) < Version("3.8") else {}
    expected = {row.kernel: spills for row in rows if (spills := known.get((row.kernel, target)))}
    assert {row.kernel: row.faults for row in rows if row.faults} == expected
    assert {row.kernel for row in rows if not row.wide_loads} <= HALF_AS_WIDE


@pytest.mark.usefixtures("crowded_lanes")
def test_what_spills_by_default_is_shown_with_what_takes_its_place(tmp_path: Path) -> None:
    """As in a build."""
    text = """
        tk.func @double [1048576] (%x: memref<1048576xf32>, %o: memref<1048576xf32>) {
          %0 = tk.load %x[d0] : memref<1048576xf32> -> f32
          %1 = arith.addf %0, %0 : f32
          tk.store %1, %o[d0] : f32, memref<1048576xf32>
        }
    """
    module = parse_module(new_context(), text, "double.mlir")
    lowered = Lowered(module, unit_of(module, "sm_90"), "sm_90")
    (row,) = rows_of("double", lowered, tmp_path)
    assert row.faults[0].startswith("spills ")
    found, faults = without_faults(lowered, tmp_path, 2)
    (row,) = rows_of("double", found, tmp_path, faults)
    assert row.faults == ()
    assert row.default.startswith("spills ")
    (summary,) = list(table([row]).columns[-1].cells)
    assert re.fullmatch(r"double: none, for spills \d+ by default", str(summary))


def _pool(compiled: Any) -> None:
    compiled(torch.randn(4, 8, 28, 28, requires_grad=True))[0].sum().backward()


LINEAR_SCAN = operators()["linear_scan"]
_FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)
FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "max_pooling": (lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), _pool),
    "scans": (
        lambda x: (
            x.cumprod(1),
            *x.cummax(1),
            *x.cummin(0),
            x.logcumsumexp(1),
            (x.softmax(1).cumsum(1) * x).sum(1),
            x.cumsum(0) * x - x.amax(0),
            LINEAR_SCAN(x, x.sigmoid(), 0),
        ),
        lambda compiled: compiled(torch.randn(64, 1000)),
    ),
    "functions of f64 and numbers": (
        lambda x: (
            x.pow(1.5),
            torch.pow(2.5, x),
            torch.atan2(x, 0 * x + 2),
            x.copysign(-2),
            x.hypot(0 * x + 3),
        ),
        lambda compiled: [compiled(torch.rand(64, n, dtype=torch.float64)) for n in (1000, 37)],
    ),
    "float8": (
        lambda x: [(x / x.abs().amax(1, keepdim=True)).to(d) for d in _FLOAT8] + [x.to(d) for d in _FLOAT8],
        lambda compiled: [compiled(torch.randn(64, n)) for n in (1000, 37, 9000)],
    ),
}


@pytest.mark.usefixtures("like_cuda")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_kernels_of_operators_do_not_spill(name: str, tmp_path: Path) -> None:
    function, call = FUNCTIONS[name]
    count = 0
    for graph in capture(call, function, None):
        context = new_context()
        module = parse_module(context, graph.text, graph.name)
        run_pipeline(context, module, parse_pipeline(pipeline_text("gpu")))
        unit = emit_unit(module)
        for kernel in unit.kernels:
            assert compile_kernel(unit.text, kernel, "sm_90", cache_dir=tmp_path).spills == 0
            count += 1
    assert count


NORM_GRADIENT = """tk.func @norm [64, 25088] (%x: memref<1605632xf32>, %m: memref<64xf32>,
    %r: memref<1605632xf32>, %g: memref<1605632xf32>, %w: memref<64xf32>, %b: memref<64xf32>,
    %o: memref<1605632xf32>, %d: memref<64xf32>) {
  %0 = tk.load %x[d0*3136 + (d1 floordiv 3136)*200704 + (d1 mod 3136)] : memref<1605632xf32> -> f32
  %1 = tk.load %m[d0] : memref<64xf32> -> f32
  %2 = arith.subf %0, %1 : f32
  %3 = arith.constant 0.0 : f32
  %4 = tk.load %r[d0*3136 + (d1 floordiv 3136)*200704 + (d1 mod 3136)] : memref<1605632xf32> -> f32
  %5 = arith.cmpf ole, %4, %3 : f32
  %6 = tk.load %g[d0*3136 + (d1 floordiv 3136)*200704 + (d1 mod 3136)] : memref<1605632xf32> -> f32
  %7 = arith.select %5, %3, %6 : f32
  %8 = tk.reduce add %7 over [1] : f32
  tk.store %8, %b[d0] : f32, memref<64xf32>
  %9 = arith.mulf %7, %2 : f32
  %10 = tk.reduce add %9 over [1] : f32
  tk.store %10, %d[d0] : f32, memref<64xf32>
  %11 = tk.load %w[d0] : memref<64xf32> -> f32
  %12 = arith.mulf %10, %11 : f32
  %13 = arith.mulf %2, %12 : f32
  %14 = arith.subf %7, %13 : f32
  %15 = arith.subf %14, %8 : f32
  %16 = arith.mulf %15, %11 : f32
  tk.store %16, %o[d0*3136 + (d1 floordiv 3136)*200704 + (d1 mod 3136)] : f32, memref<1605632xf32>
}"""
"""Of ResNet's first norm and ReLU. LLVM writes out both loops of four steps, and keeps what the first one
computed of addresses for the second."""


@pytest.mark.parametrize("target", TARGETS)
def test_addresses_of_small_buffers_leave_registers(target: str, tmp_path: Path) -> None:
    module = parse_module(new_context(), NORM_GRADIENT, "norm.mlir")
    (row,) = rows_of("norm", Lowered(module, unit := unit_of(module, target), target), tmp_path)
    assert row.faults == ()
    assert row.wide_loads
    large = [replace(p, small=False) for p in unit.kernels[0].parameters]
    kernel = replace(unit.kernels[0], parameters=tuple(large))
    others = compile_kernel(unit.text, kernel, target, cache_dir=tmp_path).registers
    assert 2 * row.registers < others if target == "gfx942" else row.registers == others


@pytest.mark.usefixtures("like_cuda")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_halves_are_added_as_devices_do(dtype: torch.dtype, target: str, tmp_path: Path) -> None:
    """In f32 where they do not; Triton compiles what is added either way."""
    x, i = torch.randn(4096, 64, dtype=dtype), torch.arange(1000) % 9
    (graph,) = capture(lambda f: f(x, i, x[:1000]), lambda x, i, y: x.index_add(0, i, y), None)
    module = parse_module(new_context(), graph.text, graph.name)
    facts = architecture(target).facts
    run_pipeline(new_context(), module, with_facts(parse_pipeline(pipeline_text("gpu")), facts))
    unit = emit_unit(module)
    (kernel,) = (k for k in unit.kernels if "*i64" in {p.type for p in k.parameters})
    assert "tl.atomic_add" in unit.text
    in_f32 = "*fp32" in {p.type for p in kernel.parameters}
    assert in_f32 == (target == "sm_80" and dtype == torch.bfloat16)
    assert compile_kernel(unit.text, kernel, target, cache_dir=tmp_path).spills == 0


def test_faults_are_found(tmp_path: Path) -> None:
    ((_, unit, _),) = units_of("mlp-mixer", "bf16", "tiny", False, ["sm_90"])
    product = next(kernel for kernel in unit.kernels if "matmul" in kernel.name)
    binary = compile_kernel(unit.text, product, "sm_90", cache_dir=tmp_path)
    assert faults_of(unit, product, binary) == ()
    assert faults_of(unit, product, replace(binary, spills=8)) == ("spills 8",)
    assert faults_of(unit, product, replace(binary, shared=1 << 20)) == ("1048576 bytes of shared memory",)
    fewer = replace(binary, stages_left_out=1)
    assert faults_of(unit, product, fewer) == ("shared memory for 1 stages less",)
    assert faults_of(unit, product, replace(binary, assembly="fma.rn.f32")) == ("no tensor core",)
    assert faults_of(unit, product, binary, [product.name, "other"]) == (f"no tiles in {product.name}",)


def test_products_that_no_tiles_multiply_are_found() -> None:
    """Attention whose depth is two axes is no chain of products, nor anything else that has tiles."""
    row = "%s = tk.reduce add %p over [2] {tk.factors = bf16} : f32"
    kept = _product("bf16").replace("@product", "@kept")
    lost = _product("bf16").replace("tk.store", "%m = tk.reduce max %s over [1] : f32\n  tk.store")
    lost = lost.replace("%s, %o[d0*64 + d1]", "%m, %o[d0*64]").replace("@product", "@lost")
    assert row in lost
    module = parse_module(new_context(), f"{kept}\n{lost}\n{_product('f32')}", "products.mlir")
    assert gpu_static.lost_products(module) == ["lost"]


DROPS = {
    "alone": lambda x, w: F.dropout(x, 0.1),
    "of a product": lambda x, w: F.dropout(x @ w, 0.1),
    "and a norm": lambda x, w: F.layer_norm(x + F.dropout(x, 0.1), (96,)),
}


@pytest.mark.parametrize("name", DROPS)
def test_dropout_shares_the_blocks_of_the_generator(name: str) -> None:
    """A block costs eighty instructions and has four numbers: after all passes, it still gives four."""
    x, w = torch.randn(256, 96, dtype=torch.bfloat16), torch.randn(96, 96, dtype=torch.bfloat16)
    (graph,) = capture(lambda f: f(x, w), DROPS[name], None)
    module = parse_module(new_context(), graph.text, graph.name)
    run_pipeline(new_context(), module, parse_pipeline(",".join(lowering_for("sm_90"))))
    text = unit_of(module, "sm_90").text
    assert "_fours(" in text
    assert "_random(" not in text


def rotary(q: Tensor, k: Tensor, v: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Attention whose heads of keys are shared, and turned by positions (arXiv:2104.09864)."""

    def turned(x: Tensor) -> Tensor:
        left, right = x.chunk(2, -1)
        return x * cosine.repeat(1, 2) + torch.cat((-right, left), -1) * sine.repeat(1, 2)

    return F.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True, enable_gqa=True)


def _call_rotary(compiled: Any, length: int, training: bool) -> None:
    q, k, v = (
        torch.randn(8, n, length, 64, dtype=torch.bfloat16, requires_grad=training) for n in (12, 4, 4)
    )
    angles = torch.randn(length, 32, dtype=torch.bfloat16)
    out = compiled(q, k, v, angles.cos(), angles.sin())
    if training:
        out.sum().backward()


@pytest.mark.usefixtures("like_cuda")
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("length", [128, 640])
def test_attention_with_rotary_positions_has_tiles(length: int, training: bool) -> None:
    """Forward, where short keys are turned again in each program, and backward."""
    for graph in capture(partial(_call_rotary, length=length, training=training), rotary, None):
        module = parse_module(new_context(), graph.text, graph.name)
        run_pipeline(new_context(), module, parse_pipeline(",".join(lowering_for("sm_90"))))
        assert gpu_static.lost_products(module) == []
        assert "tl.dot" in unit_of(module, "sm_90").text


@pytest.mark.parametrize("factors", ["i8", "f8E4M3FN", "bf16", "f32"])
def test_products_of_all_narrow_factors_want_matrix_units(factors: str) -> None:
    """Also where memory holds f32, which is narrowed on the way."""
    module = parse_module(new_context(), _product(factors), "product.mlir")
    (kernel,) = (unit := unit_of(module, "sm_90")).kernels
    assert all(p.type in ("*fp32", "*i8", "*i32") for p in kernel.parameters)
    assert multiplies_narrow(unit, kernel) == (factors != "f32")


def _product(factors: str) -> str:
    memory, sums = ("i8", "i32") if factors == "i8" else ("i8" if factors[1] == "8" else "f32", "f32")
    narrow = {
        "i8": "{1} = arith.extsi {0} : i8 to i32",
        "f32": "{1} = arith.mulf {0}, {0} : f32",
        "bf16": "{1}n = arith.truncf {0} : f32 to bf16\n  {1} = arith.extf {1}n : bf16 to f32",
        "f8E4M3FN": "{1}n = arith.bitcast {0} : i8 to f8E4M3FN\n  {1} = arith.extf {1}n : f8E4M3FN to f32",
    }[factors]
    stated = {"f32": "", "f8E4M3FN": "{tk.factors = f16}"}.get(factors, f"{{tk.factors = {factors}}}")
    arguments = f"%a: memref<4096x{memory}>, %b: memref<4096x{memory}>, %o: memref<4096x{sums}>"
    return f"""tk.func @product [64, 64, 64] ({arguments}) {{
  %0 = tk.load %a[d0*64 + d2] : memref<4096x{memory}> -> {memory}
  %1 = tk.load %b[d2*64 + d1] : memref<4096x{memory}> -> {memory}
  {narrow.format("%0", "%l")}
  {narrow.format("%1", "%r")}
  %p = arith.mul{sums[0]} %l, %r : {sums}
  %s = tk.reduce add %p over [2] {stated} : {sums}
  tk.store %s, %o[d0*64 + d1] : {sums}, memref<4096x{sums}>
}}"""


def test_a_stopped_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[str] = []
    row = gpu_static.Row("mlp-mixer bf16 inference", "k", "sm_90", 4, registers=40)
    output = tmp_path / "kernels.json"
    output.write_text(json.dumps([asdict(row)]))

    def modules_of(model: str, *_: object) -> list[Any]:
        traced.append(model)
        return []

    monkeypatch.setattr(gpu_static, "modules_of", modules_of)
    how = ["--models", "mlp-mixer,unet", "--dtypes", "bf16", "--kinds", "inference", "--targets", "sm_90"]
    how += ["--cache", str(tmp_path), "--json", str(output)]
    assert CliRunner().invoke(main, [*how, "--resume"]).exit_code == 0
    assert traced == ["unet"]
    assert gpu_static.kept_rows(output) == [row]
    assert CliRunner().invoke(main, how).exit_code == 0
    assert traced == ["unet", "mlp-mixer", "unet"]
    assert gpu_static.kept_rows(output) == []


def test_an_unknown_model_is_an_error() -> None:
    assert CliRunner().invoke(main, ["--models", "nothing"]).exit_code != 0
