"""Keys of kernels are equal where only names differ, places of constants, and, where asked, offsets."""

from __future__ import annotations

import pytest
from tk_harness import parse

from tilewright.dialects.tk.kernels import FuncOp
from tilewright.passes.host.kernel_key import kernel_key, key_and_offsets

KERNEL = """tk.func @f [s0, 4] (%x: memref<?xf32>, %y: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {
  %z = arith.constant 0.0 : f32
  %0 = tk.load %x[d0*4 + d1] : memref<?xf32> -> f32
  %1 = tk.load %y[d0*4 + d1] : memref<?xf32> -> f32
  %2 = arith.subf %z, %0 : f32
  %3 = arith.mulf %2, %1 : f32
  %4 = tk.reduce add %3 over [1] : f32
  tk.store %4, %o[d0] : f32, memref<?xf32>
}"""
ZERO = "  %z = arith.constant 0.0 : f32\n"
ONE = "  %w = arith.constant 1.0 : f32\n"
TWO = KERNEL.replace(ZERO, ZERO + ONE).replace("%2, %1", "%2, %w")
FOR = '  tk.for 0 = "0" to "s0" step 1 {\n'
LOOPS = """tk.func @f [s0] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0] scheduled {
  %z = arith.constant 0.0 : f32
  tk.for 0 = "0" to "s0" step 1 {
    %0 = tk.load %x[d0] : memref<?xf32> -> f32
    %1 = arith.subf %z, %0 : f32
    tk.store %1, %o[d0] : f32, memref<?xf32>
  }
  %2 = tk.load %x[0] : memref<?xf32> -> f32
  tk.store %2, %o[0] : f32, memref<?xf32>
}"""
Y = "%y[d0*4 + d1]"
INSIDE = "    tk.store %1, %o[d0] : f32, memref<?xf32>\n"
AFTER = "  tk.store %2, %o[0] : f32, memref<?xf32>\n"
EQUAL = {
    # the function, and what is written otherwise
    "its name": (KERNEL, {"@f": "@g"}),
    "names of values": (KERNEL, {"%x": "%a", "%o": "%b", "%2": "%c"}),
    "where a constant stands": (KERNEL, {ZERO: "", "  %2 =": f"{ZERO}  %2 ="}),
    "which of two constants stands first": (TWO, {ZERO + ONE: ONE + ZERO}),
    "where a constant stands that a loop reads": (LOOPS, {ZERO + FOR: FOR + ZERO}),
}
OTHER = {
    "a size": (KERNEL, {"[s0, 4]": "[s0, 5]"}),
    "a symbol": (KERNEL, {"[s0, 4]": "[s1, 4]", "symbols [s0]": "symbols [s1]"}),
    "a type of an argument": (
        KERNEL,
        {"%y: memref<?xf32>": "%y: memref<40xf32>", f"{Y} : memref<?xf32>": f"{Y} : memref<40xf32>"},
    ),
    "the order of arguments": (KERNEL, {"(%x: memref<?xf32>, %y": "(%y: memref<?xf32>, %x"}),
    "an op": (KERNEL, {"arith.subf": "arith.addf"}),
    "the order of operands": (KERNEL, {"%z, %0": "%0, %z"}),
    "what is read": (KERNEL, {"%2, %1": "%2, %2"}),
    "a constant": (KERNEL, {"0.0": "1.0"}),
    "the sign of zero": (KERNEL, {"0.0": "-0.0"}),
    "a subscript": (KERNEL, {"%x[d0*4 + d1]": "%x[d0*4 + d1 + 16]"}),
    "a property": (KERNEL, {"reduce add": "reduce max"}),
    "an attribute": (KERNEL, {"over [1] : f32": "over [1] {tk.factors = bf16} : f32"}),
    "an attribute of the function": (
        KERNEL,
        {"symbols [s0] {": "symbols [s0] attributes {tk.inplace = [array<i64: 0, 0>]} {"},
    ),
    "what a loop does": (LOOPS, {INSIDE + "  }\n": INSIDE, AFTER: AFTER + "  }\n"}),
    "how far a loop goes": (LOOPS, {'to "s0"': 'to "4"'}),
}


def function_of(text: str, changes: dict[str, str] | None = None) -> FuncOp:
    """`text`, in which each of `changes` occurs."""
    for old, new in (changes or {}).items():
        assert old in text
        text = text.replace(old, new)
    (function,) = parse(text).ops
    assert isinstance(function, FuncOp)
    return function


@pytest.mark.parametrize(("text", "changes"), EQUAL.values(), ids=EQUAL)
def test_equal(text: str, changes: dict[str, str]) -> None:
    assert kernel_key(function_of(text, changes)) == kernel_key(function_of(text))


@pytest.mark.parametrize(("text", "changes"), OTHER.values(), ids=OTHER)
def test_different(text: str, changes: dict[str, str]) -> None:
    assert kernel_key(function_of(text, changes)) != kernel_key(function_of(text))


SHIFTED = """tk.func @f [s0, 4] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {
  %0 = tk.load %x[d0*4 + d1 + A] : memref<?xf32> -> f32
  %1 = tk.index "d1 + B" : i64
  %2 = arith.sitofp %1 : i64 to f32
  %3 = arith.addf %0, %2 : f32
  tk.store %3, %o[d0*4 + d1 + C] : f32, memref<?xf32>
}"""


def shifted(*offsets: int) -> FuncOp:
    return function_of(SHIFTED, dict(zip(("+ A", "+ B", "+ C"), map("+ {}".format, offsets), strict=True)))


@pytest.mark.parametrize(
    ("unit", "offsets", "expected"),
    [
        (1, (7, 0, 64), [7, 0, 64]),
        (1, (-7, 0, 0), [-7, 0, 0]),
        (16, (16, 32, -16), [16, 32, -16]),
        (16, (5, 21, -3), [0, 16, -16]),
    ],
)
def test_offsets_are_multiples_of_the_unit(unit: int, offsets: tuple[int, ...], expected: list[int]) -> None:
    _, found = key_and_offsets(shifted(*offsets), unit)
    assert [(offset.op.name, offset.number) for offset in found] == [
        ("tk.load", 0),
        ("tk.index", 0),
        ("tk.store", 0),
    ]
    assert [offset.value for offset in found] == expected


@pytest.mark.parametrize(
    ("unit", "one", "other", "equal"),
    [
        (1, (0, 0, 0), (7, 1, 64), True),
        (16, (0, 0, 0), (16, 160, -32), True),
        (16, (5, 0, 3), (21, 0, -13), True),
        (16, (0, 0, 0), (8, 0, 0), False),
        (16, (0, 0, 0), (0, 0, 17), False),
    ],
)
def test_offsets_may_differ_by_the_unit(
    unit: int, one: tuple[int, ...], other: tuple[int, ...], equal: bool
) -> None:
    functions = shifted(*one), shifted(*other)
    keys = [key_and_offsets(function, unit)[0] for function in functions]
    assert (keys[0] == keys[1]) == equal
    assert kernel_key(functions[0]) != kernel_key(functions[1])


def test_sizes_are_no_offsets() -> None:
    one, other = function_of(KERNEL), function_of(KERNEL, {"[s0, 4]": "[s0, 20]"})
    assert key_and_offsets(one, 16)[0] != key_and_offsets(other, 16)[0]


def test_a_key_is_good_for_tables() -> None:
    assert {kernel_key(function_of(KERNEL)): 0, kernel_key(function_of(KERNEL, {"@f": "@g"})): 1} == {
        kernel_key(function_of(KERNEL)): 1
    }
