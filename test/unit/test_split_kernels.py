"""Parts of a reduction, and the kernel that reduces them, compute what one kernel did."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from kernels_harness import Kernel, kernels_of, module_of, run
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.index_expr import as_expr
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.kernels.facts import Body
from tilewright.passes.reductions.parts_of_sums import Split, Splittable
from tilewright.passes.reductions.split_kernels import split

SUM: Kernel = ("3, 10", "%0 = load x[d0, d1]\n%1 = tk.reduce add %0 over [1] : f32\nstore %1, r[d0]")
LARGEST: Kernel = (SUM[0], SUM[1].replace("add", "max"))
EXPONENTIAL: Kernel = (
    "3, 10",
    """%0 = load x[d0, d1]
      %1 = math.exp %0 : f32
      %2 = tk.reduce mul %1 over [1] : f32
      %3 = load w[d0]
      %4 = arith.addf %2, %3 : f32
      store %4, r[d0]""",
)
BESIDE: Kernel = (SUM[0], SUM[1] + "\n%2 = math.exp %0 : f32\nstore %2, p[d0, d1]")
MASKED: Kernel = (
    "3, 10",
    """%t = arith.constant 7 : i64
      %j = tk.index "d1" : i64
      %in = arith.cmpi slt, %j, %t : i64
      %n = arith.constant 2.5 : f32
      %0 = load x[d0, d1] if %in else %n
      %1 = tk.reduce add %0 over [1] : f32
      store %1, r[d0]""",
)
MOMENTS: Kernel = (
    "3, 10",
    """%one = arith.constant 1.0 : f32
      %nil = arith.constant 0.0 : f32
      %0 = load x[d0, d1]
      %m, %s, %n = tk.moments %0, %nil, %one over [1] : f32
      store %n, r[d0]
      store %m, a[d0]
      store %s, b[d0]""",
)
TENSORS = {n: "f32 3" for n in "rwab"} | {"x": "f32 3, 10", "p": "f32 3, 10"}
CASES = {
    "sum": (SUM, "r"),
    "largest": (LARGEST, "r"),
    "and what follows": (EXPONENTIAL, "r"),
    "stored beside": (BESIDE, "r p"),
    "masked": (MASKED, "r"),
    "moments": (MOMENTS, "r a b"),
}


def in_parts(name: str, count: int) -> tuple[ModuleOp, KernelOp, KernelOp]:
    body, returned = CASES[name]
    module = module_of(TENSORS, [body], returned)
    (kernel,) = kernels_of(module)
    ops = [*kernel.body.block.ops]
    reductions = tuple(op for op in ops if isinstance(op, Splittable))
    length = -(-10 // count)
    plan = Split(reductions, 1, (0,), (), as_expr(count), as_expr(length), even=10 % count == 0)
    if name == "stored beside":
        plan = replace(plan, beside=tuple(op for op in ops if isinstance(op, StoreOp))[-1:])
    first, second = split(kernel, Body.of(kernel.body.block), plan)
    module.verify()
    return module, first, second


@pytest.mark.parametrize("count", [2, 3, 4, 5])
@pytest.mark.parametrize("name", CASES)
def test_what_is_computed_stays(name: str, count: int) -> None:
    body, returned = CASES[name]
    module, _, _ = in_parts(name, count)
    for found, wanted in zip(run(module), run(module_of(TENSORS, [body], returned)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("count", "masked"), [(5, False), (3, True)])
def test_parts_beyond_the_end_are_masked(count: int, masked: bool) -> None:
    _, first, _ = in_parts("stored beside", count)
    lines = str(first)
    assert bool(re.search(r"tk.load .* if ", lines)) == masked
    assert bool(re.search(r"tk.store .*d0.* if ", lines)) == masked


def test_how_many_numbers_equal_parts_have_is_not_handed_on() -> None:
    assert len(in_parts("moments", 5)[1].results) == 2
    assert len(in_parts("moments", 3)[1].results) == 3


def test_the_part_is_the_first_dimension_of_what_is_handed_on() -> None:
    _, first, second = in_parts("and what follows", 5)
    assert str(first.results[0].type) == "tensor<5x3xf32>"
    assert [str(size) for size in second.space] == ["3", "5"]
