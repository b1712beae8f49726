"""The `walk-lists` pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, ModuleOp, UnitAttr, i64
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tilewright.dialects.index_expr import ZERO, Expr, Var, dim, gathered
from tilewright.dialects.tk.access import IndexOp, LoadOp
from tilewright.dialects.tk.arith import ExtSIOp, IndexCastOp
from tilewright.dialects.tk.attributes import map_attr
from tilewright.dialects.tk.compute import DISTINCT, ReduceOp
from tilewright.dialects.tk.domain import axes_of_op, domains_of
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import scalar_type

from ..fusion.inline import input_of
from ..fusion.searches import Table, find_table
from ..kernels.body import simplify_body
from ..kernels.chains import Chain, chains_of
from ..kernels.listed import block_size
from ..kernels.scalar_builder import InsertingBuilder
from ..rewrite import may_rewrite, skip
from ..schedule.chain_reach import required

_LEAST = 16
"""Matrix units take no smaller sides, and a block holds whole ones."""


@dataclass(frozen=True)
class WalkListsPass(ModulePass):
    """Let chained products go along the blocks of a list, instead of asking a table about each block.

    Before (a table of blocks of 128 rows by 128 columns, made of a list for each row of blocks):
        %t = tk.kernel [4, 8, 8] ins(%list, %count) -> (tensor<4x8xi1>) {
          ... %2 = arith.cmpi eq, %entry, %column : i64             // %list[d0, d2] and d1
          ... %4 = arith.andi %2, %3 : i1                           // d2 is less than %count[d0]
          %5 = tk.reduce or %4 over [2] : i1 ...
        %o = tk.kernel [512, 64, 1024, 64] ins(%t, ...) -> (...) {
          %0 = tk.load %b[d0 floordiv 128, d2 floordiv 128] : tensor<4x8xi1> -> i1 ...
    After:
        %o = tk.kernel [512, 64, 1024, 64, 8] ins(%list, %count, ...) -> (...) {
          ... the same with %list[d0 floordiv 128, d4] and "d2 floordiv 128" ...
          %0 = tk.reduce or %5 over [4] {tk.distinct} : i1 ...

    `tk.distinct` promises that nothing is listed twice, as block masks do: `apply-schedule` may then visit
    what is listed, in its order, and nothing else (`passes/kernels/listed.py`). The table may be the search
    of more than one list; these are walked one after the other. Nothing visible may be outside of the table,
    and all rows of a program must have one list: blocks are multiples of 16 rows and columns.
    """

    name = "walk-lists"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel, chain in chains_of(op):
            _walk(kernel, chain)


def goes_along_lists(kernel: KernelOp, chain: Chain) -> bool:
    """Whether the chain asks a table that is made of lists."""
    loads = (v.owner for v in required(chain) if isinstance(v.owner, LoadOp))
    tables = (kernel.operands[list(kernel.sources).index(load.buffer)] for load in loads)
    return any(find_table(table) is not None for table in tables)


def _walk(kernel: KernelOp, chain: Chain) -> None:
    for value in required(chain):
        load = value.owner
        if not isinstance(load, LoadOp) or load.dynamic or load.mask is not None:
            continue
        table = find_table(kernel.operands[list(kernel.sources).index(load.buffer)])
        if table is None:
            continue
        places = zip(table.stored, load.subscripts, strict=True)
        at = {Var("d", axis): place for axis, place in places if axis is not None}
        column = at[Var("d", table.column)]
        size = block_size(column.terms, chain.along)
        if size is None:
            continue
        why = _drawback(kernel, chain, size, [e for axis, e in at.items() if axis.index != table.column])
        if why is not None:
            skip(kernel, f"no walk along listed blocks: {why}")
        elif may_rewrite(kernel, "goes along listed blocks"):
            _rewrite(kernel, load, table, at, column)
            return


def _drawback(kernel: KernelOp, chain: Chain, size: int, places: Sequence[Expr]) -> str | None:
    block = kernel.body.block
    domains = domains_of(block)
    if any(not op.results and chain.along in axes_of_op(op, domains) for op in block.ops):
        return "something is stored or checked in each block"
    rows = [block_size(e.terms, chain.row) for e in places if e.uses(Var("d", chain.row))]
    if size % _LEAST or any(n is None or n % _LEAST for n in rows):
        return f"its blocks are no multiples of {_LEAST} rows and columns"
    others = {var.index for e in places for var in e.variables() if var.kind == "d"}
    if chain.along in others:
        return "lists change on the way"
    if chain.around:
        return "its chain goes along several batches"
    return None


def _rewrite(kernel: KernelOp, load: LoadOp, table: Table, at: Mapping[Var, Expr], column: Expr) -> None:
    """Search in the body of `kernel`, where `load` reads what was searched before."""
    axis, b = len(kernel.space), InsertingBuilder(load)
    length = sum((table.kernel.space[s.axis] for s in table.searches), start=ZERO)
    kernel.properties["sizes"] = map_attr([*kernel.space, length])
    operands = dict(zip(table.kernel.sources, table.kernel.operands, strict=True))
    number = b.add(IndexOp.make(dim(axis))).results[0]
    entry, total = None, None
    for search in table.searches:
        columns, counts = (input_of(kernel, operands[op.buffer]) for op in (search.entry, search.count))
        places = [e.substitute(at) for e in search.count.subscripts]
        count = _wide(b, b.add(LoadOp.make(counts, places)).results[0])
        place = number if total is None else b.op(arith.SubiOp, number, total)
        inside = b.compare_int("slt", place, count)
        if total is not None:
            inside = b.op(arith.AndIOp, b.compare_int("sge", number, total), inside)
        places = [e.substitute({**at, Var("d", search.axis): gathered(0)}) for e in search.entry.subscripts]
        index = b.op(IndexCastOp, place, type_=IndexType())
        zero = b.constant(0, scalar_type(search.entry.result.type))
        found = _wide(b, b.add(LoadOp.make(columns, places, [index], inside, zero)).results[0])
        entry = found if entry is None else b.select(inside, found, entry)
        total = count if total is None else b.op(arith.AddiOp, total, count)
    assert entry is not None
    assert total is not None
    here = b.add(IndexOp.make(column)).results[0]
    same, within = b.compare_int("eq", entry, here), b.compare_int("slt", number, total)
    listed = b.add(ReduceOp.make("or", b.op(arith.AndIOp, same, within), [axis]))
    listed.attributes[DISTINCT] = UnitAttr()
    load.result.replace_all_uses_with(listed.results[0])
    Rewriter.erase_op(load)
    simplify_body(kernel)


def _wide(b: InsertingBuilder, value: SSAValue) -> SSAValue:
    return value if value.type == i64 else b.op(ExtSIOp, value, type_=i64)
