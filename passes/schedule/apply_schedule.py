"""Pass `apply-schedule`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from tilewright.dialects.tk.kernels import FuncOp

from ..kernels.facts import Body
from ..rewrite import may_rewrite
from .blocks import take_blocks
from .collisions import in_turn
from .empty_checks import spare_empty
from .loops.contract import ContractionWriter
from .loops.nest import NestBuilder
from .loops.row_chain import take_chain
from .loops.row_chain_writer import RowChainWriter
from .loops.tile import take_tile
from .plan import SCALAR, take_plan
from .tiles.apply_blocks import apply_blocks, tile_writer
from .tiles.tile_writer import TileWriter
from .work import Work
from .writer import Scope, Writer


@dataclass(frozen=True)
class ApplySchedulePass(ModulePass):
    """Make the loops of `tk.func`s explicit, as their attributes ask.

    Before:
        tk.func @sum [4, 32] (%x: memref<128xf32>, %o: memref<4xf32>)
            attributes {tk.order = array<i64: 0, 1>, tk.vector = array<i64: 1, 16>} {
          %0 = tk.load %x[d0*32 + d1] : memref<128xf32> -> f32
          %1 = tk.reduce add %0 over [1] : f32
          tk.store %1, %o[d0] : f32, memref<4xf32>
        }
    After:
        tk.func @sum [4, 32] (%x: memref<128xf32>, %o: memref<4xf32>) scheduled {
          %c = arith.constant 0.0 : f32
          %z = vector.broadcast %c : f32 to vector<16xf32>
          tk.for 0 = "0" to "4" step 1 {
            %s = tk.for 1 = "0" to "32" step 16 iter(%acc = %z : vector<16xf32>) {
              %0 = tk.load %x[d0*32 + d1] lanes 1 : memref<128xf32> -> vector<16xf32>
              %1 = arith.addf %acc, %0 : vector<16xf32>
              tk.yield %1 : vector<16xf32>
            }
            %2 = vector.reduction <add>, %s : vector<16xf32> into f32
            tk.store %2, %o[d0] : f32, memref<4xf32>
          }
        }

    Values that a reduction's result meets again are computed again in the next loop over
    the same axis, unless `tk.keep` marks them. What does not depend on an axis stays
    outside of its loop; a `tk.assert` there holds where that loop is empty. Functions that
    are scheduled already stay as they are.
    """

    name = "apply-schedule"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and func.scheduled is None and may_rewrite(func, "scheduled"):
                schedule(func)


def schedule(func: FuncOp) -> None:
    """Replace the body of `func` by explicit loops."""
    plan, tile, blocks, rows = take_plan(func), take_tile(func), take_blocks(func), take_chain(func)
    spare_empty(func)
    old = func.body.block
    new = Block(arg_types=[arg.type for arg in old.args])
    for mine, theirs in zip(new.args, old.args, strict=True):
        mine.name_hint = theirs.name_hint
    body = Body.of(old, plan.tiles, len(func.space), plan.arrays)
    writer = Writer(plan, func.space) if blocks is None else tile_writer(func, blocks, body)
    scope = Scope(new, dict(zip(old.args, new.args, strict=True)))
    copy_constants(body, writer, scope)
    if isinstance(writer, TileWriter):
        apply_blocks(func, writer, body, scope, [Work(sinks) for sinks in in_turn(body.sinks())])
    elif rows is not None:
        RowChainWriter(func, rows, writer, body).write(scope)
    elif tile is not None:
        ContractionWriter(func, tile, plan, writer, body).write(scope)
    else:
        for sinks in in_turn(body.sinks()):
            own = writer.without_lanes() if any(SCALAR in op.attributes for op in sinks) else writer
            NestBuilder(func.space, own.plan, own, body).nest(scope, plan.order, Work(sinks))
    if (first := new.first_op) is not None:
        new.insert_ops_before(_used(writer.top), first)
    func.properties["scheduled"] = UnitAttr()
    func.body.detach_block(old)
    func.body.add_block(new)
    old.erase(safe_erase=False)


def _used(ops: Sequence[Operation]) -> list[Operation]:
    """Constants, and tiles of them, but for those that nothing reads."""
    found: list[Operation] = []
    for op in reversed(ops):
        if op.results[0].first_use is not None:
            found.append(op)
        else:
            op.erase()
    return found[::-1]


def copy_constants(body: Body, writer: Writer, scope: Scope) -> None:
    """Constants stand at the top of the function."""
    for op in body.ops:
        if isinstance(op, arith.ConstantOp):
            copy = op.clone()
            writer.top.append(copy)
            scope.env[op.result] = copy.result
