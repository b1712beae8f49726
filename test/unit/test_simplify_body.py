"""`simplify_body` leaves what a kernel stores and checks, once, in the precision that was asked for."""

from __future__ import annotations

import pytest
from xdsl.parser import Parser

from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.kernels.body import simplify_body

PARTS = "tensor<8xf32>", "tensor<8xf64>", "tensor<8xbf16>"
F32, F64, BF16 = PARTS
LOADS = f"""%w = tk.load %a[d0] : {F32} -> f32
  %l = tk.load %b[d0] : {F64} -> f64
  %h = tk.load %c[d0] : {BF16} -> bf16
"""
STORE = f"\ntk.store %v, %o[d0] : f32, {F32}"


def simplified(ops: str) -> KernelOp:
    types = ", ".join(PARTS)
    text = f"""func.func @main(%x: {F32}, %y: {F64}, %z: {BF16}) -> {F32} {{
      %r = tk.kernel [8] ins(%x, %y, %z, %x : {types}, {F32}) -> ({F32}) {{
      ^bb0(%a: {F32}, %b: {F64}, %c: {BF16}, %d: {F32}, %o: {F32}):
        {LOADS}{ops}
      }}
      func.return %r : {F32}
    }}"""
    module = Parser(new_context(), text).parse_module()
    kernel = next(op for op in module.walk() if isinstance(op, KernelOp))
    simplify_body(kernel)
    module.verify()
    return kernel


def names(kernel: KernelOp) -> list[str]:
    return [op.name.partition(".")[2] for op in kernel.body.block.ops]


def test_a_half_stays_wide_inside_a_kernel() -> None:
    kernel = simplified(f"%n = arith.truncf %w : f32 to bf16\n%v = arith.extf %n : bf16 to f32{STORE}")
    assert names(kernel) == ["load", "store"]
    assert [str(value.type) for value in kernel.operands] == [F32]


ROUNDED = {
    "asked for where it is narrowed": (
        "%n = arith.truncf %w {tk.rounded} : f32 to bf16\n%v = arith.extf %n : bf16 to f32"
    ),
    "asked for where it is widened": (
        "%n = arith.truncf %w : f32 to bf16\n%v = arith.extf %n {tk.rounded} : bf16 to f32"
    ),
    "from another type": "%n = arith.truncf %l : f64 to bf16\n%v = arith.extf %n : bf16 to f32",
    "of no half": (
        "%n = arith.truncf %l : f64 to f32\n%e = arith.extf %n : f32 to f64\n"
        "%m = arith.addf %e, %l : f64\n%v = arith.truncf %m : f64 to f32"
    ),
}


@pytest.mark.parametrize("ops", ROUNDED.values(), ids=ROUNDED)
def test_roundings_that_stay(ops: str) -> None:
    kernel = simplified(ops + STORE)
    assert names(kernel) == [
        "load",
        *(["truncf", "extf", "addf", "truncf"] if "%e" in ops else ["truncf", "extf"]),
        "store",
    ]


def test_what_is_stored_as_a_half_is_that_half() -> None:
    """Others read it, and compare with what they make of it."""
    text = f"""func.func @main(%x: {F32}) -> ({BF16}, {F32}) {{
      %r, %s = tk.kernel [8] ins(%x : {F32}) -> ({BF16}, {F32}) {{
      ^bb0(%a: {F32}, %p: {BF16}, %o: {F32}):
        %w = tk.load %a[d0] : {F32} -> f32
        %n = arith.truncf %w : f32 to bf16
        tk.store %n, %p[d0] : bf16, {BF16}
        %v = arith.extf %n : bf16 to f32{STORE}
      }}
      func.return %r, %s : {BF16}, {F32}
    }}"""
    module = Parser(new_context(), text).parse_module()
    kernel = next(op for op in module.walk() if isinstance(op, KernelOp))
    simplify_body(kernel)
    assert names(kernel) == ["load", "truncf", "store", "extf", "store"]


WHOLE = {
    "narrowed again": "%e = arith.extf %w : f32 to f64\n%v = arith.truncf %e {tk.rounded} : f64 to f32",
    "times one": "%1 = arith.constant 1.0 : f32\n%v = arith.mulf %w, %1 : f32",
    "one times": "%1 = arith.constant 1.0 : f32\n%v = arith.mulf %1, %w : f32",
}


@pytest.mark.parametrize("ops", WHOLE.values(), ids=WHOLE)
def test_what_changes_no_number_is_dropped(ops: str) -> None:
    assert names(simplified(ops + STORE)) == ["load", "store"]


@pytest.mark.parametrize("number", ["-1.0", "0.0", "1.0000001"])
def test_products_that_stay(number: str) -> None:
    kernel = simplified(f"%n = arith.constant {number} : f32\n%v = arith.mulf %w, %n : f32{STORE}")
    assert "mulf" in names(kernel)


def test_what_is_computed_twice_is_computed_once() -> None:
    """A tensor that comes in twice is one; of another property or order of operands a value is another."""
    again = f"%m = tk.load %d[d0] : {F32} -> f32\n%p = tk.load %a[7 - d0] : {F32} -> f32\n"
    sums = "%s = arith.addf %w, %p : f32\n%t = arith.addf %m, %p : f32\n%u = arith.subf %p, %m : f32\n"
    rest = "%q = arith.subf %w, %p : f32\n%f = arith.mulf %s, %t : f32\n%e = arith.mulf %u, %q : f32\n"
    kernel = simplified(f"{again}{sums}{rest}%v = arith.addf %f, %e : f32{STORE}")
    assert names(kernel) == ["load"] * 2 + ["addf", "subf", "subf", "mulf", "mulf", "addf", "store"]
    first, second = (op for op in kernel.body.block.ops if op.name == "arith.mulf")
    assert len(kernel.operands) == 1
    assert first.operands[0] is first.operands[1]
    assert second.operands[0] is not second.operands[1]


def test_dead_ops_go_and_effects_stay() -> None:
    """Checks are made once for each text, stores as often as they are there."""
    dead = "%e = math.exp %l : f64\n%f = math.exp %e : f64\n"
    test = "%g = arith.cmpf olt, %w, %w : f32\n"
    checks = "".join(f'tk.assert %g "{text}" : i1\n' for text in ("one", "one", "two"))
    store = f"tk.store %w, %o[d0] combine add : f32, {F32}\n"
    kernel = simplified(dead + test + checks + store * 2)
    assert names(kernel) == ["load", "cmpf", "assert", "assert", "store", "store"]
    assert len(kernel.operands) == 1


def test_one_value_in_two_types_stays_two() -> None:
    wide = "%m = arith.extf %h : bf16 to f32\n%n = arith.extf %h : bf16 to f64\n"
    rest = "%e = math.exp %n : f64\n%f = arith.truncf %e : f64 to f32\n%v = arith.addf %m, %f : f32"
    assert names(simplified(wide + rest + STORE)).count("extf") == 2
