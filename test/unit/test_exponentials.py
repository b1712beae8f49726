"""Sums of exponentials of two groups, and of all lanes, are those of all numbers together."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isnan, nan

import numpy as np
import pytest
from tk_harness import parse, run
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.passes.schedule import exponentials

Group = tuple[float, float]


def group_of(*numbers: float) -> Group:
    """The largest one, and the sum of exponentials relative to it."""
    most = max(numbers, default=-inf)
    return most, sum(1.0 if n == most else float(np.exp(n - most)) for n in numbers)


def computed(groups: Sequence[Group], *, lanes: bool) -> Group:
    """What the ops make of groups: of two in registers, or one in each lane."""
    count = len(groups) if lanes else 1
    second = "%2 = tk.load %x[2] : memref<4xf32> -> f32  %3 = tk.load %x[3] : memref<4xf32> -> f32"
    module = parse(f"""tk.func @f [{count}] (%x: memref<{2 * len(groups)}xf32>, %o: memref<2xf32>) {{
      %0 = tk.load %x[d0*2] : memref<{2 * len(groups)}xf32> -> f32
      %1 = tk.load %x[d0*2 + 1] : memref<{2 * len(groups)}xf32> -> f32
      {"" if lanes else second}
      tk.store %0, %o[0] : f32, memref<2xf32>
      tk.store %1, %o[1] : f32, memref<2xf32>
    }}""")
    func = module.body.block.first_op
    assert isinstance(func, FuncOp)
    block = func.body.block
    stores = [op for op in block.ops if isinstance(op, StoreOp)]
    values = [op.result for op in block.ops if isinstance(op, LoadOp)]

    def emit(op: Operation) -> SSAValue:
        block.insert_op_before(op, stores[0])
        return op.results[0]

    if lanes:
        found = exponentials.over_all(values, lambda k, v: emit(ReduceOp.make(k, v, (0,))), lambda v: v, emit)
    else:
        found = exponentials.join(values[:2], values[2:], emit)
    for store, value in zip(stores, found, strict=True):
        store.operands[0] = value
    module.verify()
    numbers = np.array([n for group in groups for n in group], np.float32)
    most, total = run(module, [numbers, np.zeros(2, np.float32)], {})[1]
    return float(most), float(total)


CASES: dict[str, tuple[tuple[float, ...], ...]] = {
    "numbers": ((1.0, 2.5), (0.5, -3.0)),
    "the second is larger": ((1.0,), (50.0, 49.0)),
    "equal": ((2.0,), (2.0,)),
    "of none": ((), (1.0, 2.0)),
    "both of none": ((), ()),
    "hidden": ((-inf, -inf), (3.0,)),
    "all hidden": ((-inf,), (-inf, -inf)),
    "infinite": ((inf, 1.0), (inf,)),
    "far apart": ((-200.0,), (200.0,)),
}


@pytest.mark.parametrize("lanes", [False, True], ids=["registers", "lanes"])
@pytest.mark.parametrize("name", CASES)
def test_groups_are_joined(name: str, lanes: bool) -> None:
    first, second = CASES[name]
    found = computed([group_of(*first), group_of(*second)], lanes=lanes)
    np.testing.assert_allclose(found, group_of(*first, *second), rtol=1e-6)


@pytest.mark.parametrize("lanes", [False, True], ids=["registers", "lanes"])
@pytest.mark.parametrize(
    "groups", [[(nan, 1.0), (1.0, 1.0)], [(1.0, 1.0), (nan, 1.0)]], ids=["first", "second"]
)
def test_nan_spreads(groups: list[Group], lanes: bool) -> None:
    assert isnan(computed(groups, lanes=lanes)[0])
