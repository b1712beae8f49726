"""What each axis of a function is for: which of them a GPU schedule makes one."""

from __future__ import annotations

import pytest
from tk_harness import parse

from tilewright.dialects.tk.kernels import FuncOp
from tilewright.passes.schedule.roles import contiguous_axis, groups_of, matrix_products, transposed_axes

ROW = "%0 = tk.load %x[d0*6 + d1] : memref<240xf32> -> f32\n"
CASES: dict[str, tuple[str, str, list[tuple[str, tuple[int, ...]]]]] = {
    "elementwise": (
        "4, 6",
        ROW + "tk.store %0, %o[d0*6 + d1] : f32, memref<240xf32>",
        [("parallel", (0, 1))],
    ),
    "slowest first": (
        "4, 6",
        "%0 = tk.load %x[d0 + d1*4] : memref<240xf32> -> f32\n"
        "tk.store %0, %o[d0 + d1*4] : f32, memref<240xf32>",
        [("parallel", (1, 0))],
    ),
    "two effects": (
        "4, 6",
        ROW + "tk.store %0, %o[d0*6 + d1] : f32, memref<240xf32>\n"
        "%1 = tk.load %x[d0] : memref<240xf32> -> f32\ntk.store %1, %p[d0] : f32, memref<240xf32>",
        [("parallel", (0,)), ("parallel", (1,))],
    ),
    "rows": (
        "4, 6",
        ROW + "%1 = tk.reduce add %0 over [1] : f32\ntk.store %1, %o[d0] : f32, memref<240xf32>",
        [("parallel", (0,)), ("reduced", (1,))],
    ),
    "all": (
        "4, 6",
        ROW + "%1 = tk.reduce add %0 over [0, 1] : f32\ntk.store %1, %o[0] : f32, memref<240xf32>",
        [("reduced", (0, 1))],
    ),
    "one after the other": (
        "4, 6",
        ROW + "%1 = tk.reduce max %0 over [1] : f32\n%2 = tk.reduce add %1 over [0] : f32\n"
        "tk.store %2, %o[0] : f32, memref<240xf32>",
        [("reduced", (0,)), ("reduced", (1,))],
    ),
    "all, stored for each column": (
        "4, 6",
        ROW + "%1 = tk.reduce add %0 over [0, 1] : f32\ntk.store %1, %o[d1] : f32, memref<240xf32>",
        [("reduced", (0, 1))],
    ),
    "all, added to each column": (
        "4, 6",
        ROW
        + "%1 = tk.reduce add %0 over [0, 1] : f32\ntk.store %1, %o[d1] combine add : f32, memref<240xf32>",
        [("reduced", (0,)), ("reduced", (1,))],
    ),
    "all, added to each element": (
        "4, 6",
        ROW + "%1 = tk.reduce add %0 over [0, 1] : f32\n"
        "tk.store %1, %o[d0*6 + d1] combine add : f32, memref<240xf32>",
        [("reduced", (0, 1))],
    ),
    "scanned": (
        "4, 6",
        ROW + "%1 = tk.scan add %0 along 1 : f32\ntk.store %1, %o[d0*6 + d1] : f32, memref<240xf32>",
        [("parallel", (0,)), ("scanned", (1,))],
    ),
    "product": (
        "2, 4, 6, 5",
        """%0 = tk.load %x[d0*20 + d1*5 + d3] : memref<240xf32> -> f32
          %1 = tk.load %p[d3*6 + d2] : memref<240xf32> -> f32
          %2 = arith.mulf %0, %1 : f32
          %3 = tk.reduce add %2 over [3] : f32
          tk.store %3, %o[d0*24 + d1*6 + d2] : f32, memref<240xf32>""",
        [("rows", (0, 1)), ("columns", (2,)), ("sum", (3,))],
    ),
}


def function(sizes: str, body: str) -> FuncOp:
    buffers = ", ".join(f"%{name}: memref<240xf32>" for name in "xpo")
    func = parse(f"tk.func @f [{sizes}] ({buffers}) {{{body}}}").body.block.first_op
    assert isinstance(func, FuncOp)
    return func


@pytest.mark.parametrize("name", CASES)
def test_axes_of_one_role_are_together(name: str) -> None:
    sizes, body, groups = CASES[name]
    assert [(group.role, group.axes) for group in groups_of(function(sizes, body))] == groups


def test_a_product_without_tiles_is_a_sum() -> None:
    func = function(*CASES["product"][:2])
    assert len(matrix_products(func)) == 1
    assert [group.role for group in groups_of(func, tiled=False)][-1] == "reduced"


@pytest.mark.parametrize(
    ("sizes", "load"),
    [("20, 12", "d0 + d1*20"), ("15, 16", "d0 + d1*15"), ("16, 15", "d0*15 + d1")],
    ids=["few columns", "few rows", "not turned"],
)
def test_what_is_no_transpose(sizes: str, load: str) -> None:
    columns = sizes.split(", ")[1]
    body = f"""%0 = tk.load %x[{load}] : memref<240xf32> -> f32
      tk.store %0, %o[d0*{columns} + d1] : f32, memref<240xf32>"""
    assert transposed_axes(function(sizes, body))[0] is None


def test_a_transpose_has_an_axis_for_each_side() -> None:
    body = """%0 = tk.load %x[d0 + d1*20] : memref<400xf32> -> f32
      tk.store %0, %o[d0*20 + d1] : f32, memref<400xf32>"""
    func = parse(
        f"tk.func @f [20, 20] (%x: memref<400xf32>, %o: memref<400xf32>) {{{body}}}"
    ).body.block.first_op
    assert isinstance(func, FuncOp)
    assert transposed_axes(func) == (0, 1)
    assert [(g.role, g.axes) for g in groups_of(func)] == [("across", (0,)), ("last", (1,))]
    load, store = func.body.block.ops
    assert (contiguous_axis(load), contiguous_axis(store)) == (0, 1)  # pyright: ignore[reportArgumentType]
