"""The loop of chained products along listed blocks: one after the other, in steps of one block of the chain.

    %n = arith.index_cast %count : i64 to index
    %r = tk.for 5 = "0" to "i0*4"(%n) step 1 iter(%a = %z : vector<128x64xf32>) {
      %b = tk.load %list[(d1 floordiv 128)*8 + (d5 floordiv 4)] ...     // a block of 128 has 4 steps of 32
      %s = tk.for 3 = "i0*128 + (d5 mod 4)*32" to "1024"(%b) step 32 once iter(%c = %a : ...) {...}
      tk.yield %s : vector<128x64xf32>
    }

`once` keeps all steps in one loop: what compiles it can load the next block while it multiplies this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import IndexType, IntegerAttr, UnitAttr, i1
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Expr, Var, dim, gathered
from tilewright.dialects.tk.access import IndexOp, LoadOp
from tilewright.dialects.tk.arith import IndexCastOp
from tilewright.dialects.tk.attributes import map_attr
from tilewright.dialects.tk.loops import ForOp, YieldOp

from ...kernels.listed import Listing
from ..writer import Known, Scope
from .tile_writer import TileWriter


def walk(
    writer: TileWriter, scope: Scope, listing: Listing, along: int, starts: Sequence[SSAValue]
) -> tuple[ForOp, Scope]:
    """The loop, and the scope of one step, in which what is listed is visible."""
    writer.location = listing.reduce.location
    step = writer.block[along]
    parts, axis = listing.size // step, len(writer.space)
    outside = scope.beside()
    loop = ForOp.make(axis, 0, gathered(0) * parts, 1, starts, [_index(writer, outside, listing.count)])
    writer.put_loop(scope, loop)
    inside = outside.inner(loop.body.block)
    block = _index(writer, inside, listing.entry, {Var("d", listing.axis): dim(axis) // parts})
    first = gathered(0) * listing.size + (dim(axis) % parts) * step
    args = list(loop.body.block.args)
    once = ForOp.make(along, first, writer.space[along], step, args, [block])
    once.properties["once"] = UnitAttr()
    if along in writer.masked:
        once.properties["masked"] = UnitAttr()
    writer.put_loop(inside, once)
    loop.body.block.add_op(YieldOp.create(operands=list(once.res)))
    found = scope.inner(loop.body.block).inner(once.body.block)
    found.env[listing.reduce.result] = writer.constant(IntegerAttr(1, i1))
    return loop, found


def _index(
    writer: TileWriter, scope: Scope, value: SSAValue, at: Mapping[Var, Expr] | None = None
) -> SSAValue:
    """`value` for the first row of the program, as an index; axes stand for what `at` says."""
    assert isinstance(value.owner, Operation)
    plain = writer.over(())
    for op in writer.full.closure((value.owner,), Known(scope)):
        plain.copy(scope, op)
        made = scope.env[op.results[0]].owner
        if at and isinstance(made, LoadOp | IndexOp):
            made.properties["map"] = map_attr([e.substitute(at) for e in made.map.exprs])
    cast = IndexCastOp.create(operands=[scope.env[value]], result_types=[IndexType()])
    return writer.put(scope, cast)
