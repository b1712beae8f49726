"""Pass `fold-positions`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.kernels import FuncOp

from ..kernels.body import erase_unread
from ..kernels.known import at_expressions
from ..kernels.positions import Positions
from ..rewrite import skip


@dataclass(frozen=True)
class FoldPositionsPass(ModulePass):
    """Let accesses say where they are, instead of taking an index that is computed from positions.

    Before:
        tk.func @windows [3, 28] (%x: memref<30xf32>, %o: memref<84xf32>) {
          %0 = tk.index "d0" : i32
          %1 = tk.index "d1" : i32
          %2 = arith.addi %0, %1 : i32
          %3 = arith.index_cast %2 : i32 to index
          %4 = tk.load %x[i0](%3) : memref<30xf32> -> f32
          ...
    After:
          %4 = tk.load %x[d0 + d1] : memref<30xf32> -> f32
          ...

    An access at an index expression is contiguous or strided along the lanes, one at an index is a gather.
    Sums, differences and products by constants are folded, where ranges say that none wraps around. Stores
    keep their indices: two of them may meet at one place, which an index expression would deny.
    """

    name = "fold-positions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and func.scheduled is None:
                _fold(func)


def _fold(func: FuncOp) -> None:
    positions = Positions(func.space, ranged=True)
    for op in list(func.body.block.ops):
        if isinstance(op, LoadOp) and op.dynamic:
            if known := positions.known(op.dynamic):
                at_expressions(op, known)
            else:
                skip(op, "its indices are no sums of positions")
    erase_unread(func.body.block)
