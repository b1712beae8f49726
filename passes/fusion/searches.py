"""Recognises tables of booleans that are searches of lists: whether a column is one of those listed."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import OpResult, SSAValue

from tilewright.dialects.index_expr import ZERO, Var
from tilewright.dialects.scalars import predicate_of
from tilewright.dialects.tk.access import IndexOp, LoadOp
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.body import plain_axis, store_to


@dataclass(frozen=True)
class Search:
    """One list: `entry` has number `axis` of it, of `count` that there are."""

    axis: int
    entry: LoadOp
    count: LoadOp


@dataclass(frozen=True)
class Table:
    """True where any of `searches` finds the column."""

    kernel: KernelOp
    column: int
    """The axis of what is looked for."""
    searches: tuple[Search, ...]
    stored: tuple[int | None, ...]
    """The axes of its dimensions; none for one of a single element."""


def find_table(value: SSAValue) -> Table | None:
    """How `value` is made, if that is by looking into lists."""
    if not isinstance(value, OpResult) or not isinstance(value.op, KernelOp):
        return None
    store = store_to(value.op.destinations[value.index])
    if store is None:
        return None
    stored = tuple(plain_axis(e) for e in store.subscripts)
    if any(axis is None and e != ZERO for axis, e in zip(stored, store.subscripts, strict=True)):
        return None
    found = [_search(condition) for condition in _either(store.value)]
    searches = [pair for pair in found if pair is not None]
    columns = {column for column, _ in searches}
    if len(searches) < len(found) or len(columns) != 1 or not columns <= set(stored):
        return None
    return Table(value.op, columns.pop(), tuple(search for _, search in searches), stored)


def _either(value: SSAValue) -> list[SSAValue]:
    """The values of which any makes `value` true."""
    op = value.owner
    return [*_either(op.lhs), *_either(op.rhs)] if isinstance(op, arith.OrIOp) else [value]


def _search(value: SSAValue) -> tuple[int, Search] | None:
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
    if any(e.uses(Var("d", axis)) for e in count.subscripts):
        return None
    return column, Search(axis, entry, count)


def _axis(value: SSAValue) -> int | None:
    return plain_axis(value.owner.expr) if isinstance(value.owner, IndexOp) else None


def _plain_load(value: SSAValue) -> LoadOp | None:
    """What loads a number, of 32 bits or wider."""
    op = value.owner
    load = op.operands[0].owner if isinstance(op, arith.ExtSIOp) else op
    if not isinstance(load, LoadOp) or load.dynamic or load.mask is not None:
        return None
    return load if load.result.type in (i32, i64) else None
