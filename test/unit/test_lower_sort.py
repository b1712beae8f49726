"""Kernels that sort: the values and positions of `tw.sort`, with no more stored than is kept."""

from __future__ import annotations

import numpy as np
import pytest
from tk_harness import parse
from xdsl.rewriter import Rewriter

from tilewright.dialects.index_expr import Var
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.sort import SortOp
from tilewright.dialects.tw import indexing
from tilewright.dialects.types import sizes_of
from tilewright.passes.lowering.lower_sort import lower_sort

ROWS, S_ROWS = "tensor<3x7x{}>", 'tensor<?x?x{}, #tw.shape<"s0, s0 + 2">>'
CASES: dict[str, tuple[str, str, str, str]] = {
    "all": (ROWS, ROWS, "1", "f32"),
    "descending": (ROWS, ROWS, "1 descending", "f32"),
    "columns": (ROWS, ROWS, "0", "f32"),
    "first": (ROWS, "tensor<3x2x{}>", "1", "f32"),
    "largest": (ROWS, "tensor<3x2x{}>", "1 descending", "f32"),
    "first of columns": (ROWS, "tensor<2x7x{}>", "0", "f32"),
    "none of them": (ROWS, "tensor<3x0x{}>", "1", "f32"),
    "halves": (ROWS, "tensor<3x2x{}>", "1", "bf16"),
    "other halves": (ROWS, ROWS, "0 descending", "f16"),
    "integers": (ROWS, "tensor<3x4x{}>", "1", "i8"),
    "truths": (ROWS, ROWS, "1 descending", "i1"),
    "first truths": (ROWS, "tensor<3x3x{}>", "1", "i1"),
    "one": ("tensor<1x{}>", "tensor<1x{}>", "0", "f32"),
    "nothing": ("tensor<3x0x{}>", "tensor<3x0x{}>", "1", "f32"),
    "no rows": ("tensor<0x7x{}>", "tensor<0x2x{}>", "1", "f32"),
    "symbols": (S_ROWS, S_ROWS, "1", "f32"),
    "first of symbols": (S_ROWS, 'tensor<?x2x{}, #tw.shape<"s0, 2">>', "1 descending", "f32"),
    "a symbol of them": (S_ROWS, 'tensor<?x?x{}, #tw.shape<"s0, s0">>', "1", "f32"),
}
FIRST = {
    **{name: 2 for name in ("first", "largest", "first of columns", "halves", "no rows", "first of symbols")},
    **{"integers": 4, "first truths": 3},
}
KEYS = [2.0, -1.0, np.nan, 0.0, 2.0, -0.0, -np.inf, np.nan, 1.0, np.inf]
"""Some are equal, so that their order can be told from the positions."""


def numbers(sizes: tuple[int, ...], element: str) -> np.ndarray:
    picked = np.random.default_rng(0).choice(np.array(KEYS, np.float32), sizes)
    if element[0] == "i":
        return np.nan_to_num(picked, posinf=9, neginf=-9).astype(np.bool_ if element == "i1" else np.int8)
    return picked.astype(np.float16 if element == "f16" else np.float32)


@pytest.mark.parametrize("name", CASES)
def test_values_and_positions_are_those_of_the_sort(name: str) -> None:
    given, made, how, element = CASES[name]
    x, v, i = given.format(element), made.format(element), made.format("i64")
    module = parse(f"""func.func @main(%s0: index {{tw.symbol = "s0"}}, %x: {x}) -> ({v}, {i}) {{
      %v, %i = tw.sort %x dim {how} : {x} -> {v}, {i}
      func.return %v, %i : {v}, {i}
    }}""")
    op = next(op for op in module.walk() if isinstance(op, indexing.SortOp))
    sizes = tuple(e.evaluate({Var("s", 0): 4}) for e in sizes_of(op.source))
    inputs = [4, numbers(sizes, element)]
    wanted = interpret(module, inputs, np)
    kernel = lower_sort(op)
    Rewriter.replace_op(op, kernel)
    module.verify()
    found = interpret(module, inputs, np)
    for f, w in zip(found, wanted, strict=True):
        assert (f.dtype, f.shape) == (w.dtype, w.shape)
        np.testing.assert_array_equal(f, w)
    if element[0] == "f":
        np.testing.assert_array_equal(np.signbit(found[0]), np.signbit(wanted[0]))
    part = given != made
    (sort,) = (inner for inner in kernel.walk() if isinstance(inner, SortOp))
    stores = [inner for inner in kernel.walk() if isinstance(inner, StoreOp)]
    assert [store.mask is not None for store in stores] == [part, part]
    assert (None if sort.first is None else sort.first.value.data) == FIRST.get(name)
