"""passes/schedule/loops/sorted_rows.py: which stores need no more of a sorted row than its first elements."""

from __future__ import annotations

import pytest
from tk_harness import parse

from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.sort import SortOp
from tilewright.passes.schedule.loops.sorted_rows import stores_first


@pytest.mark.parametrize(
    ("first", "axis", "compared", "limit", "enough"),
    [
        (" first 3", "d1", "slt", 3, True),
        (" first 3", "d1", "slt", 2, True),
        (" first 3", "d1", "slt", 4, False),  # one more than is sorted
        (" first 3", "d1", "sle", 3, False),
        (" first 3", "d0", "slt", 3, False),  # of each row, or nothing
        ("", "d1", "slt", 3, False),  # all are sorted
    ],
)
def test_stores_of_the_first(first: str, axis: str, compared: str, limit: int, enough: bool) -> None:
    func = parse(f"""tk.func @f [6, 8] (%x: memref<48xf32>, %o: memref<48xf32>) {{
      %0 = tk.load %x[d0*8 + d1] : memref<48xf32> -> f32
      %1, %2 = tk.sort %0 along 1{first} : f32
      %3 = tk.index "{axis}" : i64
      %4 = arith.constant {limit} : i64
      %5 = arith.cmpi {compared}, %3, %4 : i64
      tk.store %1, %o[d0*8 + d1] if %5 : f32, memref<48xf32>
    }}""").body.block.first_op
    assert isinstance(func, FuncOp)
    ops = list(func.body.block.ops)
    (sort,) = (op for op in ops if isinstance(op, SortOp))
    (store,) = (op for op in ops if isinstance(op, StoreOp))
    assert stores_first(sort, store) == enough
