"""Which reductions are worth parts, and into how many: numbers of 256 programs at a time."""

from __future__ import annotations

import pytest
from kernels_harness import Kernel, kernels_of, module_of

from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.kernels.facts import Body
from tilewright.passes.reductions.parts_of_sums import (
    Split,
    first_reductions,
    reduces_in_parts,
    split_of,
    stores_beside,
)

PROGRAMS = 256


def kernel_of(body: Kernel, tensors: dict[str, str], returned: str = "r") -> KernelOp:
    (kernel,) = kernels_of(module_of(tensors, [body], returned))
    return kernel


def sum_of_rows(rows: str, length: str) -> KernelOp:
    body = "%0 = load x[d0, d1]\n%1 = tk.reduce add %0 over [1] : f32\nstore %1, r[d0]"
    return kernel_of((f"{rows}, {length}", body), {"x": f"f32 {rows}, {length}", "r": f"f32 {rows}"})


def sum_of_columns(rows: str, columns: str) -> KernelOp:
    body = "%0 = load x[d0, d1]\n%1 = tk.reduce add %0 over [0] : f32\nstore %1, r[d1]"
    return kernel_of((f"{rows}, {columns}", body), {"x": f"f32 {rows}, {columns}", "r": f"f32 {columns}"})


def plan_of(kernel: KernelOp) -> Split | str:
    return split_of(kernel, Body.of(kernel.body.block), PROGRAMS)


@pytest.mark.parametrize(
    ("rows", "length", "count"),
    [
        ("1", "1048576", 256),
        ("1", "1000000", 250),  # parts of 4000, which begin aligned
        ("1", "131072", 32),  # 4096 each
        ("8", "131072", 32),
        ("1", "999983", 256),  # a prime: the last part is shorter
        ("1", "s0", 64),
    ],
)
def test_rows_become_parts(rows: str, length: str, count: int) -> None:
    plan = plan_of(sum_of_rows(rows, length))
    assert isinstance(plan, Split)
    assert (plan.axis, plan.kept, plan.count.constant) == (1, (0,), count)
    assert plan.even == (length.isdigit() and int(length) % count == 0)


@pytest.mark.parametrize(
    ("rows", "length", "why"),
    [
        ("1", "131071", "it is short"),
        ("129", "4096", "129 programs keep a GPU busy"),
        ("100", "4096", "100 programs reduce 4096 elements each before others have started"),
    ],
)
def test_rows_that_stay(rows: str, length: str, why: str) -> None:
    assert plan_of(sum_of_rows(rows, length)) == why


@pytest.mark.parametrize(("rows", "columns", "count"), [("65536", "64", 128), ("100000", "33", 125)])
def test_columns_are_summed_side_by_side(rows: str, columns: str, count: int) -> None:
    plan = plan_of(sum_of_columns(rows, columns))
    assert isinstance(plan, Split)
    assert (plan.axis, plan.kept, plan.count.constant) == (0, (1,), count)


VARIANCE = """%0 = load x[d0, d1]
  %1 = tk.reduce add %0 over [1] : f32
  %2 = arith.subf %0, %1 : f32
  %3 = arith.mulf %2, %2 : f32
  %4 = tk.reduce add %3 over [1] : f32
  store %4, r[d0]"""
BESIDE = "%0 = load x[d0, d1]\n%1 = tk.reduce add %0 over [1] : f32\nstore %1, r[d0]\nstore %0, p[d0, d1]"
BEHIND = BESIDE.replace("store %0", "%2 = arith.subf %0, %1 : f32\nstore %2")
OF_TWO = BESIDE.replace(
    "store %0", "%2 = tk.reduce max %0 over [0, 1] : f32\n%3 = arith.subf %0, %2 : f32\nstore %3"
)
RUNNING = BESIDE.replace("store %0", "%2 = tk.scan add %0 along 1 : f32\nstore %2")
WIDE = {"x": "f32 1, 1048576", "r": "f32 1", "p": "f32 1, 1048576"}


@pytest.mark.parametrize(
    ("body", "returned", "levels"),
    [
        (VARIANCE, "r", 1),
        (BESIDE, "r p", None),
        (BEHIND, "r p", 1),
        (OF_TWO, "r p", "its reductions are over different axes"),
        (RUNNING, "r p", "positions and running values are not combined from parts"),
    ],
    ids=["variance", "stored beside", "stored behind", "of two", "running"],
)
def test_where_a_kernel_is_cut(body: str, returned: str, levels: int | str | None) -> None:
    """Behind its first reductions where more is done along their axes; not where parts do it as they go."""
    kernel = kernel_of(("1, 1048576", body), WIDE, returned)
    found = first_reductions(kernel, Body.of(kernel.body.block), PROGRAMS)
    assert (len(found) if isinstance(found, tuple) else found) == levels
    assert reduces_in_parts(kernel, PROGRAMS) == (not isinstance(levels, str))


def test_what_parts_store_as_they_go() -> None:
    for body, count in ((BESIDE, 1), (BEHIND, None)):
        kernel = kernel_of(("1, 1048576", body), WIDE, "r p")
        found = stores_beside(kernel, Body.of(kernel.body.block), frozenset({1}))
        assert (found if found is None else len(found)) == count


def product(rows: int, columns: int, length: int, element: str = "bf16") -> KernelOp:
    wide = element if element == "f32" else "f32"
    body = f"""%0 = load x[d0, d2]
      %1 = load y[d1, d2]
      %2 = arith.extf %0 : {element} to {wide}
      %3 = arith.extf %1 : {element} to {wide}
      %4 = arith.mulf %2, %3 : f32
      %5 = tk.reduce add %4 over [2] : f32
      store %5, r[d0, d1]"""
    if element == wide:
        body = body.replace("arith.extf", "math.absf").replace(" to f32", "")
    tensors = {"x": f"{element} {rows}, {length}", "y": f"{element} {columns}, {length}"}
    return kernel_of((f"{rows}, {columns}, {length}", body), tensors | {"r": f"f32 {rows}, {columns}"})


@pytest.mark.parametrize(
    ("sizes", "count"),
    [((64, 64, 16384), 64), ((16, 512, 8192), 8), ((128, 128, 4096), 16)],
)
def test_few_tiles_and_a_long_sum_are_split(sizes: tuple[int, int, int], count: int) -> None:
    plan = plan_of(product(*sizes))
    assert isinstance(plan, Split)
    assert (plan.axis, plan.count.constant, plan.even) == (2, count, True)


@pytest.mark.parametrize(
    ("sizes", "element", "why"),
    [
        ((4096, 4096, 4096), "bf16", "4096 tiles with sums of 4096 keep a GPU busy"),
        ((64, 64, 256), "bf16", "a sum of 256 products is short"),
        ((64, 64, 16383), "bf16", "1 tiles with sums of 16383 keep a GPU busy"),
        ((64, 64, 16384), "f32", "products of f32 are left as they are"),
    ],
    ids=["many tiles", "short", "odd", "f32"],
)
def test_products_that_stay(sizes: tuple[int, int, int], element: str, why: str) -> None:
    assert plan_of(product(*sizes, element)) == why
