"""Checks that stand outside of loops hold where these are empty."""

from __future__ import annotations

import pytest
from tk_harness import parse

from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.passes.schedule.empty_checks import spare_empty


def spared(sizes: str) -> tuple[list[str], bool]:
    """The ops before and with a check that varies over axis 0; whether its condition is still its own."""
    module = parse(f"""tk.func @f [{sizes}] (%x: memref<8xf32>, %o: memref<64xf32>) symbols [s0] {{
      %i = tk.index "d0" : i64
      %n = arith.constant 5 : i64
      %ok = arith.cmpi slt, %i, %n : i64
      tk.assert %ok "index out of range" : i1
      %0 = tk.load %x[d0] : memref<8xf32> -> f32
      tk.store %0, %o[d0*8 + d1] : f32, memref<64xf32>
    }}""")
    func = module.body.block.first_op
    assert isinstance(func, FuncOp)
    ops = [*func.body.block.ops]
    (check,) = (op for op in ops if isinstance(op, AssertOp))
    condition = check.condition
    spare_empty(func)
    module.verify()
    new = [op for op in func.body.block.ops if op not in ops]
    assert all(op.location == check.location for op in new)
    return [op.name for op in new], check.condition is condition


@pytest.mark.parametrize("sizes", ["4, 8", "0, 8"])
def test_a_check_inside_of_loops_that_run_stays(sizes: str) -> None:
    """Axis 0 is its own: where that is empty, the check is never reached."""
    assert spared(sizes) == ([], True)


@pytest.mark.parametrize("sizes", ["4, 0", "4, s0"])
def test_where_another_axis_may_be_empty_it_holds(sizes: str) -> None:
    names, same = spared(sizes)
    assert names == ["tk.index", "arith.constant", "arith.cmpi", "arith.ori"]
    assert not same


def test_without_checks_nothing_changes() -> None:
    module = parse("""tk.func @f [s0] (%o: memref<8xf32>) symbols [s0] {
      %0 = arith.constant 1.0 : f32
      tk.store %0, %o[d0] : f32, memref<8xf32>
    }""")
    func, before = module.body.block.first_op, str(module)
    assert isinstance(func, FuncOp)
    spare_empty(func)
    assert str(module) == before
