"""ATen operations that read or write at positions held in tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import f32, i1, i32, i64
from xdsl.ir import SSAValue

from tilewright.dialects import index_expr
from tilewright.dialects.index_expr import Expr, as_expr
from tilewright.dialects.tw.base import TwOp
from tilewright.dialects.tw.elementwise_binary import AddOp, CompareOp, MulOp, SelectOp
from tilewright.dialects.tw.indexing import (
    GatherAlongOp,
    GatherOp,
    ScatterAddOp,
    ScatterAlongOp,
    ScatterOp,
    SortOp,
)
from tilewright.dialects.types import is_half, sizes_of, ui8
from tilewright.passes.pipeline import LONGEST_SORT

from ..errors import Unsupported
from .builder import Builder, Operand, Row, axis, element_of
from .view import take


def _embedding(b: Builder, table: SSAValue, indices: SSAValue, *_: object) -> SSAValue:
    return b.emit(GatherOp(table, [b.cast(indices, i64)], [0], 0, strict=True))


def _embedding_gradient(
    b: Builder,
    gradient: SSAValue,
    indices: SSAValue,
    count: Any,
    padding: int = -1,
    scale_by_frequency: bool = False,
) -> SSAValue:
    if scale_by_frequency:
        raise Unsupported("embedding gradients scaled by frequency")
    indices = b.cast(indices, i64)
    if padding >= 0:
        sizes = sizes_of(indices)
        kept = b.emit(CompareOp(indices, b.full(padding, i64, sizes), "ne"))
        shape = (*sizes, *[index_expr.ONE] * (len(sizes_of(gradient)) - len(sizes)))
        mask = b.broadcast(b.reshape(kept, shape), sizes_of(gradient))
        zeros = b.full(0, element_of(gradient), sizes_of(gradient))
        gradient = b.emit(SelectOp(mask, gradient, zeros))
    target = b.full(0, b.element, b.sizes)
    return b.emit(ScatterAddOp(target, [indices], gradient, [0], 0))


def _common_shape(indices: Sequence[SSAValue]) -> tuple[Expr, ...]:
    """The shape to which index tensors broadcast."""
    rank = max(len(sizes_of(index)) for index in indices)
    shape = [index_expr.ONE] * rank
    for index in indices:
        sizes = sizes_of(index)
        for d, size in enumerate(sizes, start=rank - len(sizes)):
            if size.constant != 1:
                shape[d] = size
    return tuple(shape)


def positions(b: Builder, indices: Sequence[SSAValue | None]) -> tuple[list[SSAValue], list[int], int]:
    """Index tensors of one shape, the dimensions they index, and where that shape stands."""
    given = [(d, index) for d, index in enumerate(indices) if index is not None]
    if any(element_of(index) in (i1, ui8) for _, index in given):
        raise Unsupported("masks as indices (the result size depends on data)")
    dims = [d for d, _ in given]
    shape = _common_shape([index for _, index in given])
    tensors = [b.broadcast(b.cast(index, i64), shape) for _, index in given]
    adjacent = dims == list(range(dims[0], dims[0] + len(dims)))
    return tensors, dims, dims[0] if adjacent else 0


def _index(b: Builder, x: SSAValue, indices: Sequence[SSAValue | None]) -> SSAValue:
    if all(index is None for index in indices):
        return x
    tensors, dims, at = positions(b, indices)
    return b.emit(GatherOp(x, tensors, dims, at))


def _index_select(b: Builder, x: SSAValue, dim: int, index: SSAValue) -> SSAValue:
    d = axis(dim, len(sizes_of(x)))
    if not sizes_of(x):
        return x
    flat = b.reshape(index, (index_expr.product(sizes_of(index)),))
    return b.emit(GatherOp(x, [b.cast(flat, i64)], [d], d, strict=True))


def _index_put(
    b: Builder,
    x: SSAValue,
    indices: Sequence[SSAValue | None],
    values: SSAValue,
    accumulate: bool = False,
    unsafe: bool = False,
) -> SSAValue:
    if _is_mask(x, indices):
        return _masked_put(b, x, indices, values, accumulate)
    tensors, dims, at = positions(b, indices)
    kept = [size for d, size in enumerate(sizes_of(x)) if d not in dims]
    shape = (*kept[:at], *sizes_of(tensors[0]), *kept[at:])
    values = b.broadcast(b.cast(values, element_of(x)), shape)
    if not accumulate:
        return b.emit(ScatterOp(x, tensors, values, dims, at))
    return _added(b, x, values, lambda t, v: ScatterAddOp(t, tensors, v, dims, at), once=False)


def _index_add(
    b: Builder, x: SSAValue, dim: int, index: SSAValue, source: SSAValue, *, alpha: Operand = 1
) -> SSAValue:
    shape = sizes_of(x)
    x, index, source = (_with_rank(b, value) for value in (x, index, source))
    if alpha != 1:
        scale = b.full(number(alpha), element_of(source), sizes_of(source))
        source = b.emit(MulOp(source, scale))
    rank = len(sizes_of(x))
    d = axis(dim, rank)
    added = _added(
        b, x, source, lambda t, v: ScatterAddOp(t, [b.cast(index, i64)], v, [d], d, strict=True),
        once=rank > 1 and d in (0, rank - 1),
    )  # fmt: skip
    return b.reshape(added, shape)


_ROUNDED_ONCE = frozenset({"cpu"})
"""Devices where eager mode adds halves up in f32: `scatter_add`, and `index_add` along an outer side."""


def _added(
    b: Builder, x: SSAValue, values: SSAValue, add: Callable[[SSAValue, SSAValue], TwOp], *, once: bool
) -> SSAValue:
    """A sum of halves that is rounded `once`, as eager mode does it, or after each addition.

    A sum of bools says whether any of them is true.
    """
    element = work = element_of(x)
    if once and is_half(element) and b.fake.device.type in _ROUNDED_ONCE:
        work = f32
    elif element == i1:
        work = i32
    return b.cast(b.emit(add(b.cast(x, work), b.cast(values, work))), element)


def _is_mask(x: SSAValue, indices: Sequence[SSAValue | None]) -> bool:
    return len(indices) == 1 and indices[0] is not None and element_of(indices[0]) == i1


def _masked_put(
    b: Builder, x: SSAValue, indices: Sequence[SSAValue | None], values: SSAValue, accumulate: bool
) -> SSAValue:
    """`x[mask] = value` with one value for all is a select."""
    (mask,) = indices
    assert mask is not None
    if index_expr.product(sizes_of(values)).constant != 1:
        raise Unsupported("several values at masked positions (the count depends on data)")
    sizes = sizes_of(x)
    ones = [index_expr.ONE] * (len(sizes) - len(sizes_of(mask)))
    where = b.broadcast(b.reshape(mask, (*sizes_of(mask), *ones)), sizes)
    value = b.broadcast(b.reshape(b.cast(values, element_of(x)), ()), sizes)
    if accumulate:
        value = b.emit(AddOp(x, value))
    return b.emit(SelectOp(where, value, x))


def _gather(b: Builder, x: SSAValue, dim: int, index: SSAValue, sparse_grad: bool = False) -> SSAValue:
    if index_expr.product(sizes_of(index)).constant == 0:  # of any rank
        return b.full(0, b.element, b.sizes)
    if not sizes_of(x):
        return b.broadcast(x, b.sizes)
    index = b.cast(_with_rank(b, index), i64)
    return b.reshape(b.emit(GatherAlongOp(x, index, axis(dim, len(sizes_of(x))))), b.sizes)


def _with_rank(b: Builder, value: SSAValue) -> SSAValue:
    """A number counts as one element beside tensors of rank 1."""
    return value if sizes_of(value) else b.reshape(value, (1,))


def _scatter(combine: str) -> Row:
    def row(b: Builder, x: SSAValue, dim: int, index: SSAValue, source: Operand) -> SSAValue:
        if index_expr.product(sizes_of(index)).constant == 0:  # of any rank
            return x
        if not sizes_of(x):
            raise Unsupported("scatter into a number")
        index = _with_rank(b, index)
        sizes = sizes_of(index)
        if isinstance(source, SSAValue):
            values = _with_rank(b, source)
        else:
            values = b.full(number(source), element_of(x), sizes)
        if sizes_of(values) != sizes:
            values = _leading(b, values, sizes)
        d, index = axis(dim, len(sizes_of(x))), b.cast(index, i64)
        return _added(
            b, x, values, lambda t, v: ScatterAlongOp(t, index, v, d, combine), once=combine == "add"
        )

    return row


def number(value: Operand) -> bool | int | float | Expr:
    if isinstance(value, bool | int | float | Expr):
        return value
    raise Unsupported("a symbolic float to scatter")


def _leading(b: Builder, value: SSAValue, sizes: Sequence[Expr]) -> SSAValue:
    """The part of `value` that an index of these sizes addresses."""
    for d, size in enumerate(sizes):
        value = take(b, value, d, 0, size)
    return value


_SELECTING = frozenset({"cpu"})
"""Devices where `aten::topk` picks the few that are wanted: sorting all takes 4 to 25 times as long."""


def _sorted(
    b: Builder, x: SSAValue, dim: int, *, descending: bool, count: Expr | None = None
) -> tuple[SSAValue, ...]:
    sizes = sizes_of(x)
    if not sizes:
        return x, b.full(0, i64, ())
    d = axis(dim, len(sizes))
    length = sizes[d].constant
    if length is None or length > LONGEST_SORT:
        raise Unsupported(f"rows of {sizes[d]} elements are sorted by ATen")
    b.add(op := SortOp(x, d, descending=descending, count=count))
    return tuple(op.results)


def _sort(b: Builder, x: SSAValue, dim: int = -1, descending: bool = False) -> tuple[SSAValue, ...]:
    return _sorted(b, x, dim, descending=descending)


def _stable_sort(
    b: Builder, x: SSAValue, *, stable: object = None, dim: int = -1, descending: bool = False
) -> tuple[SSAValue, ...]:
    return _sorted(b, x, dim, descending=descending)


def _topk(
    b: Builder, x: SSAValue, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[SSAValue, ...]:
    """In order, whether asked for or not."""
    if b.fake[0].device.type in _SELECTING:
        raise Unsupported("ATen picks a few elements without sorting the others")
    return _sorted(b, x, dim, descending=largest, count=as_expr(k))


ROWS: dict[str, Row] = {
    "aten.sort.default": _sort,
    "aten.sort.stable": _stable_sort,
    "aten.topk.default": _topk,
    "aten.embedding.default": _embedding,
    "aten.embedding_dense_backward.default": _embedding_gradient,
    "aten.index.Tensor": _index,
    "aten._unsafe_index.Tensor": _index,
    "aten.index_add.default": _index_add,
    "aten.index_select.default": _index_select,
    "aten.index_put.default": _index_put,
    "aten._unsafe_index_put.default": _index_put,
    "aten._index_put_impl.default": _index_put,
    "aten.gather.default": _gather,
    "aten.scatter.src": _scatter("none"),
    "aten.scatter.value": _scatter("none"),
    "aten.scatter_add.default": _scatter("add"),
}
