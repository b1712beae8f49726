"""Pass `unroll-neighbours`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import ZERO, Expr, Var
from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.tk.access import IndexOp, LoadOp, StoreOp
from tilewright.dialects.tk.compute import RandomOp
from tilewright.dialects.tk.domain import REDUCTIONS_AND_SCANS
from tilewright.dialects.tk.kernels import FuncOp

from ..kernels.body import simplify_ops
from ..kernels.known import fold_known
from ..kernels.unroll import ops_unrolled, unroll
from ..rewrite import may_rewrite, skip
from ..schedule.cost import estimate
from ..schedule.neighbours import GROUPS, lie_in_row
from .coalesce_axes import coalesce

_ROW = 16
"""Groups side by side, at least: lanes go along them."""


@dataclass(frozen=True)
class UnrollNeighboursPass(ModulePass):
    """Let a lane compute all elements that lie together in memory, of which each is another thing.

    Before:
        tk.func @f [64, 2] (%x: memref<128xf32>, %o: memref<128xf32>) {
          %0 = tk.index "d1" : i64
          %1 = arith.cmpi slt, %0, %one : i64
          %2 = tk.load %x[d0*2 + d1*2 + 1] if %1 else %zero : memref<128xf32> -> f32
          %3 = tk.load %x[d0*2] : memref<128xf32> -> f32
          %4 = arith.select %1, %2, %3 : f32
          tk.store %4, %o[d0*2 + d1] : f32, memref<128xf32>
        }
    After:
        tk.func @f [64] (%x: memref<128xf32>, %o: memref<128xf32>) {
          %2 = tk.load %x[d0*2 + 1] : memref<128xf32> -> f32
          %3 = tk.load %x[d0*2] : memref<128xf32> -> f32
          tk.store %2, %o[d0*2] : f32, memref<128xf32>
          tk.store %3, %o[d0*2 + 1] : f32, memref<128xf32>
        }

    So it is where `torch.stack(..., -1)` joins what is computed of every other element (rotary embeddings of
    pairs), in gradients of slices with steps, and where 2 or 4 channels become neighbours of a row
    (`pixel_shuffle`) or were. What elements of a group have in common is computed once, no lane computes what
    another one needs, and `group-neighbours` has each group moved at once. `ops` is how many there may be.
    """

    name = "unroll-neighbours"

    ops: int = 512

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and func.scheduled is None:
                _unroll(func, self.ops)


def _unroll(func: FuncOp, most: int) -> None:
    ops = ops_of(func.body.block)
    axes = [a for a, size in enumerate(func.space) if size.constant in GROUPS]
    found = [(axis, row) for axis in axes if (row := _row(func, ops, axis)) is not None]
    if not found:
        return
    axis, row = found[-1]
    if why := _why_not(func, ops, axis, row):
        skip(func, why)
    elif ops_unrolled(func, (axis,)) > most:
        skip(func, "its groups of neighbours are too many ops")
    elif may_rewrite(func, "its groups of neighbours are computed by one lane"):
        unroll(func, (axis,))
        fold_known(func)
        simplify_ops(func.body.block)
        coalesce(func)


def _row(func: FuncOp, ops: Sequence[Operation], axis: int) -> int | None:
    """The axis along which groups of elements, numbered by `axis`, lie side by side."""
    size = func.space[axis].constant
    for at in (e for op in ops if isinstance(op, LoadOp | StoreOp) for e in op.subscripts):
        if _step(at, axis) != 1:
            continue
        for row, rows in enumerate(func.space):
            if row != axis and _step(at, row) == size and estimate(rows) >= _ROW:
                return row
    return None


def _why_not(func: FuncOp, ops: Sequence[Operation], axis: int, row: int) -> str | None:
    if any(type(op) in REDUCTIONS_AND_SCANS or isinstance(op, RandomOp) for op in ops):
        return "its groups of neighbours are reduced, scanned or drawn"
    if any(isinstance(op, StoreOp) and (len(op.operands) > 2 or op.scatters or op.over) for op in ops):
        return "it stores some elements of groups of neighbours, or none"
    size, apart = func.space[axis].constant or 0, False
    for op in ops:
        if isinstance(op, IndexOp):
            apart |= op.expr.uses(Var("d", axis))
        elif isinstance(op, LoadOp | StoreOp) and not (isinstance(op, LoadOp) and op.dynamic):
            (at,) = op.subscripts
            step, along = _step(at, axis), _step(at, row)
            if along not in (0, 1, size):
                return "not all accesses go along groups of neighbours"
            first = at.substitute({Var("d", axis): ZERO})
            if isinstance(op, StoreOp) and (step, along) == (1, size) and not lie_in_row(first, row, size):
                return "not all groups of neighbours are stored at multiples of their size"
            apart |= along == 1 or (along == size and step != 1)
    return None if apart else "its neighbours are all computed alike"


def _step(at: Expr, axis: int) -> int | None:
    """How far a step along `axis` goes in memory; None where that is not the same everywhere."""
    found = at.coefficient(Var("d", axis))
    return None if found is None else found.constant
