"""`as_strided`, its inverse, `resize`: tensors as the memory that they fill, in other sizes and strides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce, wraps
from typing import Any

import torch
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import ZERO, Expr, as_expr, is_nonnegative, product
from tilewright.dialects.tw.creation import IotaOp
from tilewright.dialects.tw.elementwise_binary import AddOp
from tilewright.dialects.tw.indexing import GatherOp, ScatterOp
from tilewright.dialects.tw.view import PadOp, SliceOp
from tilewright.dialects.types import sizes_of
from tilewright.passes.memory.layouts import Layout, dense_order

from ..errors import Unsupported, UnsupportedNode
from ..fx.locations import place_of
from ..fx.strides import layout_of
from .builder import Builder, Row


def _as_strided(b: Builder, x: SSAValue, size: Any, stride: Any, storage_offset: Any = None) -> SSAValue:
    """Read the elements of `x` in memory order; defined where `x` fills its memory densely."""
    offset, strides = _first(b, storage_offset), _steps(stride)
    flat = _in_memory(b, x, _order_in_memory(b))
    turned = _covering(b, b.sizes, strides, flat, offset)
    if turned is not None:
        return _from_memory(b, flat, b.sizes, turned)
    return b.emit(GatherOp(flat, [_places(b, flat, b.sizes, strides, offset)], [0], 0))


def _as_strided_scatter(
    b: Builder, x: SSAValue, source: SSAValue, size: Any, stride: Any, storage_offset: Any = None
) -> SSAValue:
    """`x` with `source` at the elements that `as_strided` reads."""
    order, offset = _order_in_memory(b), _first(b, storage_offset)
    source = b.cast(source, b.element)
    flat, sizes, strides = _in_memory(b, x, order), sizes_of(source), _steps(stride)
    turned = _covering(b, sizes, strides, flat, offset)
    if turned is not None:
        filled = _in_memory(b, source, turned)
    else:
        filled = b.emit(ScatterOp(flat, [_places(b, flat, sizes, strides, offset)], source, [0], 0))
    return _from_memory(b, filled, sizes_of(x), order)


def _resize(b: Builder, x: SSAValue, like: Any, memory_format: Any = None) -> SSAValue:
    """The elements of `x` in memory order, in the memory of a tensor of other sizes, row-major or as traced.

    What they do not fill has any values in eager mode, and those of its deterministic mode here.
    """
    order = layout_of(b.fake, b.symbols).dense_order
    flat = _in_memory(b, x, _order_in_memory(b))
    more = product(b.sizes) - sizes_of(flat)[0]
    if order is None or not (is_nonnegative(more) or is_nonnegative(-more)):
        raise Unsupported("which of its elements are new depends on sizes that change")
    if is_nonnegative(-more):
        filled = b.emit(SliceOp(flat, [0], [product(b.sizes)], [1]))
    else:
        filled = b.emit(PadOp(flat, [0], [more], _undefined(b.fake.dtype)))
    return _from_memory(b, filled, b.sizes, order)


def _undefined(dtype: torch.dtype) -> float | int | bool:
    """What `torch.utils.deterministic.fill_uninitialized_memory` fills with."""
    if dtype.is_floating_point:
        return float("nan")
    return True if dtype == torch.bool else torch.iinfo(dtype).max


def _order_in_memory(b: Builder) -> tuple[int, ...]:
    """The dimensions of the first operand, outermost in memory first."""
    order = layout_of(b.input_fake(0), b.symbols).dense_order
    if order is None:
        raise _out_of_reach(b, "its operand has gaps or overlaps")
    return order


def _first(b: Builder, storage_offset: Any) -> Expr:
    """Which element of the operand comes first: offsets count from the start of its memory."""
    if storage_offset is None:
        return ZERO
    return as_expr(storage_offset) - b.symbols.expr(b.input_fake(0).storage_offset())


def _steps(stride: Any) -> tuple[Expr, ...]:
    return tuple(map(as_expr, stride))


def _covering(
    b: Builder, sizes: tuple[Expr, ...], strides: tuple[Expr, ...], flat: SSAValue, offset: Expr
) -> tuple[int, ...] | None:
    """The order of dimensions that are all of the memory, each element once; None of others."""
    if offset or b.symbols.without_quotients(product(sizes) - sizes_of(flat)[0]):
        return None
    return dense_order(Layout(ZERO, sizes, strides))


def _in_memory(b: Builder, x: SSAValue, order: Sequence[int]) -> SSAValue:
    return b.reshape(b.transpose(x, order), (product(sizes_of(x)),))


def _from_memory(b: Builder, flat: SSAValue, sizes: Sequence[Expr], order: Sequence[int]) -> SSAValue:
    shaped = b.reshape(flat, tuple(sizes[d] for d in order))
    return b.transpose(shaped, [order.index(d) for d in range(len(order))])


def _places(
    b: Builder, flat: SSAValue, sizes: tuple[Expr, ...], strides: Sequence[Expr], offset: Expr
) -> SSAValue:
    """Where in the memory each element stands."""
    _check_within(b, flat, sizes, strides, offset)
    if not sizes:
        return b.reshape(b.emit(IotaOp(i64, (1,), 0, offset)), ())
    first, *others = (
        b.emit(IotaOp(i64, sizes, d, ZERO if d else offset, step)) for d, step in enumerate(strides)
    )
    return reduce(lambda place, steps: b.emit(AddOp(place, steps)), others, first)


def _check_within(
    b: Builder, flat: SSAValue, sizes: Sequence[Expr], strides: Sequence[Expr], offset: Expr
) -> None:
    """Elements of the memory that are no elements of the operand are out of reach, for ATen too."""
    if any(n.constant == 0 for n in sizes):
        return
    last = offset + sum(((n - 1) * step for n, step in zip(sizes, strides, strict=True)), ZERO)
    room = b.symbols.without_quotients(sizes_of(flat)[0] - 1 - last)
    if not is_nonnegative(offset) or not is_nonnegative(room):
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
    "aten.resize.default": _or_whole_graph(_resize),
    "aten.resize_as.default": _or_whole_graph(_resize),
}
ON_CARRIERS: dict[str, Row] = dict.fromkeys(ROWS, _carried)
