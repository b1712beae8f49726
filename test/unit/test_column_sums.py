"""Sums of columns: which kernels are such, and which of their rows one program sums."""

from __future__ import annotations

import pytest
from kernels_harness import Kernel, module_of

from tilewright.dialects.index_expr import parse_exprs
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.reductions.column_sums import (
    Part,
    Rows,
    has_many_columns,
    part_of,
    rows_held,
    summed_axes,
)

PROGRAMS = 128


def kernel_of(kernel: Kernel, stored: str, sizes: str = "") -> KernelOp:
    """A kernel that reads `x`, of its own sizes if no others are given, and stores `p`."""
    module = module_of({"x": f"f32 {sizes or kernel[0]}", "p": f"f32 {stored}"}, [kernel], "p")
    return next(op for op in module.walk() if isinstance(op, KernelOp))


def summing(sizes: str) -> KernelOp:
    """All axes of rows are summed, the last one has columns."""
    axes = range(sizes.count(",") + 1)
    columns = axes[-1]
    body = f"""%0 = load x[{", ".join(f"d{a}" for a in axes)}]
      %1 = tk.reduce add %0 over {[*axes[:-1]]} : f32
      store %1, p[d{columns}]"""
    return kernel_of((sizes, body), sizes.split(", ")[-1])


@pytest.mark.parametrize(
    ("sizes", "part"),
    [
        ("1024, 768", Part(0, 64)),
        ("1024, 64", Part(0, 8)),
        ("100, 768", Part(0, 4)),
        ("100, 1600", Part(0, 4)),
        ("16, 768", None),
        ("97, 768", None),
        ("2, 3, 768", None),
        ("s0, 768", None),
        ("0, 768", None),
        ("1024, 0", Part(0, 8)),
        ("30, 8, 8, 512", Part(0, 1, (1, 2))),
        ("30, 8, 4, 1024", Part(0, 2, (1, 2))),
        ("32, 7, 7, 512", Part(0, 32)),
        ("33, 7, 9, 512", Part(0, 1, (1, 2))),
        ("33, 4, 40, 512", Part(1, 1, (2,))),
    ],
)
def test_a_part_has_rows_that_lie_together(sizes: str, part: Part | None) -> None:
    kernel = summing(sizes)
    over = summed_axes(kernel)
    assert over == tuple(range(len(kernel.space) - 1))
    assert part_of(kernel, over, None, PROGRAMS) == part


@pytest.mark.parametrize(
    ("sizes", "rows", "part"),
    [
        ("1024, 768", Rows(768, 32), Part(0, 8)),
        ("8192, 768", Rows(768, 32), Part(0, 32)),
        ("8192, 768", Rows(8192, 32), Part(0, 32)),
        ("8190, 768", Rows(768, 32), Part(0, 30)),
        ("8192, 768", Rows(8193, 32), None),
        ("8192, 768", Rows(8192, 224), None),
        ("8192, 768", Rows(8192, 223), Part(0, 32)),
    ],
)
def test_programs_that_hold_rows_have_room_for_them(sizes: str, rows: Rows, part: Part | None) -> None:
    kernel = summing(sizes)
    assert part_of(kernel, (0,), rows, PROGRAMS) == part


NO_SUMS = {
    "neighbours are summed": ("6, 8", "%0 = load x[d1, d0]\n%1 = tk.reduce add %0 over [0] : f32", "8, 6"),
    "nothing is": ("6, 8", "%1 = load x[d0, d1]", ""),
    "sums of other axes": (
        "6, 4, 8",
        "%0 = load x[d0, d1, d2]\n%2 = tk.reduce add %0 over [0, 1] : f32\n"
        "%3 = load x[d0, 3, d2]\n%4 = tk.reduce add %3 over [0] : f32\n%1 = arith.addf %2, %4 : f32",
        "",
    ),
    "a sum of what its largest is subtracted from": (
        "6, 8",
        "%0 = load x[d0, d1]\n%2 = tk.reduce max %0 over [0] : f32\n"
        "%3 = arith.subf %0, %2 : f32\n%1 = tk.reduce add %3 over [0] : f32",
        "",
    ),
    "running sums beside": (
        "6, 8",
        "%0 = load x[d0, d1]\n%2 = tk.reduce add %0 over [0] : f32\n%1 = tk.scan add %2 along 1 : f32",
        "",
    ),
}


@pytest.mark.parametrize("what", NO_SUMS)
def test_what_is_no_sum_of_columns(what: str) -> None:
    sizes, body, read = NO_SUMS[what]
    along = {"nothing is": "d0, d1", "sums of other axes": "d2"}.get(what, "d1")
    stored = ", ".join(sizes.split(", ")[int(a[1])] for a in along.split(", "))
    kernel = kernel_of((sizes, f"{body}\nstore %1, p[{along}]"), stored, read)
    assert summed_axes(kernel) == ()


def test_parts_are_added_up_by_programs_of_columns() -> None:
    for sizes, many in (("9, 511", False), ("9, 512", True), ("9, s0", True), ("s0, 511", False)):
        kernel = summing(sizes)
        assert has_many_columns(kernel, (0,)) == many


def test_rows_are_held_where_they_are_reduced() -> None:
    body = """%0 = load x[d0, d1]
      %1 = tk.reduce max %0 over [1] : f32
      %2 = arith.subf %0, %1 : f32
      store %2, p[d0, d1]"""
    kernel = kernel_of(("6, 5", body), "6, 5")
    held = rows_held(kernel, parse_exprs("d0, d1"))
    assert held is not None
    assert held.held == 8
    assert rows_held(kernel, parse_exprs("d1, d0")) is None
    assert rows_held(kernel, ()) is None
