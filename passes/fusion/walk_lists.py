"""The `walk-lists` pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, ModuleOp, UnitAttr, i32, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import Expr, Var, dim, gathered
from tilewright.dialects.scalars import predicate_of
from tilewright.dialects.tk.access import IndexOp, LoadOp
from tilewright.dialects.tk.attributes import map_attr
from tilewright.dialects.tk.compute import DISTINCT, ReduceOp
from tilewright.dialects.tk.domain import axes_of_op, domains_of
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import scalar_type

from ..rewrite import may_rewrite, skip
from ..schedule.chain_reach import required
from ..schedule.chains import Chain, find_chain
from ..schedule.listed import block_size
from .body import plain_axis, simplify_body, store_to
from .inline import input_of
from .scalar_builder import ScalarBuilder

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
    what is listed, in its order, and nothing else (`passes/schedule/listed.py`). The table may be the search
    of more than one list; these are walked one after the other. Nothing visible may be outside of the table,
    and all rows of a program must have one list: blocks are multiples of 16 rows and columns.
    """

    name = "walk-lists"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                for kernel in function.body.block.ops:
                    if isinstance(kernel, KernelOp) and (chain := find_chain(kernel.body.block)) is not None:
                        _walk(kernel, chain)


@dataclass(frozen=True)
class _Search:
    """One list: `entry` has number `axis` of it, of `count` that there are."""

    axis: int
    entry: LoadOp
    count: LoadOp


def goes_along_lists(kernel: KernelOp, chain: Chain) -> bool:
    """Whether the chain asks a table that is made of lists."""
    loads = (v.owner for v in required(chain) if isinstance(v.owner, LoadOp))
    tables = (kernel.operands[list(kernel.sources).index(load.buffer)] for load in loads)
    return any(_searches(table) is not None for table in tables)


