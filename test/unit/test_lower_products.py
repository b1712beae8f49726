"""Which matrix products become kernels, of factors of what type, and that those give the same numbers."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from tk_harness import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from tilewright.dialects.index_expr import Var, format_exprs
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.tk.contraction import FACTORS, find_contraction
from tilewright.dialects.tw.linalg import MatmulOp
from tilewright.dialects.types import element_type_of, sizes_of
from tilewright.passes.lowering.lower_products import Products, factors_of, lower_matmul, products_of


def product_of(types: str, ops: str = "") -> tuple[ModuleOp, MatmulOp]:
    """The product of `%a` and `%b`, and `%c` if `types` has a third; or of what `ops` make of them."""
    *given, made = (text.strip() for text in types.split(";"))
    factors = [line.split()[0] for line in ops.splitlines() if line.startswith(("%l", "%r"))] or ["%a", "%b"]
    found = [line.rpartition("-> ")[2] for line in ops.splitlines() if line.startswith(("%l", "%r"))]
    left, right = found or given[:2]
    bias = f" bias %c : ({left}, {right}, {given[2]})" if given[2:] else f" : ({left}, {right})"
    arguments = ", ".join(f"%{name}: {type_}" for name, type_ in zip("abc", given, strict=False))
    module = parse(f"""func.func @main(%s0: index {{tw.symbol = "s0"}}, {arguments}) -> {made} {{
      {ops}
      %o = tw.matmul {", ".join(factors)}{bias} -> {made}
      func.return %o : {made}
    }}""")
    (op,) = (op for op in module.walk() if isinstance(op, MatmulOp))
    return module, op


ROWS = 'tensor<?x4xf32, #tw.shape<"s0, 4">>'
PRODUCTS = {
    # types, sizes of the kernel
    "f32": ("tensor<3x4xf32>; tensor<4x5xf32>; tensor<3x5xf32>", "3, 5, 4"),
    "f64": ("tensor<3x4xf64>; tensor<4x5xf64>; tensor<3x5xf64>", "3, 5, 4"),
    "batches": ("tensor<2x6x3x4xf32>; tensor<2x6x4x5xf32>; tensor<2x6x3x5xf32>", "2, 6, 3, 5, 4"),
    "a bias": ("tensor<2x3x4xf32>; tensor<2x4x5xf32>; tensor<5xf32>; tensor<2x3x5xf32>", "2, 3, 5, 4"),
    "halves": ("tensor<3x4xf16>; tensor<4x5xf16>; tensor<5xf16>; tensor<3x5xf16>", "3, 5, 4"),
    "sums of bytes": ("tensor<3x4xi8>; tensor<4x5xi8>; tensor<5xi32>; tensor<3x5xi32>", "3, 5, 4"),
    "nothing to add up": ("tensor<3x0xf32>; tensor<0x5xf32>; tensor<3x5xf32>", "3, 5, 0"),
    "symbols": (f'{ROWS}; tensor<4x5xf32>; tensor<?x5xf32, #tw.shape<"s0, 5">>', "s0, 5, 4"),
}
KINDS = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i32": np.int32}


@pytest.mark.parametrize(("types", "sizes"), PRODUCTS.values(), ids=PRODUCTS)
def test_kernels_multiply(types: str, sizes: str) -> None:
    module, op = product_of(types)
    random, inputs = np.random.default_rng(0), list[np.ndarray]()
    for value in op.operands:
        shape = [size.evaluate({Var("s", 0): 3}) for size in sizes_of(value)]
        inputs.append((9 * random.standard_normal(shape)).astype(KINDS[str(element_type_of(value))]))
    wanted = interpret(module, [3, *inputs], np)
    kernel = lower_matmul(op, factors_of(op))
    Rewriter.replace_op(op, kernel)
    module.verify()
    assert format_exprs(kernel.space) == sizes
    found = interpret(module, [3, *inputs], np)
    assert found[0].dtype == wanted[0].dtype
    np.testing.assert_allclose(found[0], wanted[0], rtol=2e-3 if found[0].dtype == np.float16 else 1e-6)


A, B, HALF_A, HALF_B, MADE = (
    f"tensor<{text}>" for text in ("3x4xf32", "4x5xf32", "3x4xbf16", "4x5xbf16", "3x5xf32")
)
WIDENED = f"%l = tw.cast %a : {HALF_A} -> {A}\n%r = tw.cast %b : {HALF_B} -> {B}"
COPIED = f"%r = tw.reshape %b : {B} -> {B}"
VIEWED = """%v = tw.cast %a : tensor<4x3xbf16> -> tensor<4x3xf32>
%w = tw.transpose %v by [1, 0] : tensor<4x3xf32> -> tensor<3x4xf32>
%l = tw.reshape %w : tensor<3x4xf32> -> tensor<3x4xf32>
%r = tw.cast %b : tensor<4x5xbf16> -> tensor<4x5xf32>"""
BYTES = f"""%l = tw.decode_float8 %a from "e5m2" : tensor<3x4xi8> -> {A}
%r = tw.decode_float8 %b from "e4m3fn" : tensor<4x5xi8> -> {B}"""
FACTORS_OF = {
    # types, ops, of what type its factors are
    "f32": (f"{A}; {B}; {MADE}", "", "f32"),
    "halves": (f"{HALF_A}; {HALF_B}; tensor<3x5xbf16>", "", "bf16"),
    "bytes": ("tensor<3x4xi8>; tensor<4x5xi8>; tensor<3x5xi8>", "", "i32"),
    "sums of bytes": ("tensor<3x4xi8>; tensor<4x5xi8>; tensor<3x5xi32>", "", "i8"),
    "widened halves": (f"{HALF_A}; {HALF_B}; {MADE}", WIDENED, "bf16"),
    "views of them": (f"tensor<4x3xbf16>; {HALF_B}; {MADE}", VIEWED, "bf16"),
    "8-bit floats": (f"tensor<3x4xi8>; tensor<4x5xi8>; {MADE}", BYTES, "f16"),
    "one of two": (f"{HALF_A}; {B}; {MADE}", f"%l = tw.cast %a : {HALF_A} -> {A}\n{COPIED}", "f32"),
    "two kinds": (
        f"{HALF_A}; tensor<4x5xf16>; {MADE}", WIDENED.replace(HALF_B, "tensor<4x5xf16>"), "f32"),
    "widened further": (
        f"{HALF_A}; {HALF_B}; tensor<3x5xf64>", WIDENED.replace("xf32", "xf64"), "f64"),
    "narrowed": (
        "tensor<3x4xf64>; tensor<4x5xf64>; tensor<3x5xf32>",
        WIDENED.replace("bf16", "f64"), "f32"),
}  # fmt: skip


@pytest.mark.parametrize(("types", "ops", "factors"), FACTORS_OF.values(), ids=FACTORS_OF)
def test_factors_are_what_they_were_before_they_were_widened(types: str, ops: str, factors: str) -> None:
    _, op = product_of(types, ops)
    assert str(factors_of(op)) == factors
    kernel = lower_matmul(op, factors_of(op))
    product = find_contraction(kernel.body.block)
    assert product is not None
    kept = product.reduce.attributes.get(FACTORS)
    assert str(kept) == (factors if factors in ("bf16", "f16", "i8") else "None")


def chosen(types: str, ops: str = "") -> list[str]:
    """The choices with which a product becomes a kernel."""
    module, op = product_of(types, ops)
    found = [choice for choice in get_args(Products) if products_of(module.walk(), choice)]
    assert all(products_of(module.walk(), choice) == {op: factors_of(op)} for choice in found)
    return found


def vector(columns: int, depth: int, element: str = "f32", rows: int = 1) -> str:
    left, right = f"tensor<{rows}x{depth}x{element}>", f"tensor<{depth}x{columns}x{element}>"
    return f"{left}; {right}; tensor<{rows}x{columns}x{element}>"


CHOSEN = {
    "f32": (vector(5, 4, rows=3), "", ["all"]),
    "f64": (vector(5, 4, "f64", 3), "", []),
    "halves": (vector(5, 4, "bf16", 3), "", ["half", "all"]),
    "widened halves": (f"{HALF_A}; {HALF_B}; {MADE}", WIDENED, ["half", "all"]),
    "bytes": (vector(5, 4, "i8", 3), "", []),
    "sums of bytes": ("tensor<3x4xi8>; tensor<4x5xi8>; tensor<3x5xi32>", "", ["half", "all"]),
    "a row": (vector(5, 4), "", ["vectors", "half", "all"]),
    "a row of f64": (vector(5, 4, "f64"), "", ["vectors", "half", "all"]),
    "a row of halves": (vector(5, 4, "bf16"), "", ["half", "all"]),
    "a column": ("tensor<3x4xf32>; tensor<4x1xf32>; tensor<3x1xf32>", "", ["vectors", "half", "all"]),
    "the largest matrix": (vector(1024, 1024), "", ["vectors", "half", "all"]),
    "a larger one": (vector(1025, 1024), "", ["all"]),
    "outer products": (vector(5, 1, rows=3), "", ["all"]),
    "rows of a size that only the run knows": (
        'tensor<1x?xf32, #tw.shape<"1, s0">>; tensor<?x5xf32, #tw.shape<"s0, 5">>; tensor<1x5xf32>',
        "",
        ["all"],
    ),
}


@pytest.mark.parametrize(("types", "ops", "choices"), CHOSEN.values(), ids=CHOSEN)
def test_which_become_kernels(types: str, ops: str, choices: list[str]) -> None:
    assert chosen(types, ops) == choices
