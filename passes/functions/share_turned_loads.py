"""Pass `share-turned-loads`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import Var, dim
from tilewright.dialects.ir_access import ops_within
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.lanes import axes_of_lanes
from tilewright.dialects.tk.loops import ForOp
from tilewright.dialects.tk.scope import shape_of_lanes
from tilewright.dialects.tk.tiles import MmaOp
from tilewright.dialects.tk.transpose import TransposeOp

from ..rewrite import carry_location, may_rewrite
from ..schedule.roles import contiguous_axis
from ..schedule.tiles.limits import Units


@dataclass(frozen=True)
class ShareTurnedLoadsPass(ModulePass):
    """Load a factor once that matrix products take both ways round.

    Before, in a loop along `d6`, with `d2` and `d4` that one block of 128 covers:
        %1 = tk.load %a[d6*128 + d4] lanes 4, 6 : memref<131072xbf16> -> vector<128x64xbf16>
        %2 = tk.mma %0, %r, %1 precision "ieee" : ...
        %3 = tk.load %a[d6*128 + d2] lanes 6, 2 : memref<131072xbf16> -> vector<64x128xbf16>
        %5 = tk.mma %4, %s, %3 precision "ieee" : ...
    After:
        %3 = tk.load %a[d6*128 + d2] lanes 6, 2 : memref<131072xbf16> -> vector<64x128xbf16>
        %1 = tk.transpose %3 : vector<64x128xbf16> -> vector<128x64xbf16>
        %2 = tk.mma %0, %r, %1 precision "ieee" : ...
        %5 = tk.mma %4, %s, %3 precision "ieee" : ...

    So it is in gradients of attention. Where matrix units of a `group` of warps read shared memory, either
    way round, it has room for one more step then. The load that stays is the one whose neighbours lie side
    by side. Runs after `apply-schedule`.
    """

    name = "share-turned-loads"

    units: Units = "warp"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.units != "group":
            return
        for block in {id(load.parent): load.parent for load in ops_within(op) if _is_factor(load)}.values():
            assert block is not None
            _share(block)


def _is_factor(op: Operation) -> bool:
    """Whether `op` loads a factor, of whole rows and columns, that nothing but products reads."""
    if not isinstance(op, LoadOp) or len(shape_of_lanes(op.result.type)) != 2:
        return False
    plain = not op.dynamic and op.mask is None and op.group is None
    return plain and all(isinstance(use.operation, MmaOp) for use in op.result.uses)


def _share(block: Block) -> None:
    loads = [op for op in block.ops if isinstance(op, LoadOp) and _is_factor(op)]
    stored = {op.buffer for op in block.walk() if isinstance(op, StoreOp)}
    for turned in loads:
        kept = next((load for load in loads if _is_other_way_round(turned, load)), None)
        if kept is None or turned.buffer in stored or not may_rewrite(turned, "loaded once"):
            continue
        if not kept.is_before_in_block(turned):
            kept.detach()
            Rewriter.insert_op(kept, InsertPoint.before(turned))
        new = TransposeOp.make(kept.result)
        carry_location(turned, (new,))
        Rewriter.replace_op(turned, new)
        loads = [load for load in loads if load is not turned]


def _is_other_way_round(turned: LoadOp, kept: LoadOp) -> bool:
    """Whether `kept` loads rows, side by side in memory, that are the columns of `turned`."""
    if turned is kept or turned.buffer != kept.buffer or turned.parent is None or kept.parent is None:
        return False
    (held, along), (rows, columns) = axes_of_lanes(turned), axes_of_lanes(kept)
    if along != rows or held == columns or not _cover_alike(turned, (held, columns)):
        return False
    if shape_of_lanes(turned.result.type) != tuple(reversed(shape_of_lanes(kept.result.type))):
        return False
    (there,), (here,) = turned.subscripts, kept.subscripts
    alike = there.substitute({Var("d", held): dim(columns)}) == here
    return alike and contiguous_axis(kept) == columns


def _cover_alike(op: Operation, axes: Sequence[int]) -> bool:
    """Whether the loops around along these axes have one step each, over as many elements."""
    found: dict[int, tuple[object, ...]] = {}
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, ForOp) and parent.axis.value.data in axes:
            lower, upper = parent.bounds
            size, step = upper.constant, parent.step.value.data
            once = lower.constant == 0 and size is not None and size <= step
            found[parent.axis.value.data] = (once, upper, parent.step, parent.masked is None)
        parent = parent.parent_op()
    alike = len(found) == len(axes) and len(set(found.values())) == 1
    return alike and all(once for once, *_ in found.values())
