"""Which sums of products are matrix products, and which of their axes are rows, columns and summed."""

from __future__ import annotations

import pytest
from xdsl.parser import Parser

from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.contraction import Contraction, find_contraction, find_products
from tilewright.dialects.tk.kernels import FuncOp

ROWS, COLUMNS = frozenset({0}), frozenset({1})


def func_of(left: str, right: str, over: str) -> FuncOp:
    """`out[d0, d1] = sum of a[left] * b[right]`."""
    memory = "memref<4096xf32>"
    text = f"""tk.func @k [4, 5, 3, 2, 1] (%a: {memory}, %b: {memory}, %o: {memory}) {{
      %0 = tk.load %a[{left}] : {memory} -> f32
      %1 = tk.load %b[{right}] : {memory} -> f32
      %2 = arith.mulf %0, %1 : f32
      %3 = tk.reduce add %2 over [{over}] : f32
      tk.store %3, %o[d0*5 + d1] : f32, {memory}
    }}"""
    func = Parser(new_context(), text).parse_module().body.block.first_op
    assert isinstance(func, FuncOp)
    return func


def contraction(left: str, right: str, over: str) -> Contraction | None:
    return find_contraction(func_of(left, right, over).body.block)


PRODUCTS = {
    "both vary over the sum": ("d0*3 + d2", "d1*3 + d2", "2"),
    "the left one repeats": ("d0*3 + d2", "d1*6 + d2*2 + d3", "2, 3"),
    "the right one repeats": ("d0*6 + d2*2 + d3", "d1*3 + d2", "2, 3"),
    "each repeats along an axis of the other's": ("d0*6 + d2*2 + d3", "d1*3 + d2 + d4", "2, 3, 4"),
    "one step, which neither counts": ("d0*3 + d2", "d1*3 + d2", "2, 4"),
}


@pytest.mark.parametrize("case", PRODUCTS.values(), ids=PRODUCTS)
def test_products(case: tuple[str, str, str]) -> None:
    """What is summed is neither of the rows nor of the columns, whichever factor it is of."""
    found = contraction(*case)
    assert found is not None
    assert (found.rows, found.columns) == (ROWS, COLUMNS)
    assert found.over == {int(axis) for axis in case[2].split(", ")}
    assert find_products(func_of(*case).body.block)[0].over == found.over


OTHERS = {
    "each is summed by itself": ("d0*3 + d2", "d1*2 + d3", "2, 3"),
    "no columns": ("d0*3 + d2", "d0*3 + d2", "2"),
    "the right one is a vector": ("d0*3 + d2", "d2*2 + d3", "2, 3"),
    "the left one is a vector": ("d2*2 + d3", "d1*3 + d2", "2, 3"),
}


@pytest.mark.parametrize("case", OTHERS.values(), ids=OTHERS)
def test_others(case: tuple[str, str, str]) -> None:
    assert contraction(*case) is None
    assert find_products(func_of(*case).body.block) == ()
