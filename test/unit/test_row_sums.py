"""Sums over rows and columns become sums of rows and a kernel that adds these up, to the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from kernels_harness import kernels_of, module_of, run
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr

from tilewright.dialects.index_expr import format_exprs
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.products.row_sums import Sums, sum_rows_first, sums_of

TENSORS = {
    **{
        "x": "f32 3, 4, 5",
        "y": "f32 5, 3, 4",
        "c": "f32 3",
        "w": "f32 3, 4",
        "i": "i64 3",
        "b": "bf16 3, 4, 5",
    },
    **{"t": "f32 3", "u": "f32 3", "p": "f32 3, 4, 5", "q": "f32 3, 4, 5", "v": "f32 3, 4", "h": "bf16 3"},
}
SUM = "%0 = load x[d0, d1, d2]\n%1 = tk.reduce add %0 over [1, 2] : f32\n"
STORED = f"{SUM}store %1, t[d0]\n"
SUMS = {
    # body, what it makes, which of these need no sum
    "of all rows and columns": (STORED, "t", ""),
    "computed with": (f"{SUM}%2 = load c[d0]\n%3 = arith.mulf %1, %2 : f32\nstore %3, t[d0]", "t", ""),
    "two, one of a product": (
        f"""{SUM}%2 = load y[d2, d0, d1]
        %3 = arith.mulf %0, %2 : f32
        %4 = tk.reduce add %3 over [1, 2] : f32
        %5 = arith.subf %1, %4 : f32
        store %5, t[d0]
        store %4, u[d0]""",
        "t u",
        "",
    ),
    "beside what needs none": (
        f"%9 = load c[d0]\n{SUM}%3 = arith.mulf %0, %9 : f32\nstore %3, p[d0, d1, d2]\n"
        "%4 = arith.mulf %1, %9 : f32\nstore %4, t[d0]\nstore %0, q[d0, d1, d2]",
        "p t q",
        "p q",
    ),
    "beside rows": (f"{STORED}%2 = load w[d0, d1]\nstore %2, v[d0, d1]", "t v", "v"),
    "of what does not vary over columns": (
        "%0 = load w[d0, d1]\n%1 = tk.reduce add %0 over [1, 2] : f32\nstore %1, t[d0]",
        "t",
        "",
    ),
}


def parsed(body: str, made: str = "t") -> tuple[ModuleOp, KernelOp]:
    module = module_of(TENSORS, [("3, 4, 5", body)], made)
    (kernel,) = kernels_of(module)
    kernel.attributes["tk.name"] = StringAttr("scale")
    return module, kernel


def found_in(kernel: KernelOp) -> Sums:
    found = sums_of(kernel)
    assert found is not None
    return found


@pytest.mark.parametrize(("body", "made", "beside"), SUMS.values(), ids=SUMS)
def test_what_a_kernel_adds_up(body: str, made: str, beside: str) -> None:
    _, kernel = parsed(body, made)
    found = found_in(kernel)
    assert found.over == {1, 2}
    assert list(found.reductions) == [op for op in kernel.body.block.ops if isinstance(op, ReduceOp)]
    results = dict(zip(kernel.destinations, kernel.results, strict=True))
    assert [results[store.buffer].name_hint for store in found.beside] == beside.split()


OTHER = {
    "nothing is added up": "%0 = load c[d0]\nstore %0, t[d0]",
    "an extreme": "%0 = load x[d0, d1, d2]\n%1 = tk.reduce max %0 over [1, 2] : f32\nstore %1, t[d0]",
    "an extreme, too": f"{STORED}%2 = tk.reduce max %0 over [1, 2] : f32\nstore %2, u[d0]",
    "a running sum, too": f"{STORED}%2 = tk.scan add %0 along 2 : f32\nstore %2, p[d0, d1, d2]",
    "of halves": "%0 = load b[d0, d1, d2]\n%1 = tk.reduce add %0 over [1, 2] : bf16\nstore %1, h[d0]",
    "along other axes, too": (
        f"%3 = load y[d2, d0, d1]\n%2 = tk.reduce add %3 over [2] : f32\nstore %2, v[d0, d1]\n{STORED}"
    ),
    "of what has met a sum": (
        f"{SUM}%2 = arith.subf %0, %1 : f32\n%3 = tk.reduce add %2 over [1, 2] : f32\nstore %3, t[d0]"
    ),
    "for each element": f"{SUM}%2 = arith.subf %0, %1 : f32\nstore %2, p[d0, d1, d2]",
    "for each row": f"{SUM}store %1, v[d0, d1]",
    "for each element, without a place of its own": f"{SUM}store %1, t[d0] over [2]",
    "stored at loaded places": (
        f"{SUM}%2 = load i[d0]\n%3 = arith.index_cast %2 : i64 to index\nstore %1, t[i0](%3) combine add"
    ),
    "the same all along what is left": (
        "%0 = load x[0, d1, d2]\n%1 = tk.reduce add %0 over [1, 2] : f32\nstore %1, t[d0]"
    ),
    "checked": f'{STORED}%2 = arith.cmpf olt, %1, %1 : f32\ntk.assert %2 "too much" : i1',
}


@pytest.mark.parametrize("body", OTHER.values(), ids=OTHER)
def test_kernels_that_do_more_are_none(body: str) -> None:
    made = dict.fromkeys(word for word in ("t", "u", "p", "v", "h") if f", {word}[" in body)
    _, kernel = parsed(body, " ".join(made))
    assert sums_of(kernel) is None


def test_sums_with_a_note_are_none() -> None:
    _, kernel = parsed(STORED)
    (reduction,) = found_in(kernel).reductions
    reduction.attributes["tk.factors"] = UnitAttr()
    assert sums_of(kernel) is None


@pytest.mark.parametrize("column", [1, 2])
@pytest.mark.parametrize(("body", "made", "beside"), SUMS.values(), ids=SUMS)
def test_rows_are_added_up_after_columns(body: str, made: str, beside: str, column: int) -> None:
    module, kernel = parsed(body, made)
    before, sums = run(module), found_in(kernel)
    two = sum_rows_first(kernel, sums, column)
    module.verify()
    assert kernels_of(module) == [two.rows, two.rest]
    assert [format_exprs(each.space) for each in (two.rows, two.rest)] == [
        "3, 4, 5",
        {1: "3, 5", 2: "3, 4"}[column],
    ]
    assert [over(two.rows), over(two.rest)] == [
        [(column,)] * len(sums.reductions),
        [(1,)] * len(sums.reductions),
    ]
    assert [result.name_hint for result in two.results] == made.split()
    assert [result.name_hint for result in two.results if result.owner is two.rows] == beside.split()
    assert len(two.rows.results) == len(sums.reductions) + len(beside.split())
    names = [each.attributes["tk.name"] for each in (two.rows, two.rest)]
    assert names == [StringAttr("scale-rows"), StringAttr("scale")]
    for old, new in zip(before, run(module), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-5)


def over(kernel: KernelOp) -> list[tuple[int, ...]]:
    return [op.over for op in kernel.body.block.ops if isinstance(op, ReduceOp)]


def test_each_kernel_reads_what_it_needs() -> None:
    body, made, _ = SUMS["computed with"]
    _, kernel = parsed(body, made)
    two = sum_rows_first(kernel, found_in(kernel), 2)
    assert [operand.name_hint for operand in two.rows.operands] == ["x"]
    assert [operand.name_hint for operand in two.rest.operands][1:] == ["c"]
    assert not kernel.operands


def test_axes_before_rows_and_columns_are_renamed() -> None:
    sums = "%0 = load x[d1, d0, d2]\n%1 = tk.reduce add %0 over [0, 2] : f32\nstore %1, t[2 - d1]"
    module = module_of(TENSORS, [("4, 3, 5", sums)], "t")
    (kernel,), before = kernels_of(module), run(module)
    two = sum_rows_first(kernel, found_in(kernel), 0)
    (store,) = (op for op in two.rest.body.block.ops if isinstance(op, StoreOp))
    assert format_exprs(store.subscripts) == "-d0 + 2"
    for old, new in zip(before, run(module), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-5)


@pytest.mark.parametrize(("body", "made", "beside"), SUMS.values(), ids=SUMS)
def test_it_can_be_undone(body: str, made: str, beside: str) -> None:
    module, kernel = parsed(body, made)
    text = str(module)
    two = sum_rows_first(kernel, found_in(kernel), 2)
    assert bool(beside) == any(result.owner is two.rows for result in two.results)
    two.undo()
    assert str(module) == text
    assert kernels_of(module) == [kernel]
