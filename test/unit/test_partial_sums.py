"""A reduction in two kernels, along some of its axes and then along the others, is the one that it was."""

from __future__ import annotations

import numpy as np
import pytest
from kernels_harness import Kernel, kernels_of, module_of, run
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.reductions.partial_sums import reduced_in_parts
from tilewright.passes.reductions.split_kernels import put_in_place

SUMS: Kernel = (
    "4, 6, 5",
    """%0 = load x[d0, d1, d2]
      %1 = tk.reduce add %0 over [1, 2] : f32
      %2 = math.exp %0 : f32
      %3 = tk.reduce max %2 over [1, 2] : f32
      %4 = load w[d0]
      %5 = arith.mulf %1, %4 : f32
      %6 = arith.addf %5, %3 : f32
      store %6, p[d0]""",
)
TENSORS = {"x": "f32 4, 6, 5", "w": "f32 4", "p": "f32 4"}


def divided(inside: tuple[int, ...]) -> tuple[ModuleOp, KernelOp, KernelOp]:
    module = module_of(TENSORS, [SUMS], "p")
    (kernel,) = kernels_of(module)
    parts, rest = reduced_in_parts(kernel, inside)
    put_in_place(kernel, parts, rest, rest.results)
    module.verify()
    return module, parts, rest


@pytest.mark.parametrize("inside", [(1,), (2,), (1, 2)], ids=str)
def test_what_is_computed_stays(inside: tuple[int, ...]) -> None:
    module, _, _ = divided(inside)
    whole = run(module_of(TENSORS, [SUMS], "p"))
    for found, wanted in zip(run(module), whole, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def over(kernel: KernelOp) -> list[tuple[int, ...]]:
    return [op.over for op in kernel.body.block.ops if isinstance(op, ReduceOp)]


@pytest.mark.parametrize(
    ("inside", "stored", "left"),
    [((1,), ["4", "5"], [(1,), (1,)]), ((2,), ["4", "6"], [(1,), (1,)]), ((1, 2), ["4"], [])],
    ids=str,
)
def test_parts_are_reduced_along_what_is_left(
    inside: tuple[int, ...], stored: list[str], left: list[tuple[int, ...]]
) -> None:
    _, parts, rest = divided(inside)
    assert over(parts) == [inside, inside]
    assert [str(size) for size in rest.space] == stored
    assert over(rest) == left


def test_parts_read_what_is_reduced_alone() -> None:
    module, parts, rest = divided((2,))
    x, w = module.body.block.first_op.body.block.args[1:]  # pyright: ignore
    assert [*parts.operands] == [x]
    assert [*rest.operands] == [*parts.results, w]
