"""`as_strided` and its inverse: tensors as the memory that they fill, seen by other sizes and strides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import Expr, as_expr, product
from tilewright.dialects.tw.creation import IotaOp
from tilewright.dialects.tw.elementwise_binary import AddOp
from tilewright.dialects.tw.indexing import GatherOp, ScatterOp
from tilewright.dialects.types import sizes_of

from ..errors import Unsupported, UnsupportedNode
from ..fx.locations import place_of
from ..fx.strides import Layout, layout_of
from .builder import Builder, Row, integer, integers


def _as_strided(b: Builder, x: SSAValue, size: Any, stride: Any, storage_offset: Any = None) -> SSAValue:
    """Read the elements of `x` in memory order; defined where `x` fills its memory densely."""
    offset = _first(b, storage_offset)
    flat = _in_memory(b, x, _order_in_memory(b))
    turned = _covering(b.sizes, stride, flat, offset)
    if turned is not None:
        return _from_memory(b, flat, b.sizes, turned)
    return b.emit(GatherOp(flat, [_places(b, flat, b.sizes, integers(stride), offset)], [0], 0))


def _as_strided_scatter(
    b: Builder, x: SSAValue, source: SSAValue, size: Any, stride: Any, storage_offset: Any = None
) -> SSAValue:
    """`x` with `source` at the elements that `as_strided` reads."""
    order, offset = _order_in_memory(b), _first(b, storage_offset)
    flat, sizes = _in_memory(b, x, order), sizes_of(source)
    turned = _covering(sizes, stride, flat, offset)
    if turned is not None:
        filled = _in_memory(b, source, turned)
    else:
        filled = b.emit(ScatterOp(flat, [_places(b, flat, sizes, integers(stride), offset)], source, [0], 0))
    return _from_memory(b, filled, sizes_of(x), order)


def _order_in_memory(b: Builder) -> tuple[int, ...]:
    """The dimensions of the first operand, outermost in memory first."""
    order = layout_of(b.input_fake(0), b.symbols).dense_order
    if order is None:
        raise _out_of_reach(b, "its operand has gaps or overlaps")
    return order


def _first(b: Builder, storage_offset: Any) -> int:
    """Which element of the operand comes first: offsets count from the start of its memory."""
    if storage_offset is None:
        return 0
    return integer(storage_offset) - integer(b.symbols.expr(b.input_fake(0).storage_offset()))


def _covering(sizes: tuple[Expr, ...], strides: Any, flat: SSAValue, offset: int) -> tuple[int, ...] | None:
    """The order of dimensions that are all of the memory, each element once; None of others."""
    if offset or product(sizes) != sizes_of(flat)[0]:
        return None
    return Layout(sizes, tuple(map(as_expr, strides))).dense_order


def _in_memory(b: Builder, x: SSAValue, order: Sequence[int]) -> SSAValue:
    return b.reshape(b.transpose(x, order), (product(sizes_of(x)),))


def _from_memory(b: Builder, flat: SSAValue, sizes: Sequence[Expr], order: Sequence[int]) -> SSAValue:
    shaped = b.reshape(flat, tuple(sizes[d] for d in order))
    return b.transpose(shaped, [order.index(d) for d in range(len(order))])


def _places(
    b: Builder, flat: SSAValue, sizes: tuple[Expr, ...], strides: Sequence[int], offset: int
) -> SSAValue:
    """Where in the memory each element stands."""
    _check_within(b, flat, sizes, strides, offset)
    place = b.full(offset, i64, sizes)
    for d, step in enumerate(strides):
        place = b.emit(AddOp(place, b.emit(IotaOp(i64, sizes, d, 0, step))))
    return place


def _check_within(
    b: Builder, flat: SSAValue, sizes: Sequence[Expr], strides: Sequence[int], offset: int
) -> None:
    """Elements of the memory that are no elements of the operand are out of reach, for ATen too."""
    if any(n.constant == 0 for n in sizes):
        return
    last = as_expr(offset)
    for n, step in zip(sizes, strides, strict=True):
        last = last + (n - 1) * step
    room = sizes_of(flat)[0] - 1 - last
    if offset < 0 or room.constant is None or room.constant < 0:
        raise _out_of_reach(b, "it may read beyond the elements of its operand")


def _out_of_reach(b: Builder, reason: str) -> UnsupportedNode:
    """ATen in the operation's place would see the same elements only: the whole graph has to go there."""
    return UnsupportedNode(where=place_of(b.location), target=b.node.target, reason=reason)


def _or_whole_graph(row: Callable[..., SSAValue]) -> Row:
    """What the row does not support, ATen cannot run alone either."""

    @wraps(row)
    def checked(b: Builder, *args: Any, **kwargs: Any) -> SSAValue:
        try:
            return row(b, *args, **kwargs)
        except Unsupported as why:
            raise _out_of_reach(b, why.reason) from why

    return checked


def _carried(b: Builder, *_: object, **__: object) -> SSAValue:
    raise _out_of_reach(b, b.no_element_type().reason)


ROWS: dict[str, Row] = {
    "aten.as_strided.default": _or_whole_graph(_as_strided),
    "aten.as_strided_copy.default": _or_whole_graph(_as_strided),
    "aten.as_strided_scatter.default": _or_whole_graph(_as_strided_scatter),
}
ON_CARRIERS: dict[str, Row] = dict.fromkeys(ROWS, _carried)
