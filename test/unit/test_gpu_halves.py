"""What follows the sums of a product, done for one half of a tile's columns and then for the other one."""

from __future__ import annotations

import pytest
import torch
from cpu_harness import parse

from tilewright.dialects.registry import new_context
from tilewright.passes.manager import parse_pipeline, run_pipeline, verify_hook
from tilewright.targets.gpu_triton.emit import emit_unit
from tilewright.targets.gpu_triton.emulate import Emulator

_BLOCKS = (
    "tk.blocks = array<i64: 0, 32, 1, 64, 2, 16>, tk.grid = 2 : i64, tk.warps = 4 : i64,"
    ' tk.stages = 3 : i64, tk.index = 32 : i64, tk.product = "ieee", tk.halves'
)


def text(m: int, n: int, k: int) -> str:
    """`cos(a @ b + c) * r`."""
    return f"""
tk.func @f [{m}, {n}, {k}] (%a: memref<{m * k}xbf16>, %b: memref<{k * n}xbf16>, %c: memref<{n}xf32>,
    %r: memref<{m * n}xf32>, %o: memref<{m * n}xf32>) attributes {{{_BLOCKS}}} {{
  %0 = tk.load %a[d0*{k} + d2] : memref<{m * k}xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d2*{n} + d1] : memref<{k * n}xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] {{tk.factors = bf16}} : f32
  %6 = tk.load %c[d1] : memref<{n}xf32> -> f32
  %7 = arith.addf %5, %6 : f32
  %8 = math.cos %7 : f32
  %9 = tk.load %r[d0*{n} + d1] : memref<{m * n}xf32> -> f32
  %10 = arith.mulf %8, %9 : f32
  tk.store %10, %o[d0*{n} + d1] : f32, memref<{m * n}xf32>
}}"""


@pytest.mark.parametrize("n", [64, 128, 40, 20, 150, 97, 96, 32])
@pytest.mark.parametrize("m", [32, 45])
def test_both_halves_are_finished(m: int, n: int) -> None:
    """Columns that fill blocks, hang over the right half, the left one, or end between the two."""
    k = 24
    module = parse(text(m, n, k))
    run_pipeline(new_context(), module, parse_pipeline("apply-schedule"), hooks=[verify_hook()])
    unit = emit_unit(module)
    assert unit.text.count("tl.split") == 1
    a, b = torch.randn(m, k).bfloat16(), torch.randn(k, n).bfloat16()
    c, r = torch.randn(n), torch.randn(m, n)
    out = torch.full((m, n), float("nan"))
    Emulator(unit).launch("f", [a, b, c, r, out], {})
    wanted = (a.double() @ b.double() + c).cos() * r
    torch.testing.assert_close(out.double(), wanted, rtol=1e-4, atol=1e-4)
