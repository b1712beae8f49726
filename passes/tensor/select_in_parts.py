"""The first few of rows that are too long for the sort of a kernel: of each part, then of what these are."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.index_expr import ZERO, Expr, as_expr
from tilewright.dialects.tw.creation import FullOp
from tilewright.dialects.tw.elementwise_binary import AddOp, FloorDivOp, MulOp
from tilewright.dialects.tw.indexing import GatherAlongOp, SortOp
from tilewright.dialects.tw.view import PadOp, ReshapeOp
from tilewright.dialects.types import bytes_of, element_type_of, is_float, sizes_of, ui8

from ..driver import Rewrite
from .sort_by_library import longest_row

SHRINKS = 4
"""Parts are this much longer than what is taken of them, at least."""


def is_selected_in_parts(element: Attribute, length: Expr, count: Expr, limit: int) -> bool:
    """Whether so many first elements are few beside what a kernel sorts at once."""
    if length.constant is None or count.constant is None:
        return False
    return 0 < count.constant * SHRINKS <= longest_row(element, limit) < length.constant


def select_in_parts(limit: int, op: Operation, rw: Rewrite) -> Sequence[SSAValue] | None:
    """What is among the first of a row is among the first of its part.

    Before:
        %v, %i = tw.sort %x dim 0 descending : tensor<40xf32> -> tensor<2xf32>, tensor<2xi64>
    After, where kernels sort eight:
        %p = tw.reshape %x : tensor<40xf32> -> tensor<5x8xf32>
        %w, %j = tw.sort %p dim 1 descending : tensor<5x8xf32> -> tensor<5x2xf32>, tensor<5x2xi64>
        ... of these ten, in order of parts, the first two, and where they were: place / 2 is the part

    Equal elements keep their order. What pads the last part comes last there.
    """
    assert isinstance(op, SortOp)
    dim, sizes, element = op.dim.value.data, sizes_of(op.source), element_type_of(op.source)
    length, count = sizes[dim], sizes_of(op.values)[dim]
    if not is_selected_in_parts(element, length, count, limit):
        return None
    assert length.constant is not None
    assert count.constant is not None
    parts = -(-length.constant // longest_row(element, limit))
    each = -(-length.constant // parts)
    descending = op.descending is not None
    x = op.source
    if missing := parts * each - length.constant:
        room = [as_expr(missing) if d == dim else ZERO for d in range(len(sizes))]
        x = rw.value(PadOp(x, [0] * len(sizes), room, last_in_order(element, descending=descending)))
    before, behind = sizes[:dim], sizes[dim + 1 :]
    x = rw.value(ReshapeOp(x, (*before, as_expr(parts), as_expr(each), *behind)))
    taken = rw.insert(SortOp(x, dim + 1, descending=descending, count=count))
    line = (*before, as_expr(parts) * count, *behind)
    firsts, places = (rw.value(ReshapeOp(value, line)) for value in taken.results)
    chosen = rw.insert(SortOp(firsts, dim, descending=descending, count=count))
    found = sizes_of(chosen.indices)
    part = rw.value(FloorDivOp(chosen.indices, rw.value(FullOp(count.constant, i64, found))))
    start = rw.value(MulOp(part, rw.value(FullOp(each, i64, found))))
    inside = rw.value(GatherAlongOp(places, chosen.indices, dim))
    return chosen.values, rw.value(AddOp(start, inside))


def last_in_order(element: Attribute, *, descending: bool) -> bool | int | float:
    """Nothing comes after it in order."""
    if is_float(element):
        return -inf if descending else nan
    if element == i1:
        return not descending
    bits = 8 * bytes_of(element)
    if element == ui8:
        return 0 if descending else 255
    return -(1 << (bits - 1)) if descending else (1 << (bits - 1)) - 1
