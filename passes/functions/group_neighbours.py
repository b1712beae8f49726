"""Pass `group-neighbours`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.ir_access import ops_of, ops_within
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.arith import vector_of
from tilewright.dialects.tk.interleave import DeinterleaveOp, interleaved
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.lanes import axes_of_lanes
from tilewright.dialects.tk.scope import shape_of_lanes
from tilewright.dialects.tk.sort import ArrangeOp
from tilewright.dialects.tk.tiles import CollapseOp, CumulateOp, MmaOp
from tilewright.dialects.types import element_type

from ..rewrite import may_rewrite, skip
from ..schedule.neighbours import Neighbours, find_neighbours


@dataclass(frozen=True)
class GroupNeighboursPass(ModulePass):
    """Load and store neighbours in memory at once, of which every lane has all.

    Before:
        %0 = tk.load %x[d0*2] lanes 0 : memref<4096xbf16> -> vector<512xbf16>
        %1 = tk.load %x[d0*2 + 1] lanes 0 : memref<4096xbf16> -> vector<512xbf16>
        ...
        tk.store %2, %o[d0*2] lanes 0 : vector<512xbf16>, memref<4096xbf16>
        tk.store %3, %o[d0*2 + 1] lanes 0 : vector<512xbf16>, memref<4096xbf16>
    After:
        %4 = tk.load %x[d0*2] lanes 0 group 2 : memref<4096xbf16> -> vector<1024xbf16>
        %0, %1 = tk.deinterleave %4 : vector<1024xbf16> -> vector<512xbf16>, vector<512xbf16>
        ...
        %5 = tk.interleave %2, %3 : vector<512xbf16>, vector<512xbf16> -> vector<1024xbf16>
        tk.store %5, %o[d0*2] lanes 0 group 2 : vector<1024xbf16>, memref<4096xbf16>

    Apart, each instruction would move 2 bytes of every 4. The same of groups of four. Runs after
    `apply-schedule`.
    """

    name = "group-neighbours"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and func.scheduled is not None:
                for block in _blocks(func):
                    for found in find_neighbours(op for op in ops_of(block) if len(axes_of_lanes(op)) == 1):
                        _group(func, found)


def _blocks(func: FuncOp) -> list[Block]:
    return list({id(op.parent): op.parent for op in ops_within(func) if op.parent is not None}.values())


def _group(func: FuncOp, found: Neighbours) -> None:
    if any(isinstance(op, ArrangeOp | CollapseOp | CumulateOp | MmaOp) for op in ops_within(func)):
        return skip(found.ops[0], "lanes of rows that are reduced or scanned share more")
    if not may_rewrite(found.ops[0], "moved with its neighbours"):
        return
    loads = [op for op in found.ops if isinstance(op, LoadOp)]
    if loads:
        _load(loads, found.axis)
    else:
        _store([op for op in found.ops if isinstance(op, StoreOp)], found.axis)


def _block(ops: Sequence[Operation]) -> Block:
    block = ops[0].parent
    assert block is not None
    return block


def _load(loads: Sequence[LoadOp], axis: int) -> None:
    first = next(op for op in ops_of(_block(loads)) if isinstance(op, LoadOp) and op in loads)
    (lanes,), count = shape_of_lanes(first.result.type), len(loads)
    type_ = vector_of(element_type(first.result.type), lanes * count)
    load = LoadOp.make(loads[0].buffer, loads[0].subscripts, result_type=type_, lanes=axis, group=count)
    new: list[Operation] = [load]
    parts: list[SSAValue] = [load.result]
    while len(parts) < count:
        split = [DeinterleaveOp.make(part) for part in parts]
        new += split
        parts = [*(op.even for op in split), *(op.odd for op in split)]
    for op in new:
        op.location = first.location
        Rewriter.insert_op(op, InsertPoint.before(first))
    for op, part in zip(loads, parts, strict=True):
        op.result.replace_all_uses_with(part)
        Rewriter.erase_op(op)


def _store(stores: Sequence[StoreOp], axis: int) -> None:
    last = next(op for op in reversed(ops_of(_block(stores))) if op in stores)
    joined, first = interleaved([op.value for op in stores]), stores[0]
    store = StoreOp.make(joined[-1].result, first.buffer, first.subscripts, lanes=axis, group=len(stores))
    new: list[Operation] = [*joined, store]
    for op in new:
        op.location = last.location
        Rewriter.insert_op(op, InsertPoint.before(last))
    for op in stores:
        Rewriter.erase_op(op)
