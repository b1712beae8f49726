"""Kernels that walk the rows whose columns another one sums: which they are, and what moves behind them."""

from __future__ import annotations

import numpy as np
import pytest
from kernels_harness import Kernel, kernels_of, module_of, run

from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.reductions.same_rows import later_of, readers_of_rows, walk_as_it_lies

COLUMNS: Kernel = (
    "64, 32",
    "%0 = load x[d0, d1]\n%1 = tk.reduce add %0 over [0] : f32\nstore %1, c[d1]",
)
MAKER: Kernel = ("64, 32", "%0 = load x[d0, d1]\n%1 = math.exp %0 : f32\nstore %1, p[d0, d1]")
CUT: Kernel = (
    "64, 8, 4",
    "%0 = load x[d0, d1*4 + d2]\n%1 = math.exp %0 : f32\nstore %1, p[d0, d1*4 + d2]",
)
TURNED: Kernel = ("32, 64", "%0 = load x[d1, d0]\n%1 = math.exp %0 : f32\nstore %1, q[d0, d1]")
ELSEWHERE: Kernel = ("64, 32", "%0 = load x[-d0 + 63, d1]\n%1 = math.exp %0 : f32\nstore %1, p[d0, d1]")
OF_IT: Kernel = (
    "64, 32",
    """%0 = load x[d0, d1]
      %1 = load c[d1]
      %2 = arith.subf %0, %1 : f32
      store %2, p[d0, d1]""",
)
PRODUCT: Kernel = (
    "64, 16, 32",
    """%0 = load x[d0, d2]
      %1 = load y[d1, d2]
      %2 = arith.mulf %0, %1 : f32
      %3 = tk.reduce add %2 over [2] : f32
      store %3, z[d0, d1]""",
)
WITH_MORE: Kernel = (
    "64, 32",
    """%0 = load x[d0, d1]
      %1 = load u[d0, d1]
      %2 = load v[d0, d1]
      %3 = arith.mulf %0, %1 : f32
      %4 = arith.mulf %3, %2 : f32
      %5 = tk.reduce add %4 over [0] : f32
      store %5, c[d1]""",
)
TENSORS = {name: "f32 64, 32" for name in "xuvp"} | {
    "q": "f32 32, 64",
    "c": "f32 32",
    "y": "f32 16, 32",
    "z": "f32 64, 16",
}


def near(*bodies: Kernel, returned: str = "c p") -> tuple[KernelOp, list[KernelOp]]:
    """The kernel that sums columns, and the others."""
    kernels = kernels_of(module_of(TENSORS, bodies, returned))
    (which,) = (i for i, body in enumerate(bodies) if body in (COLUMNS, WITH_MORE))
    return kernels[which], [kernel for i, kernel in enumerate(kernels) if i != which]


@pytest.mark.parametrize("bodies", [(COLUMNS, MAKER), (MAKER, COLUMNS)], ids=["before", "behind"])
def test_one_that_reads_the_same_rows_is_found(bodies: tuple[Kernel, Kernel]) -> None:
    kernel, (maker,) = near(*bodies)
    ((found, where),) = readers_of_rows(kernel)
    assert found is maker
    assert [str(e) for e in where] == ["d0", "d1"]


def test_an_axis_of_the_other_may_be_cut() -> None:
    kernel, (maker,) = near(COLUMNS, CUT)
    before = str(kernel)
    ((found, where),) = readers_of_rows(kernel)
    assert found is maker
    assert [str(e) for e in where] == ["d0", "d1*4 + d2"]
    assert str(kernel) == before


@pytest.mark.parametrize(
    ("bodies", "returned"),
    [
        ((COLUMNS, TURNED), "c q"),
        ((COLUMNS, ELSEWHERE), "c p"),
        ((COLUMNS, OF_IT), "p"),
        ((COLUMNS, PRODUCT), "c z"),
        ((WITH_MORE, MAKER), "c p"),  # of three tensors it reads one
    ],
    ids=["turned", "other rows", "needs the sums", "product", "little of what it reads"],
)
def test_others_are_not(bodies: tuple[Kernel, Kernel], returned: str) -> None:
    kernel, _ = near(*bodies, returned=returned)
    assert readers_of_rows(kernel) == []


def test_axes_are_put_as_memory_lies_and_back() -> None:
    module = module_of(TENSORS, [TURNED], "q")
    (kernel,) = kernels_of(module)
    before, numbers = str(kernel), run(module)
    restore = walk_as_it_lies(kernel)
    assert restore is not None
    assert [str(size) for size in kernel.space] == ["64", "32"]
    assert all(map(np.array_equal, numbers, run(module)))
    restore()
    assert str(kernel) == before


def test_axes_that_lie_so_stay() -> None:
    kernel, (maker,) = near(COLUMNS, MAKER)
    assert walk_as_it_lies(kernel) is walk_as_it_lies(maker) is None


@pytest.mark.parametrize("bodies", [(COLUMNS, MAKER), (MAKER, COLUMNS)], ids=["before", "behind"])
def test_what_stands_behind_both(bodies: tuple[Kernel, Kernel]) -> None:
    kernel, (maker,) = near(*bodies)
    behind, waiting = later_of(kernel, maker)
    assert behind is (maker.next_op if bodies[0] is COLUMNS else kernel)
    assert [*waiting] == []
