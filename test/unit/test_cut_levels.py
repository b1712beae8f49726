"""A kernel cut behind its first reductions computes what it did: one makes these, one the rest."""

from __future__ import annotations

import numpy as np
import pytest
from kernels_harness import Kernel, kernels_of, module_of, run
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.kernels.facts import Body
from tilewright.passes.reductions.cut_levels import cut
from tilewright.passes.reductions.parts_of_sums import Splittable
from tilewright.passes.reductions.split_kernels import put_in_place

CENTRED: Kernel = (
    "4, 6",
    """%c = arith.constant 6.0 : f32
      %0 = load x[d0, d1]
      %1 = tk.reduce add %0 over [1] : f32
      %2 = arith.divf %1, %c : f32
      %3 = arith.subf %0, %2 : f32
      store %3, p[d0, d1]""",
)
WITH_MEAN: Kernel = (CENTRED[0], CENTRED[1] + "\n store %2, m[d0]")
VARIANCE: Kernel = (
    CENTRED[0],
    CENTRED[1].replace("store %3, p[d0, d1]", "")
    + """%4 = arith.mulf %3, %3 : f32
      %5 = tk.reduce add %4 over [1] : f32
      %6 = load w[d0]
      %7 = arith.mulf %5, %6 : f32
      store %7, m[d0]""",
)
COLUMNS: Kernel = (
    "4, 6",
    """%0 = load x[d0, d1]
      %1 = tk.reduce max %0 over [0] : f32
      %2 = arith.subf %0, %1 : f32
      store %2, p[d0, d1]""",
)
OF_SPREAD: Kernel = (CENTRED[0], CENTRED[1] + "\n store %2, q[d1, d0]")
"""The mean is stored for each element, turned: where it is read again is not where it was stored."""
TENSORS = {"x": "f32 4, 6", "w": "f32 4", "p": "f32 4, 6", "m": "f32 4", "q": "f32 6, 4"}
CASES = {
    "centred": (CENTRED, "p"),
    "and its mean": (WITH_MEAN, "p m"),
    "variance": (VARIANCE, "m"),
    "columns": (COLUMNS, "p"),
    "spread": (OF_SPREAD, "p q"),
}


def cut_in_two(name: str) -> tuple[ModuleOp, KernelOp, KernelOp]:
    body, returned = CASES[name]
    module = module_of(TENSORS, [body], returned)
    (kernel,) = kernels_of(module)
    early = next(op for op in kernel.body.block.ops if isinstance(op, Splittable))
    first, second, results = cut(kernel, Body.of(kernel.body.block), (early,))
    put_in_place(kernel, first, second, results)
    module.verify()
    return module, first, second


@pytest.mark.parametrize("name", CASES)
def test_what_is_computed_stays(name: str) -> None:
    module, _, _ = cut_in_two(name)
    body, returned = CASES[name]
    for found, wanted in zip(run(module), run(module_of(TENSORS, [body], returned)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "first_stores", "second_stores"),
    [
        ("centred", 1, 1),
        ("and its mean", 1, 1),  # the mean itself, not the sum besides
        ("variance", 1, 1),
        ("columns", 1, 1),
        ("spread", 1, 2),
    ],
)
def test_what_is_made_of_the_reduction_alone_is_stored_with_it(
    name: str, first_stores: int, second_stores: int
) -> None:
    _, first, second = cut_in_two(name)
    assert (len(first.results), len(second.results)) == (first_stores, second_stores)


def test_reduced_axes_come_last() -> None:
    """Those of a sum of columns come first in the kernel that has it."""
    _, first, second = cut_in_two("columns")
    assert [str(size) for size in first.space] == ["6", "4"]
    assert [str(size) for size in second.space] == ["4", "6"]
