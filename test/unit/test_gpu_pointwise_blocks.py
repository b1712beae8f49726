"""How many elements lanes have of kernels that read much: all loads of a lane are on their way at once."""

from __future__ import annotations

import pytest
from tk_harness import parse
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr

from tilewright.dialects.tk.kernels import FuncOp
from tilewright.passes.schedule.blocks import take_blocks
from tilewright.passes.schedule.schedule_gpu import ScheduleGpuPass


def sum_of_shifts(loads: int) -> str:
    lines = [f"%l{i} = tk.load %x[d0 + {i}] : memref<1001024xf32> -> f32" for i in range(loads)]
    lines += [f"%s{i} = arith.addf %{'ls'[i > 1]}{i - 1}, %l{i} : f32" for i in range(1, loads)]
    stored = f"tk.store %s{loads - 1}, %o[d0] : f32, memref<1000000xf32>"
    body = "\n".join([*lines, stored])
    return f"tk.func @f [1000000] (%x: memref<1001024xf32>, %o: memref<1000000xf32>) {{\n{body}\n}}"


@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize(("loads", "elements"), [(2, 8), (32, 8), (64, 4), (128, 2), (256, 1), (600, 1)])
def test_elements_of_a_lane(loads: int, elements: int, lanes: int) -> None:
    module = parse(sum_of_shifts(loads))
    ScheduleGpuPass(lanes=lanes).apply(Context(), module)
    func = module.body.block.first_op
    assert isinstance(func, FuncOp)
    warps = func.attributes["tk.warps"]
    blocks = take_blocks(func)
    assert blocks is not None
    assert isinstance(warps, IntegerAttr)
    assert warps.value.data == 4
    assert blocks.sizes == ((0, min(1024, elements * lanes * 4)),)