def _walk(kernel: KernelOp, chain: Chain) -> None:
    for value in required(chain):
        load = value.owner
        if not isinstance(load, LoadOp) or load.dynamic or load.mask is not None:
            continue
        table = kernel.operands[list(kernel.sources).index(load.buffer)]
        found = _searches(table)
        if found is None:
            continue
        column, searches, stored = found
        at = {Var("d", axis): place for axis, place in zip(stored, load.subscripts, strict=True)}
        size = block_size(at[Var("d", column)].terms, chain.along)
        if size is None:
            continue
        why = _drawback(kernel, chain, size, [place for axis, place in at.items() if axis.index != column])
        if why is not None:
            skip(kernel, f"no walk along listed blocks: {why}")
        elif may_rewrite(kernel, "goes along listed blocks"):
            _rewrite(kernel, load, searches, at, dim(chain.along) // size)
            return


def _searches(table: SSAValue) -> tuple[int, list[_Search], list[int]] | None:
    """The axis of columns, the lists, and the axes of a table's dimensions, if it is made of lists."""
    if not isinstance(table, OpResult) or not isinstance(table.op, KernelOp):
        return None
    store = store_to(table.op.destinations[table.index])
    axes = [plain_axis(e) for e in store.subscripts] if store is not None else [None]
    plain = [axis for axis in axes if axis is not None]
    if store is None or len(plain) < len(axes):
        return None
    found = [_search(value) for value in _either(store.value)]
    searches = [pair for pair in found if pair is not None]
    columns = {column for column, _ in searches}
    if len(searches) < len(found) or len(columns) != 1 or not columns <= set(plain):
        return None
    return columns.pop(), [search for _, search in searches], plain


def _either(value: SSAValue) -> list[SSAValue]:
    """The values of which any makes `value` true."""
    op = value.owner
    return [*_either(op.lhs), *_either(op.rhs)] if isinstance(op, arith.OrIOp) else [value]


def _search(value: SSAValue) -> tuple[int, _Search] | None:
    """The axis of columns, and the list in which each of them is looked for."""
    op = value.owner
    if not isinstance(op, ReduceOp) or op.kind.data != "or" or len(op.over) != 1:
        return None
    both, (axis,) = op.value.owner, op.over
    tests = [v.owner for v in both.operands] if isinstance(both, arith.AndIOp) else []
    by = {predicate_of(test): test for test in tests if isinstance(test, arith.CmpiOp)}
    if set(by) != {"eq", "slt"} or _axis(by["slt"].operands[0]) != axis:
        return None
    left, right = by["eq"].operands
    column, looked_for = (_axis(right), left) if _axis(left) is None else (_axis(left), right)
    entry, count = _plain_load(looked_for), _plain_load(by["slt"].operands[1])
    if column is None or entry is None or count is None:
        return None
    if any(e.uses(Var("d", column)) for e in (*entry.subscripts, *count.subscripts)):
        return None
    return (
        None
        if any(e.uses(Var("d", axis)) for e in count.subscripts)
        else (column, _Search(axis, entry, count))
    )


def _axis(value: SSAValue) -> int | None:
    return plain_axis(value.owner.expr) if isinstance(value.owner, IndexOp) else None


def _plain_load(value: SSAValue) -> LoadOp | None:
    """What loads a number, of 32 bits or wider."""
    op = value.owner
    load = op.operands[0].owner if isinstance(op, arith.ExtSIOp) else op
    if not isinstance(load, LoadOp) or load.dynamic or load.mask is not None:
        return None
    return load if load.result.type in (i32, i64) else None


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
    return None


class _Before(ScalarBuilder):
    """Inserts in front of an op."""

    def __init__(self, op: Operation) -> None:
        block = op.parent_block()
        assert block is not None
        super().__init__(block, op.location)
        self._next = op

    def add(self, op: Operation) -> Operation:
        op.location = self.location
        self.block.insert_op_before(op, self._next)
        return op

    def wide(self, value: SSAValue) -> SSAValue:
        return value if value.type == i64 else self.op(arith.ExtSIOp, value, type_=i64)


def _rewrite(
    kernel: KernelOp, load: LoadOp, searches: Sequence[_Search], at: Mapping[Var, Expr], column: Expr
) -> None:
    """Search in the body of `kernel`, where `load` reads what was searched before."""
    owner = searches[0].entry.parent_op()
    assert isinstance(owner, KernelOp)
    axis, b = len(kernel.space), _Before(load)
    length = sum((owner.space[s.axis] for s in searches[1:]), start=owner.space[searches[0].axis])
    kernel.properties["sizes"] = map_attr([*kernel.space, length])
    operands = dict(zip(owner.sources, owner.operands, strict=True))
    number = b.add(IndexOp.make(dim(axis))).results[0]
    entry, total = None, None
    for search in searches:
        columns, counts = (input_of(kernel, operands[op.buffer]) for op in (search.entry, search.count))
        places = [e.substitute(at) for e in search.count.subscripts]
        count = b.wide(b.add(LoadOp.make(counts, places)).results[0])
        place = number if total is None else b.op(arith.SubiOp, number, total)
        inside = b.compare_int("slt", place, count)
        if total is not None:
            inside = b.op(arith.AndIOp, b.compare_int("sge", number, total), inside)
        places = [e.substitute({**at, Var("d", search.axis): gathered(0)}) for e in search.entry.subscripts]
        index = b.op(arith.IndexCastOp, place, type_=IndexType())
        zero = b.constant(0, scalar_type(search.entry.result.type))
        found = b.wide(b.add(LoadOp.make(columns, places, [index], inside, zero)).results[0])
        entry = found if entry is None else b.select(inside, found, entry)
        total = count if total is None else b.op(arith.AddiOp, total, count)
    assert entry is not None
    assert total is not None
    here = b.add(IndexOp.make(column)).results[0]
    same, within = b.compare_int("eq", entry, here), b.compare_int("slt", number, total)
    listed = b.add(ReduceOp.make("or", b.op(arith.AndIOp, same, within), [axis]))
    listed.attributes[DISTINCT] = UnitAttr()
    load.result.replace_all_uses_with(listed.results[0])
    load.detach()
    load.erase()
    simplify_body(kernel)
