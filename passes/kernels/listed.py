"""A walk along listed blocks: what stands in the body of a chain instead of a table of visible blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Call, Expr, Var
from tilewright.dialects.tk.access import IndexOp, LoadOp
from tilewright.dialects.tk.compute import DISTINCT, ReduceOp


@dataclass(frozen=True)
class Listing:
    """Whether the block of an element along the chain is one of those that are listed.

        %here = tk.index "d3 floordiv 128" : i64
        %same = arith.cmpi eq, %entry, %here : i64
        %inside = arith.cmpi slt, %number, %count : i64      // %number = tk.index "d5"
        %found = arith.andi %same, %inside : i1
        %listed = tk.reduce or %found over [5] {tk.distinct} : i1

    No number is listed twice, so that to look at each listed block once is to look at all of them.
    """

    reduce: ReduceOp
    axis: int
    """That of the list."""
    entry: SSAValue
    count: SSAValue
    size: int
    """Of a block."""

    def rows(self, axis: int) -> list[int]:
        """How many rows have one list, by each of the loads that make it."""
        found: list[int] = []
        todo, seen = [self.entry, self.count], set[SSAValue]()
        while todo:
            value = todo.pop()
            if value in seen or not isinstance(op := value.owner, Operation):
                continue
            seen.add(value)
            todo += op.operands
            exprs = op.subscripts if isinstance(op, LoadOp) else ()
            found += [blocks_of(e, axis) or 1 for e in exprs if e.uses(Var("d", axis))]
        return found


def find_listing(ops: Iterable[Operation], along: int) -> Listing | None:
    """The walk of a chain, if its body has one."""
    for op in ops:
        if isinstance(op, ReduceOp) and DISTINCT in op.attributes:
            both = op.value.owner
            assert isinstance(both, arith.AndIOp)
            same, inside = both.lhs.owner, both.rhs.owner
            assert isinstance(same, arith.CmpiOp)
            assert isinstance(inside, arith.CmpiOp)
            size = _size_of_blocks(same.rhs, along)
            assert size is not None
            return Listing(op, op.over[0], same.lhs, inside.rhs, size)
    return None


def _size_of_blocks(value: SSAValue, along: int) -> int | None:
    """`n` where `value` is the number of a block of `n` elements along an axis."""
    op = value.owner
    if isinstance(op, arith.ExtSIOp):  # `narrow-integers`
        op = op.input.owner
    return block_size(op.expr.terms, along) if isinstance(op, IndexOp) else None


def block_size(terms: object, axis: int) -> int | None:
    """`n` of `d<axis> floordiv n`."""
    match terms:
        case (((Call(name="floordiv", lhs=lhs, rhs=rhs),), 1),):
            plain = lhs.terms == (((Var("d", axis),), 1),)
            return rhs.constant if plain else None
        case _:
            return None


def blocks_of(expr: Expr, axis: int) -> int | None:
    """`n` where `expr` is the same for all elements of a block of `n` along an axis that it uses."""
    var, found = Var("d", axis), 0
    for atom in expr.atoms():
        if Expr((((atom,), 1),)).uses(var):
            size = block_size((((atom,), 1),), axis)
            if size is None:
                return None
            found = gcd(found, size)
    return found or None
