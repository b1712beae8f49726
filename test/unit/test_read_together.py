"""Kernels of one space that read the same elements of a tensor at the same points, and those that do not."""

from __future__ import annotations

import pytest
from kernels_harness import Kernel, kernels_of, module_of

from tilewright.passes.fusion.read_together import read_together

TENSORS = {
    **{"x": "f32 64, 32", "w": "f32 32", "t": "f32 6, 32", "n": "i64 64", "m": "i64 64"},
    **{"p": "f32 64, 32", "q": "f32 64, 32"},
}
ROW = """%j = load {list}[d0]
%i = arith.index_cast %j : i64 to index
%0 = load t[i0, d1](%i)
store %0, {to}[d0, d1]"""


def reads(value: str, first: str, second: str) -> bool:
    kernels: list[Kernel] = [("64, 32", first), ("64, 32", second)]
    one, other = kernels_of(module_of(TENSORS, kernels, "p q"))
    (operand,) = (v for v in one.inputs if v.name_hint == value)
    return read_together(operand, one, other)


def plain(place: str, to: str, name: str = "x") -> str:
    return f"%0 = load {name}{place}\nstore %0, {to}[d0, d1]"


TOGETHER = {
    "all of it": ("x", plain("[d0, d1]", "p"), plain("[d0, d1]", "q")),
    "reversed by both": ("x", plain("[-d0 + 63, d1]", "p"), plain("[-d0 + 63, d1]", "q")),
    "rows that one list names": ("t", ROW.format(list="n", to="p"), ROW.format(list="n", to="q")),
}
APART = {
    "one in reverse": ("x", plain("[d0, d1]", "p"), plain("[-d0 + 63, d1]", "q")),
    "what is small": ("w", plain("[d1]", "p", "w"), plain("[d1]", "q", "w")),
    "rows of two lists": ("t", ROW.format(list="n", to="p"), ROW.format(list="m", to="q")),
}


@pytest.mark.parametrize(("value", "first", "second"), TOGETHER.values(), ids=TOGETHER)
def test_both_read_the_same(value: str, first: str, second: str) -> None:
    assert reads(value, first, second)


@pytest.mark.parametrize(("value", "first", "second"), APART.values(), ids=APART)
def test_they_read_something_else(value: str, first: str, second: str) -> None:
    assert not reads(value, first, second)
