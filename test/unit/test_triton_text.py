"""Triton text computes what its kernel says: executed on CPU tensors, bounds and races checked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_tk_schedule import CASES
from tk_harness import Case, check
from triton_harness import GPU, check_text


def product(space: str, a: str, b: str, o: str, sizes: tuple[int, int, int], element: str = "bf16") -> Case:
    """`tanh(exp(a) b + row)` with subscripts as given; the factors are of `element` in the program."""
    na, nb, no = sizes
    widen = "" if element == "f32" else f"%x = arith.extf %a0 : {element} to f32"
    left = "%a0" if element == "f32" else "%x"
    right = "%b0" if element == "f32" else "%y"
    widen_right = "" if element == "f32" else f"%y = arith.extf %b0 : {element} to f32"
    factors = "" if element == "f32" else f" {{tk.factors = {element}}}"
    text = f"""tk.func @f [{space}] (%a: memref<{na}x{element}>, %b: memref<{nb}x{element}>,
                                     %o: memref<{no}xf32>) {{
      %a0 = tk.load %a[{a}] : memref<{na}x{element}> -> {element}
      {widen}
      %e = math.absf {left} : f32
      %b0 = tk.load %b[{b}] : memref<{nb}x{element}> -> {element}
      {widen_right}
      %p = arith.mulf %e, {right} : f32
      %s = tk.reduce add %p over [{space.count(",")}]{factors} : f32
      %t = math.tanh %s : f32
      tk.store %t, %o[{o}] : f32, memref<{no}xf32>
    }}"""
    return Case(text, (f"{element} {na}", f"{element} {nb}", f"f32 {no} = 0"), tolerance=1e-4)


PRODUCTS = {
    "odd_sizes": product("70, 50, 33", "d0*33 + d2", "d2*50 + d1", "d0*50 + d1", (2310, 1650, 3500)),
    "transposed": product("70, 50, 33", "d2*70 + d0", "d1*33 + d2", "d1*70 + d0", (2310, 1650, 3500)),
    "single": product("40, 24, 65", "d0*65 + d2", "d2*24 + d1", "d0*24 + d1", (2600, 1560, 960), "f32"),
    "batches": product(
        "3, 20, 17, 16", "d0*320 + d1*16 + d3", "d0*272 + d3*17 + d2", "d0*340 + d1*17 + d2", (960, 816, 1020)
    ),
    "rows_of_two_axes": product(
        "3, 20, 17, 16", "d0*320 + d1*16 + d3", "d3*17 + d2", "d0*340 + d1*17 + d2", (960, 272, 1020)
    ),
    "too_thin_for_tiles": product("2, 50, 33", "d0*33 + d2", "d2*50 + d1", "d0*50 + d1", (66, 1650, 100)),
    "convolution": product(  # 3x3, of 6 channels over 9x9 pixels: rows are pixels of the result
        "7, 7, 20, 3, 3, 6",
        "(d0 + d3)*54 + (d1 + d4)*6 + d5",
        "d2*54 + d3*18 + d4*6 + d5",
        "d0*140 + d1*20 + d2",
        (486, 1080, 980),
    ),
}
PRODUCTS["convolution"] = Case(
    PRODUCTS["convolution"].text.replace("over [5]", "over [3, 4, 5]"),
    PRODUCTS["convolution"].buffers,
    tolerance=1e-4,
)
FACTORS = Case(  # beyond the end of the sum neither factor is zero, though what they are made of is
    """tk.func @f [40, 24, 33] (%a: memref<1320xf32>, %b: memref<792xf32>, %o: memref<960xf32>) {
      %0 = tk.load %a[d0*33 + d2] : memref<1320xf32> -> f32
      %1 = math.cos %0 : f32
      %2 = tk.load %b[d2*24 + d1] : memref<792xf32> -> f32
      %3 = math.cos %2 : f32
      %4 = arith.mulf %1, %3 : f32
      %5 = tk.reduce add %4 over [2] : f32
      tk.store %5, %o[d0*24 + d1] : f32, memref<960xf32>
    }""",
    ("f32 1320", "f32 792", "f32 960 = 0"),
    tolerance=1e-4,
)
PRODUCTS["of_computed_factors"] = FACTORS
INTEGERS = """tk.func @f [40, 24, 130] (%a: memref<5200xi8>, %b: memref<3120xi8>, %o: memref<960xi32>) {
  %c = arith.constant 1 : i32
  %0 = tk.load %a[d0*130 + d2] : memref<5200xi8> -> i8
  %1 = arith.extsi %0 : i8 to i32
  %2 = tk.load %b[d2*24 + d1] : memref<3120xi8> -> i8
  %3 = arith.extsi %2 : i8 to i32
  %4 = arith.muli %1, %3 : i32
  %5 = tk.reduce add %4 over [2] {tk.factors = i8} : i32
  tk.store %5, %o[d0*24 + d1] : i32, memref<960xi32>
}"""
PRODUCTS["of_integers"] = Case(INTEGERS, ("i8 5200", "i8 3120", "i32 960 = 0"), tolerance=0)
PRODUCTS["of_computed_integers"] = Case(
    INTEGERS.replace("%3 = ", "%i = arith.addi %1, %c : i32\n%3 = ").replace("muli %1", "muli %i"),
    ("i8 5200", "i8 3120", "i32 960 = 0"),
    tolerance=0,
)
PRODUCTS["of_8_bit_floats"] = Case(  # of which patterns below 120 are numbers
    """tk.func @f [40, 24, 130] (%a: memref<5200xi8>, %b: memref<3120xi8>, %o: memref<960xf32>) {
      %0 = tk.load %a[d0*130 + d2] : memref<5200xi8> -> i8
      %1 = arith.bitcast %0 : i8 to f8E4M3FN
      %2 = arith.extf %1 : f8E4M3FN to f32
      %3 = tk.load %b[d2*24 + d1] : memref<3120xi8> -> i8
      %4 = arith.bitcast %3 : i8 to f8E5M2
      %5 = arith.extf %4 : f8E5M2 to f32
      %6 = arith.mulf %2, %5 : f32
      %7 = tk.reduce add %6 over [2] {tk.factors = f16} : f32
      tk.store %7, %o[d0*24 + d1] : f32, memref<960xf32>
    }""",
    ("i8 5200 < 120", "i8 3120 < 120", "f32 960 = 0"),
)
PRODUCTS["of_padded_8_bit_floats"] = Case(  # a masked load gives no zero beyond the end of the sum
    """tk.func @f [40, 24, 130] (%a: memref<4000xi8>, %b: memref<3120xi8>, %o: memref<960xf32>) {
      %z = arith.constant 8 : i8
      %n = arith.constant 100 : i64
      %i = tk.index "d2" : i64
      %m = arith.cmpi slt, %i, %n : i64
      %0 = tk.load %a[d0*100 + d2] if %m else %z : memref<4000xi8> -> i8
      %1 = arith.bitcast %0 : i8 to f8E4M3FN
      %2 = arith.extf %1 : f8E4M3FN to f32
      %3 = tk.load %b[d2*24 + d1] : memref<3120xi8> -> i8
      %4 = arith.bitcast %3 : i8 to f8E4M3FN
      %5 = arith.extf %4 : f8E4M3FN to f32
      %6 = arith.mulf %2, %5 : f32
      %7 = tk.reduce add %6 over [2] {tk.factors = f16} : f32
      tk.store %7, %o[d0*24 + d1] : f32, memref<960xf32>
    }""",
    ("i8 4000 < 120", "i8 3120 < 120", "f32 960 = 0"),
)
EMPTY = Case(
    """tk.func @f [3, 0] (%x: memref<0xf32>, %o: memref<3xf32>) {
      %0 = tk.load %x[d0 + d1] : memref<0xf32> -> f32
      %1 = tk.reduce max %0 over [1] : f32
      tk.store %1, %o[d0] : f32, memref<3xf32>
    }""",
    ("f32 0", "f32 3 = 0"),
)
EDGES = {
    "no_elements_at_all": EMPTY,
    "sum_of_padding": Case(  # what a masked load gives beyond the end is no zero
        """tk.func @f [3, 20] (%x: memref<48xf32>, %o: memref<3xf32>) {
          %z = arith.constant 2.5 : f32
          %n = arith.constant 16 : i64
          %0 = tk.index "d1" : i64
          %1 = arith.cmpi slt, %0, %n : i64
          %2 = tk.load %x[d0*16 + d1] if %1 else %z : memref<48xf32> -> f32
          %3 = tk.reduce add %2 over [1] : f32
          tk.store %3, %o[d0] : f32, memref<3xf32>
        }""",
        ("f32 48", "f32 3 = 0"),
    ),
    "cumsum_of_many_blocks": Case(
        """tk.func @f [2, 20011] (%x: memref<40022xf32>, %o: memref<40022xf32>) {
          %0 = tk.load %x[d0*20011 + d1] : memref<40022xf32> -> f32
          %1 = tk.scan add %0 along 1 : f32
          tk.store %1, %o[d0*20011 + d1] : f32, memref<40022xf32>
        }""",
        ("f32 40022", "f32 40022 = 0"),
        tolerance=1e-3,
    ),
    "a_number_among_nan": Case(  # and NaN among numbers
        """tk.func @f [3, 20] (%x: memref<60xf32>, %o: memref<3xf32>, %p: memref<3xf32>) {
          %nan = arith.constant 0x7FC00000 : f32
          %n = arith.constant 7 : i64
          %0 = tk.index "d0*5 + d1" : i64
          %1 = arith.cmpi eq, %0, %n : i64
          %2 = tk.load %x[d0*20 + d1] : memref<60xf32> -> f32
          %3 = arith.select %1, %nan, %2 : f32
          %4 = tk.reduce max %3 over [1] : f32
          tk.store %4, %o[d0] : f32, memref<3xf32>
          %5 = arith.select %1, %2, %nan : f32
          %6 = tk.reduce min %5 over [1] : f32
          tk.store %6, %p[d0] : f32, memref<3xf32>
        }""",
        ("f32 60", "f32 3 = 0", "f32 3 = 0"),
    ),
    "divisions_of_negative_numbers": Case(
        """tk.func @f [37] (%x: memref<37xi64>, %o: memref<37xi64>, %p: memref<37xi64>, %q: memref<37xi64>) {
          %0 = tk.load %x[d0] : memref<37xi64> -> i64
          %c = arith.constant 3 : i64
          %n = arith.constant -2 : i64
          %1 = arith.floordivsi %0, %c : i64
          tk.store %1, %o[d0] : i64, memref<37xi64>
          %2 = arith.divsi %0, %n : i64
          tk.store %2, %p[d0] : i64, memref<37xi64>
          %3 = arith.remsi %0, %c : i64
          tk.store %3, %q[d0] : i64, memref<37xi64>
        }""",
        ("i64 37", "i64 37 = 0", "i64 37 = 0", "i64 37 = 0"),
    ),
}
ALL = {**CASES, **PRODUCTS, **EDGES}


@pytest.mark.parametrize("name", ALL)
def test_text_computes_what_the_kernel_says(name: str) -> None:
    check_text(ALL[name])


@pytest.mark.parametrize("name", ALL)
def test_tiles_keep_the_meaning(name: str) -> None:
    check(ALL[name], GPU)


@pytest.mark.parametrize("name", [name for name in PRODUCTS if name != "too_thin_for_tiles"])
def test_products_use_matrix_units(name: str) -> None:
    assert "tl.dot(" in check_text(PRODUCTS[name]).text


@pytest.mark.parametrize("name", ["of_8_bit_floats", "of_padded_8_bit_floats"])
def test_8_bit_floats_decoded_by_integers(name: str) -> None:
    expanded = GPU.replace("schedule-gpu", "expand-float8,schedule-gpu")
    assert "float8" not in check_text(PRODUCTS[name], expanded).text
    check(PRODUCTS[name], expanded)


def test_precision_of_single_products_is_stated() -> None:
    assert 'input_precision="ieee"' in check_text(PRODUCTS["single"]).text
    faster = GPU.replace("schedule-gpu", "schedule-gpu{tf32=true}")
    rounded = replace(PRODUCTS["single"], tolerance=1e-2)  # 65 products of factors with 10 bits
    assert 'input_precision="tf32"' in check_text(rounded, faster).text
