"""Compiled kernels: indices below zero, comparisons with NaN, constants, one condition for all lanes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from test_cpu_kernels import DTYPES, elementwise, run, sample


def test_index_arithmetic_of_negative_numbers(tmp_path: Path) -> None:
    kernel = """
    tk.func @k [32] (%x: memref<1xi64>, %o: memref<32xi64>, %p: memref<32xi64>) scheduled {
      tk.for 0 = "0" to "16" step 1 {
        %a = tk.index "(d0 - 20) floordiv 7" : i64
        tk.store %a, %o[d0] : i64, memref<32xi64>
        %b = tk.index "(-d0 + 3) mod 5" : i64
        tk.store %b, %p[d0] : i64, memref<32xi64>
      }
      tk.for 0 = "16" to "32" step 8 {
        %a = tk.index "(d0 - 20) floordiv 7" lanes 0 : vector<8xi64>
        tk.store %a, %o[d0] lanes 0 : vector<8xi64>, memref<32xi64>
        %b = tk.index "(-d0 + 3) mod 5" lanes 0 : vector<8xi64>
        tk.store %b, %p[d0] lanes 0 : vector<8xi64>, memref<32xi64>
      }
    }"""
    o, p = run(tmp_path, kernel, [torch.zeros(1, dtype=torch.int64)], [("i64", 32), ("i64", 32)])
    assert o.tolist() == [(d - 20) // 7 for d in range(32)]
    assert p.tolist() == [(3 - d) % 5 for d in range(32)]


@pytest.mark.parametrize("name", ["f32", "i64", "i8"])
def test_one_condition_for_all_lanes(tmp_path: Path, name: str) -> None:
    kernel = f"""
    tk.func @k [2, 8] (%m: memref<2xi1>, %x: memref<16x{name}>, %y: memref<16x{name}>, %o: memref<16x{name}>)
    scheduled {{
      tk.for 0 = "0" to "2" step 1 {{
        %b = tk.load %m[d0] : memref<2xi1> -> i1
        tk.for 1 = "0" to "8" step 8 {{
          %v = tk.load %x[d0*8 + d1] lanes 1 : memref<16x{name}> -> vector<8x{name}>
          %w = tk.load %y[d0*8 + d1] lanes 1 : memref<16x{name}> -> vector<8x{name}>
          %c = vector.broadcast %b : i1 to vector<8xi1>
          %t = arith.constant dense<true> : vector<8xi1>
          %n = arith.xori %c, %t : vector<8xi1>
          %r = arith.select %n, %w, %v : vector<8xi1>, vector<8x{name}>
          tk.store %r, %o[d0*8 + d1] lanes 1 : vector<8x{name}>, memref<16x{name}>
        }}
      }}
    }}"""
    x, y = sample(DTYPES[name], 16), sample(DTYPES[name], 16).flip(0)
    (got,) = run(tmp_path, kernel, [torch.tensor([True, False]), x, y], [(name, 16)])
    assert torch.equal(got, torch.cat([x[:8], y[8:]]))


COMPARISONS = {
    "eq": lambda a, b: a == b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "ne": lambda a, b: (a < b) | (a > b),
}


@pytest.mark.parametrize("lanes", [1, 8])
def test_comparisons_with_what_is_no_number(tmp_path: Path, lanes: int) -> None:
    """Ordered ones are false and unordered ones true as soon as an operand is NaN."""
    names = [f"{order}{name}" for order in "ou" for name in COMPARISONS] + ["ord", "uno"]
    v = (lambda t: t) if lanes == 1 else (lambda t: f"vector<{lanes}x{t}>")
    along = "" if lanes == 1 else "lanes 0"
    body = "".join(
        f"""%c{i} = arith.cmpf {name}, %0, %1 : {v("f32")}
        tk.store %c{i}, %o{i}[d0] {along} : {v("i1")}, memref<64xi1>
        """
        for i, name in enumerate(names)
    )
    outs = ", ".join(f"%o{i}: memref<64xi1>" for i in range(len(names)))
    kernel = f"""
    tk.func @k [64] (%x: memref<64xf32>, %y: memref<64xf32>, {outs}) scheduled {{
      tk.for 0 = "0" to "64" step {lanes} {{
        %0 = tk.load %x[d0] {along} : memref<64xf32> -> {v("f32")}
        %1 = tk.load %y[d0] {along} : memref<64xf32> -> {v("f32")}
        {body}
      }}
    }}"""
    values = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, -2.0, 1e-40])
    x, y = values.repeat(8), values.repeat_interleave(8)
    found = dict(zip(names, run(tmp_path, kernel, [x, y], [("i1", 64)] * len(names)), strict=True))
    nan = x.isnan() | y.isnan()
    assert torch.equal(found["uno"], nan)
    assert torch.equal(found["ord"], ~nan)
    for name, holds in COMPARISONS.items():
        assert torch.equal(found[f"o{name}"], holds(x, y)), name
        assert torch.equal(found[f"u{name}"], holds(x, y) | nan), name


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_constants_keep_every_digit(tmp_path: Path, name: str) -> None:
    numbers = [1 / 3, 16777215.0, 1e-30, 123456.789]
    body = "".join(
        f"%c{i} = arith.constant {n:.17e} : {name}\n tk.store %c{i}, %o[{i}] : {name}, memref<4x{name}>\n"
        for i, n in enumerate(numbers)
    )
    kernel = f"tk.func @k [1] (%x: memref<1x{name}>, %o: memref<4x{name}>) scheduled {{ {body} }}"
    (got,) = run(tmp_path, kernel, [torch.zeros(1, dtype=DTYPES[name])], [(name, 4)])
    assert torch.equal(got, torch.tensor(numbers, dtype=DTYPES[name]))


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("name", ["bf16", "f16"])
def test_doubles_become_halves_as_in_torch(tmp_path: Path, name: str, lanes: int) -> None:
    x = sample(torch.float64, 64)
    x[:4] = torch.tensor([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-11 + 2.0**-40, 1e300, float("nan")])
    kernel = elementwise(["f64"], name, f"%r = arith.truncf %0 : @f64 to {_of(name, lanes)}", lanes)
    (got,) = run(tmp_path, kernel, [x], [(name, 64)])
    torch.testing.assert_close(got, x.to(DTYPES[name]), rtol=0, atol=0, equal_nan=True)


def _of(name: str, lanes: int) -> str:
    return name if lanes == 1 else f"vector<{lanes}x{name}>"
