"""Products of packed halves: schedules keep the meaning, every instruction set gives the same numbers."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from cpu_harness import parse
from tk_harness import Case, check

from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.dot import DotOp
from tilewright.passes.manager import parse_pipeline, run_pipeline, verify_hook, with_facts
from tilewright.passes.pipeline import pipeline_text
from tilewright.targets.cpu_openmp.build import build
from tilewright.targets.cpu_openmp.isa import machine_isa
from tilewright.targets.cpu_openmp.launch import load

PRODUCT = """
tk.func @f [{rows}, 2, 48, 11, 2] (%a: memref<{size}xbf16>, %b: memref<2112xbf16>, %o: memref<{out}xf32>) {{
  %0 = tk.load %a[{left}] : memref<{size}xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  {compute}
  %3 = tk.load %b[d1*1056 + d3*96 + d2*2 + d4] : memref<2112xbf16> -> bf16
  %4 = arith.extf %3 : bf16 to f32
  %5 = arith.mulf {order} : f32
  %6 = tk.reduce add %5 over [3, 4] : f32
  %7 = math.absf %6 : f32
  tk.store %7, %o[d0*96 + d1*48 + d2] : f32, memref<{out}xf32>
}}
"""
LEFTS = {
    "contiguous": ("d0*22 + d3*2 + d4", "%2 = arith.addf %1, %1 : f32", "%1, %4"),
    "swapped": ("d0*22 + d3*2 + d4", "%2 = arith.addf %1, %1 : f32", "%4, %1"),
    "strided": ("d0 + d3*{rows}*2 + d4*{rows}", "%2 = arith.addf %1, %1 : f32", "%1, %4"),
    "computed": ("d0*22 + d3*2 + d4", "%2 = arith.addf %1, %1 : f32", "%2, %4"),
}


@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("left", list(LEFTS))
@pytest.mark.parametrize("rows", [1, 3, 21])
def test_schedules_keep_the_meaning(left: str, rows: int, bits: int) -> None:
    expr, compute, order = LEFTS[left]
    text = PRODUCT.format(
        rows=rows, size=rows * 22, out=rows * 96, left=expr.format(rows=rows), compute=compute, order=order
    )
    case = Case(text, (f"bf16 {rows * 22}", "bf16 2112", f"f32 {rows * 96} = 0"))
    pipeline = f"coalesce-axes,schedule-cpu{{vector-bits={bits}}},apply-schedule"
    module = check(case, pipeline)
    assert any(isinstance(op, DotOp) for op in module.walk())


MATMUL = """
func.func @main(%x: tensor<{m}x{k}x{t}>, %p: tensor<{packed}x{t}>, %b: tensor<96x{t}>)
    -> tensor<{m}x96x{t}> {{
  {product}
  func.return %r : tensor<{m}x96x{t}>
}}
"""
GROUPED = """
  %m = tw.packed_matmul %x, %p bias %b
     : (tensor<{m}x{k}xbf16>, tensor<{packed}xbf16>, tensor<96xbf16>) -> tensor<{m}x96xbf16>
  %r = tw.neg %m : tensor<{m}x96xbf16>
"""
WIDENED = """
  %x1 = tw.cast %x : tensor<{m}x{k}x{t}> -> tensor<{m}x{k}xf32>
  %b1 = tw.cast %b : tensor<96x{t}> -> tensor<96xf32>
  %m = tw.packed_matmul %x1, %p bias %b1
     : (tensor<{m}x{k}xf32>, tensor<{packed}x{t}>, tensor<96xf32>) -> tensor<{m}x96xf32>
  %n = tw.neg %m : tensor<{m}x96xf32>
  %r = tw.cast %n : tensor<{m}x96xf32> -> tensor<{m}x96x{t}>
"""
CAPABILITIES = ["", "avx2", "default"]


def environment(capability: str) -> Mapping[str, str]:
    return {**os.environ, "ATEN_CPU_CAPABILITY": capability}


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("name", ["bf16", "f16"])
@pytest.mark.parametrize("m", [1, 13])
def test_every_instruction_set(tmp_path: Path, name: str, group: int, capability: str, m: int) -> None:
    if group == 2 and name == "f16":
        pytest.skip("only bf16 comes in pairs")
    k, width = 70, 48
    packed = f"2x{k // group}x{width}" + (f"x{group}" if group > 1 else "")
    shapes = {"m": m, "k": k, "packed": packed, "t": name}
    product = (GROUPED if group > 1 else WIDENED).format(**shapes)
    module, isa = parse(MATMUL.format(**shapes, product=product)), machine_isa(environment(capability))
    passes = with_facts(parse_pipeline(pipeline_text("cpu")), isa.facts)
    run_pipeline(new_context(), module, passes, hooks=[verify_hook()])
    assert any(isinstance(op, DotOp) for op in module.walk()) == (group > 1)

    dtype = {"bf16": torch.bfloat16, "f16": torch.float16}[name]
    x, w, b = (torch.randn(*s).to(dtype) for s in ((m, k), (k, 96), (96,)))
    panels = w.reshape(k // group, group, 2, width).permute(2, 0, 3, 1).contiguous()
    panels = panels if group > 1 else panels.squeeze(3)
    graph = load(module, cache_dir=tmp_path, environment=environment(capability))
    (result,) = graph([x, panels, b])
    expected = -(x.double() @ w.double() + b.double())
    torch.testing.assert_close(result.double(), expected.to(dtype).double(), rtol=2e-2, atol=1e-3)


ROUND = """#include "prelude_math.h"
extern "C" __attribute__((visibility("default"))) void round_{lanes}(const f32* x, bf16* y, i64 n) {{
  for (i64 i = 0; i < n; i += {lanes}) {body}
}}
extern "C" __attribute__((visibility("default"))) void widen_{lanes}(const bf16* x, f32* y, i64 n) {{
  for (i64 i = 0; i < n; i += {lanes}) {back}
}}
"""


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
def test_bf16_rounds_as_torch_does(tmp_path: Path, lanes: int, capability: str) -> None:
    """Subnormal numbers, ties, overflow to infinity and NaN included."""
    body, back = "y[i] = tw::to_bf16(x[i]);", "y[i] = tw::from_bf16(x[i]);"
    if lanes > 1:
        body = f"tw::store(y + i, tw::to_bf16(tw::load<{lanes}>(x + i)));"
        back = f"tw::store(y + i, tw::from_bf16(tw::load<{lanes}>(x + i)));"
    text = ROUND.format(lanes=lanes, body=body, back=back)
    library = ctypes.CDLL(str(build(text, cache_dir=tmp_path, environment=environment(capability))))
    high = torch.arange(65536, dtype=torch.int32) << 16
    low = torch.tensor([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], dtype=torch.int32)
    x = (high[:, None] | low).reshape(-1).contiguous().view(torch.float32)
    y, z = torch.empty(x.numel(), dtype=torch.bfloat16), torch.empty_like(x)
    count = ctypes.c_int64(x.numel())
    getattr(library, f"round_{lanes}")(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), count)
    getattr(library, f"widen_{lanes}")(ctypes.c_void_p(y.data_ptr()), ctypes.c_void_p(z.data_ptr()), count)
    expected = x.bfloat16()
    number = ~x.isnan()
    assert torch.equal(y.view(torch.int16)[number], expected.view(torch.int16)[number])
    assert bool(y[~number].isnan().all())
    assert torch.equal(z[number], expected[number].float())
