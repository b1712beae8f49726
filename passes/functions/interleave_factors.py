"""Pass `interleave-factors`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.ir_access import kinds_within
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.arith import vector_of
from tilewright.dialects.tk.interleave import interleaved
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.lanes import axes_of_lanes
from tilewright.dialects.tk.scope import shape_of_lanes
from tilewright.dialects.tk.share import ShareOp
from tilewright.dialects.tk.tiles import MmaOp
from tilewright.dialects.tk.transpose import TransposeOp
from tilewright.dialects.types import element_type

from ..rewrite import may_rewrite, skip
from ..schedule.neighbours import find_neighbours


@dataclass(frozen=True)
class InterleaveFactorsPass(ModulePass):
    """Make one product of those whose left factors are neighbours in memory.

    Before:
        %0 = tk.load %x[d0*4096 + d2*2] lanes 0, 2 : memref<65536xbf16> -> vector<16x64xbf16>
        %1 = tk.load %x[d0*4096 + d2*2 + 1] lanes 0, 2 : memref<65536xbf16> -> vector<16x64xbf16>
        %2 = tk.mma %sum, %0, %even precision "ieee" : ...
        %3 = tk.mma %2, %1, %odd precision "ieee" : ...
    After:
        %0 = tk.load %x[d0*4096 + d2*2] lanes 0, 2 group 2 : memref<65536xbf16> -> vector<16x128xbf16>
        %1 = tk.transpose %even : vector<64x32xbf16> -> vector<32x64xbf16>
        %2 = tk.transpose %odd : vector<64x32xbf16> -> vector<32x64xbf16>
        %3 = tk.interleave %1, %2 : vector<32x64xbf16>, vector<32x64xbf16> -> vector<32x128xbf16>
        %4 = tk.transpose %3 : vector<32x128xbf16> -> vector<128x32xbf16>
        %5 = tk.mma %sum, %0, %4 precision "ieee" : ...

    Every other element is too narrow to be on its way while matrix units work; what a lane unpacks
    (`unpack-factors`) it interleaves in its registers. The same of four and of eight. Runs after
    `apply-schedule`.
    """

    name = "interleave-factors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and func.scheduled is not None:
                for last in kinds_within(func, MmaOp):
                    _interleave(_added_up(last))


def _added_up(last: MmaOp) -> list[MmaOp]:
    """The products that are added to each other, up to the one that nothing in its block is added to."""
    if any(isinstance(use.operation, MmaOp) for use in last.result.uses):
        return []
    found = [last]
    while isinstance(before := found[-1].acc.owner, MmaOp) and before.result.has_one_use():
        found.append(before)
    return found[::-1]


def _interleave(products: Sequence[MmaOp]) -> None:
    if len(products) < 2:
        return
    loads = [op.lhs.owner for op in products if isinstance(op.lhs.owner, LoadOp) and op.lhs.has_one_use()]
    groups = find_neighbours(loads, (len(products),)) if len(loads) == len(products) else []
    if not groups or groups[0].axis != axes_of_lanes(groups[0].ops[0])[-1]:
        return skip(products[0], "what it multiplies is no neighbour of what those after it do")
    if not may_rewrite(products[-1], "one product of interleaved factors"):
        return
    of_load = {op.lhs.owner: op for op in products}
    ordered = [of_load[load] for load in groups[0].ops]
    left = _load([load for load in groups[0].ops if isinstance(load, LoadOp)])
    right = _interleaved([op.rhs for op in ordered], before=products[-1])
    last, first = products[-1], products[0]
    made = MmaOp.make(first.acc, left.result, right, first.precision.data)
    _put([made], before=last)
    last.result.replace_all_uses_with(made.result)
    shared = [op.rhs.owner for op in products if isinstance(op.rhs.owner, ShareOp)]
    for op in (*reversed(products), *groups[0].ops):
        Rewriter.erase_op(op)
    for op in dict.fromkeys(shared):
        if op.result.first_use is None:
            Rewriter.erase_op(op)


def _load(loads: Sequence[LoadOp]) -> LoadOp:
    """All of them at once, where the first of them is."""
    first, axes = loads[0], axes_of_lanes(loads[0])
    *rows, columns = shape_of_lanes(first.result.type)
    type_ = vector_of(element_type(first.result.type), *rows, columns * len(loads))
    load = LoadOp.make(first.buffer, first.subscripts, result_type=type_, group=len(loads))
    load.properties["tile"] = first.properties["tile"]
    assert len(axes) == len(rows) + 1
    block = first.parent_block()
    assert block is not None
    earliest = next(op for op in block.ops if op in loads)
    _put([load], before=earliest)
    return load


def _interleaved(parts: Sequence[SSAValue], before: Operation) -> SSAValue:
    """The rows of tiles in turn; what each of them shared is not, beside its neighbours."""
    values = [part.owner.value if isinstance(part.owner, ShareOp) else part for part in parts]
    turned = [TransposeOp.make(value) for value in values]
    joined = interleaved([op.result for op in turned])
    back = TransposeOp.make(joined[-1].result)
    _put([*turned, *joined, back], before)
    return back.result


def _put(new: Sequence[Operation], before: Operation) -> None:
    for op in new:
        op.location = before.location
        Rewriter.insert_op(op, InsertPoint.before(before))
