"""Assignments at masks, `x[mask] = values`: a select; of several values each position takes the next one."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from tilewright.dialects import index_expr
from tilewright.dialects.index_expr import Expr, product
from tilewright.dialects.tw.elementwise_binary import AddOp, CompareOp, OrOp, SelectOp, SubOp
from tilewright.dialects.tw.indexing import GatherOp
from tilewright.dialects.tw.reduction import CumsumOp, SumOp
from tilewright.dialects.tw.view import PadOp
from tilewright.dialects.types import sizes_of, ui8

from ..errors import Unsupported
from .builder import Builder, element_of


def is_mask(index: SSAValue) -> bool:
    """Whether an index says which elements are meant instead of where they are."""
    return element_of(index) in (i1, ui8)


def only_mask(indices: Sequence[SSAValue | None]) -> int | None:
    """From which dimension on the only index is a mask of some of them; None where they are others."""
    given = [d for d, index in enumerate(indices) if index is not None]
    if len(given) != 1:
        return None
    index = indices[given[0]]
    assert index is not None
    return given[0] if is_mask(index) and sizes_of(index) else None


def masked_put(
    b: Builder, x: SSAValue, mask: SSAValue, before: int, values: SSAValue, *, accumulate: bool
) -> SSAValue:
    """Elements of `x` where `mask`, which covers the dimensions from `before` on, become values or get these.

    One value for all positions is broadcast; of several each position takes the next one.
    """
    element, sizes = element_of(x), sizes_of(x)
    covered = len(sizes_of(mask))
    behind = len(sizes) - before - covered
    there = b.cast(b.conform(mask, sizes[before : before + covered]), i1)
    values = b.cast(values, element)
    if product(sizes_of(values)).constant == 1:  # of any rank
        values = b.reshape(values, ())
    own = sizes_of(values)
    if len(own) > before + 1 + behind:
        raise Unsupported("values of more dimensions than what they are assigned to")
    at = len(own) - behind - 1  # the dimension along which there is a value for each position
    if at >= 0 and own[at].constant != 1:
        values = _next_for_each(b, there, values, at)
    elif at >= 0:
        values = b.reshape(values, (*own[:at], *[index_expr.ONE] * covered, *own[at + 1 :]))
    ones = [index_expr.ONE] * behind
    where = b.broadcast(b.reshape(there, (*sizes_of(there), *ones)), sizes)
    values = b.broadcast(values, sizes)
    if accumulate:
        values = b.emit((OrOp if element == i1 else AddOp)(x, values))
    return b.emit(SelectOp(where, values, x))


def _next_for_each(b: Builder, mask: SSAValue, values: SSAValue, at: int) -> SSAValue:
    """Values as if all positions of the mask had one: what stands elsewhere is not meant.

    There are as many as the mask counts; else all positions are out of range, which is an error at run time.
    Where data decide how many there are, none may be: one that is not meant stands in front of them.
    """
    sizes, count = sizes_of(mask), sizes_of(values)[at]
    extra = int(b.symbols.may_be_zero(count))
    if extra:
        rank = len(sizes_of(values))
        values = b.emit(PadOp(values, [int(d == at) for d in range(rank)], [0] * rank, 0))
    line: tuple[Expr, ...] = (product(sizes),)
    if 0 in (count.constant, line[0].constant):
        raise Unsupported("no values for a mask (that it is false everywhere depends on data)")
    flat = b.cast(b.reshape(mask, line), i64)
    counted = b.emit(CumsumOp(flat, 0))
    before = counted if extra else b.emit(SubOp(counted, flat))
    total = b.broadcast(b.emit(SumOp(flat, [0])), line)
    enough = b.emit(CompareOp(total, b.full(count, i64, line), "eq"))
    last = b.full(count + extra - 1, i64, line)
    found = b.emit(SelectOp(b.emit(CompareOp(before, last, "lt")), before, last))
    place = b.emit(SelectOp(enough, found, b.full(count + extra, i64, line)))
    return b.emit(GatherOp(values, [b.reshape(place, sizes)], [at], at))
