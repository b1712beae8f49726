"""A kernel divided into what reduces rows, and what makes the rest of them, computes what it did."""

from __future__ import annotations

import numpy as np
import pytest
from kernels_harness import Kernel, kernels_of, module_of, run
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.kernels.facts import Body
from tilewright.passes.reductions.split_kernels import put_in_place
from tilewright.passes.reductions.statistics_of_rows import divided, statistics_of

SOFTMAX: Kernel = (
    "4, 6",
    """%0 = load x[d0, d1]
      %1 = tk.reduce max %0 over [1] : f32
      %2 = arith.subf %0, %1 : f32
      %3 = math.exp %2 : f32
      %4 = tk.reduce add %3 over [1] : f32
      %5 = arith.divf %3, %4 : f32
      store %5, p[d0, d1]
      store %1, m[d0]""",
)
SCALED: Kernel = (
    "4, 6",
    """%0 = load x[d0, d1]
      %1 = tk.reduce add %0 over [1] : f32
      %2 = load w[d0]
      %3 = arith.mulf %1, %2 : f32
      %4 = arith.mulf %0, %3 : f32
      store %4, p[d0, d1]
      store %3, m[d0]""",
)
RUNNING: Kernel = (
    "4, 6",
    """%0 = load x[d0, d1]
      %1 = tk.scan add %0 along 1 : f32
      %2 = arith.mulf %0, %1 : f32
      store %2, p[d0, d1]
      store %0, q[d0, d1]""",
)
FIRST_OF_EACH: Kernel = (
    "4, 6",
    """%0 = load x[d0, d1]
      %i = tk.index "d1" : i64
      %1, %2 = tk.argreduce max %0 at %i over [1] : f32
      %4 = arith.sitofp %2 : i64 to f32
      %5 = arith.mulf %0, %4 : f32
      store %5, p[d0, d1]
      store %1, m[d0]""",
)
TENSORS = {"x": "f32 4, 6", "w": "f32 4", "p": "f32 4, 6", "q": "f32 4, 6", "m": "f32 4"}
CASES = {"softmax": (SOFTMAX, "p m"), "scaled": (SCALED, "p m"), "positions": (FIRST_OF_EACH, "p m")}


def taken(body: Kernel, returned: str) -> tuple[ModuleOp, KernelOp, list[StoreOp], list[SSAValue] | str]:
    """The stores of `p`, and what they need of reductions."""
    module = module_of(TENSORS, [body], returned)
    (kernel,) = kernels_of(module)
    stores = [op for op in kernel.body.block.ops if isinstance(op, StoreOp)][:1]
    return module, kernel, stores, statistics_of(Body.of(kernel.body.block), stores)


def in_two(name: str) -> tuple[ModuleOp, KernelOp, KernelOp]:
    body, returned = CASES[name]
    module, kernel, stores, found = taken(body, returned)
    assert not isinstance(found, str)
    first, second = divided(kernel, Body.of(kernel.body.block), stores, found)
    put_in_place(kernel, first, second, [second.results[0], first.results[0]])
    module.verify()
    return module, first, second


@pytest.mark.parametrize("name", CASES)
def test_what_is_computed_stays(name: str) -> None:
    body, returned = CASES[name]
    for found, wanted in zip(run(in_two(name)[0]), run(module_of(TENSORS, [body], returned)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize(("name", "handed_on"), [("softmax", 2), ("scaled", 1), ("positions", 2)])
def test_what_is_stored_anyway_is_read_from_there(name: str, handed_on: int) -> None:
    """The largest of each row, or the sum times `w`; of a position, the number that it is."""
    _, first, second = in_two(name)
    assert len(first.results) == handed_on
    assert {value.owner for value in second.operands} >= {first}


def test_running_sums_are_no_statistics() -> None:
    *_, found = taken(RUNNING, "p q")
    assert found == "more than elementwise ops lie behind what is reduced"
