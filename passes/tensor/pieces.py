"""Tensors that are zero but for pieces, which lie one after the other along one dimension."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import ONE, ZERO, Expr, is_nonnegative, parse_exprs
from tilewright.dialects.tw.elementwise_binary import SelectOp
from tilewright.dialects.tw.view import BroadcastOp, ConcatOp, PadOp
from tilewright.dialects.types import sizes_of

from .one_place import one_place
from .splats import splat_of


@dataclass(frozen=True)
class Piece:
    """A part of a tensor, of `size` along a dimension; zeros where there is no value.

    Several values are added. One may lack the dimension, along which it is one element then.
    """

    size: Expr
    values: tuple[SSAValue, ...] = ()


Pieces = tuple[Piece, ...]


def pieces_of(value: SSAValue) -> tuple[int, Pieces] | None:
    """The dimension and the pieces of a tensor that is zero elsewhere."""
    match value.owner:
        case ConcatOp() as op:
            dim = op.dim.value.data
            pieces = [Piece(sizes_of(v)[dim], () if splat_of(v) == 0 else (v,)) for v in op.inputs]
            return dim, _without_seams(pieces)
        case PadOp() as op:
            return _of_pad(op)
        case SelectOp() as op:
            return _of_select(op)
        case _:
            return None


def _of_pad(op: PadOp) -> tuple[int, Pieces] | None:
    low, high = parse_exprs(op.low.data), parse_exprs(op.high.data)
    padded = [d for d, amounts in enumerate(zip(low, high, strict=True)) if amounts != (ZERO, ZERO)]
    if op.value.value.data != 0 or len(padded) != 1:
        return None
    (dim,) = padded
    inner = Piece(sizes_of(op.source)[dim], (op.source,))
    return dim, _without_seams([Piece(low[dim]), inner, Piece(high[dim])])


def _of_select(op: SelectOp) -> tuple[int, Pieces] | None:
    found, chosen = one_place(op.condition), op.on_true.owner
    if found is None or splat_of(op.on_false) != 0 or not isinstance(chosen, BroadcastOp):
        return None
    dim, place = found
    sizes = sizes_of(op.result)
    if sizes_of(chosen.source) != (*sizes[:dim], *sizes[dim + 1 :]) or dim in ints(chosen.dims):
        return None
    return dim, _without_seams(
        [Piece(ONE * place), Piece(ONE, (chosen.source,)), Piece(sizes[dim] - place - 1)]
    )


def _without_seams(pieces: Sequence[Piece]) -> Pieces:
    """Without empty ones, and zeros beside zeros are one piece."""
    found: list[Piece] = []
    for piece in pieces:
        if piece.size == ZERO:
            continue
        if found and not found[-1].values and not piece.values:
            piece = Piece(found.pop().size + piece.size)
        found.append(piece)
    return tuple(found)


def added(a: Pieces, b: Pieces) -> Pieces | None:
    """The pieces of a sum; None if pieces overlap that are not the same, or if that cannot be known."""
    found: list[Piece] = []
    left, right = deque(a), deque(b)
    while left and right:
        x, y = left.popleft(), right.popleft()
        if x.size != y.size:
            x_is_longer = is_nonnegative(x.size - y.size)
            longer, shorter, rest = (x, y, left) if x_is_longer else (y, x, right)
            more = longer.size - shorter.size
            if longer.values or not is_nonnegative(more):
                return None
            rest.appendleft(Piece(more))
            found.append(shorter)
        else:
            found.append(Piece(x.size, (*x.values, *y.values)))
    return None if left or right else _without_seams(found)
