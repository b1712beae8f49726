"""ATen operations that write at positions held in tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from xdsl.dialects.builtin import f32, i1, i8, i16, i32, i64
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects import index_expr
from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tw.base import TwOp
from tilewright.dialects.tw.elementwise_binary import CompareOp, DivOp, FloorDivOp, MulOp, SelectOp
from tilewright.dialects.tw.indexing import ScatterAddOp, ScatterAlongOp, ScatterOp
from tilewright.dialects.types import is_float, is_half, sizes_of, ui8

from ..errors import Unsupported
from .builder import Builder, Operand, Row, axis, element_of
from .indexing import positions, with_rank
from .masks import masked_put, only_mask
from .view import take


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
    work = f32 if is_half(b.element) and b.eager.sums_embedding_gradients_in_f32 else b.element
    sums = ScatterAddOp(b.full(0, work, b.sizes), [indices], b.cast(gradient, work), [0], 0)
    return b.cast(b.emit(sums), b.element)


def _index_put(
    b: Builder,
    x: SSAValue,
    indices: Sequence[SSAValue | None],
    values: SSAValue,
    accumulate: bool = False,
    unsafe: bool = False,
) -> SSAValue:
    if (before := only_mask(indices)) is not None:
        (mask,) = (index for index in indices if index is not None)
        return masked_put(b, x, mask, before, values, accumulate=accumulate)
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
    if b.input_fake(3).dtype != b.node.meta["val"].dtype:
        raise Unsupported("what is added has another dtype")  # which ATen refuses
    shape = sizes_of(x)
    x, index, source = (with_rank(b, value) for value in (x, index, source))
    if alpha != 1:
        scale = b.full(_number(alpha), element_of(source), sizes_of(source))
        source = b.emit(MulOp(source, scale))
    rank = len(sizes_of(x))
    d = axis(dim, rank)
    added = _added(
        b, x, source, lambda t, v: ScatterAddOp(t, [b.cast(index, i64)], v, [d], d, strict=True),
        once=rank > 1 and d in (0, rank - 1),
    )  # fmt: skip
    return b.reshape(added, shape)


def _added(
    b: Builder, x: SSAValue, values: SSAValue, add: Callable[[SSAValue, SSAValue], TwOp], *, once: bool
) -> SSAValue:
    """A sum of halves that is rounded `once`, as eager mode does it, or after each addition.

    A sum of bools says whether any of them is true.
    """
    element = element_of(x)
    work = _working(b, element, "add") if once or element == i1 else element
    return b.cast(b.emit(add(b.cast(x, work), b.cast(values, work))), element)


def _working(b: Builder, element: Attribute, combine: str) -> Attribute:
    """The type in which elements are combined: narrow integers, of which only sums wrap alike, as i32."""
    if is_half(element) and combine in ("add", "mul") and b.eager.sums_halves_in_f32:
        return f32
    narrow = (i1,) if combine == "add" else (i1, i8, ui8, i16)
    return i32 if element in narrow and combine != "none" else element


class _Along:
    """The arguments of a scatter along one dimension, brought to one rank."""

    def __init__(self, b: Builder, x: SSAValue, dim: int, index: SSAValue, source: Operand) -> None:
        self.b, self.element, self.shape = b, element_of(x), sizes_of(x)
        self.x, index = with_rank(b, x), with_rank(b, index)
        self.dim, self.index = axis(dim, len(sizes_of(self.x))), b.cast(index, i64)
        sizes = sizes_of(index)
        if not isinstance(source, SSAValue):
            self.values = b.full(_number(source), self.element, sizes)
            return
        self.values = b.cast(with_rank(b, source), self.element)
        if sizes_of(self.values) != sizes:
            self.values = _leading(b, self.values, sizes)

    def into(self, target: SSAValue, values: SSAValue, combine: str) -> SSAValue:
        return self.b.emit(ScatterAlongOp(target, self.index, values, self.dim, combine))

    def onto(self, target: SSAValue, value: float, combine: str) -> SSAValue:
        """One value at each position."""
        return self.into(target, self.b.full(value, element_of(target), sizes_of(self.index)), combine)

    def combined(self, combine: str, *, include_self: bool = True, mean: bool = False) -> SSAValue:
        """Values at the positions, with what stood there or without."""
        b, work = self.b, _working(self.b, self.element, combine)
        target = b.cast(self.x, work)
        if not include_self:
            target = self.onto(target, _neutral(combine, work), "none")
        found = self.into(target, b.cast(self.values, work), combine)
        if mean:
            counts = b.full(1, work, sizes_of(found))
            counts = self.onto(counts if include_self else self.onto(counts, 0, "none"), 1, "add")
            found = b.emit((DivOp if is_float(work) else FloorDivOp)(found, counts))
        return b.reshape(b.cast(found, self.element), self.shape)


def _neutral(combine: str, element: Attribute) -> float | int:
    """What changes nothing where it is combined."""
    if combine in ("add", "mul"):
        return int(combine == "mul")
    if is_float(element):
        return -inf if combine == "max" else inf
    top = 1 << (31 if element == i32 else 63)
    return -top if combine == "max" else top - 1


_REDUCES = {"sum": "add", "mean": "add", "prod": "mul", "amax": "max", "amin": "min"} | {
    "add": "add",  # as `scatter` calls them
    "multiply": "mul",
}
"""How torch's `reduce` combines."""


def _scatter(combine: str) -> Row:
    def row(
        b: Builder, x: SSAValue, dim: int, index: SSAValue, source: Operand, *, reduce: str = ""
    ) -> SSAValue:
        if _is_empty(index):  # of any rank
            return x
        return _Along(b, x, dim, index, source).combined(_REDUCES.get(reduce, combine))

    return row


def _scatter_reduce(
    b: Builder,
    x: SSAValue,
    dim: int,
    index: SSAValue,
    source: SSAValue,
    reduce: str,
    *,
    include_self: bool = True,
) -> SSAValue:
    if _is_empty(index):
        return x
    along = _Along(b, x, dim, index, source)
    return along.combined(_REDUCES[reduce], include_self=include_self, mean=reduce == "mean")


def _index_reduce(
    b: Builder,
    x: SSAValue,
    dim: int,
    index: SSAValue,
    source: SSAValue,
    reduce: str,
    *,
    include_self: bool = True,
) -> SSAValue:
    """One position for each slice of the source."""
    if _is_empty(index) or _is_empty(source):
        return x
    source = with_rank(b, source)
    sizes = sizes_of(source)
    d = axis(dim, len(sizes))
    line = b.reshape(index, [size if e == d else index_expr.ONE for e, size in enumerate(sizes)])
    return _scatter_reduce(b, x, dim, b.broadcast(line, sizes), source, reduce, include_self=include_self)


def _is_empty(value: SSAValue) -> bool:
    return index_expr.product(sizes_of(value)).constant == 0


def _number(value: Operand) -> bool | int | float | Expr:
    if isinstance(value, bool | int | float | Expr):
        return value
    raise Unsupported("a symbolic float to scatter")


def _leading(b: Builder, value: SSAValue, sizes: Sequence[Expr]) -> SSAValue:
    """The part of `value` that an index of these sizes addresses."""
    for d, size in enumerate(sizes):
        value = take(b, value, d, 0, size)
    return value


ROWS: dict[str, Row] = {
    "aten.embedding_dense_backward.default": _embedding_gradient,
    "aten.index_add.default": _index_add,
    "aten.index_put.default": _index_put,
    "aten._unsafe_index_put.default": _index_put,
    "aten._index_put_impl.default": _index_put,
    "aten.index_reduce.default": _index_reduce,
    "aten.scatter.src": _scatter("none"),
    "aten.scatter.value": _scatter("none"),
    "aten.scatter.reduce": _scatter("none"),
    "aten.scatter.value_reduce": _scatter("none"),
    "aten.scatter_add.default": _scatter("add"),
    "aten.scatter_reduce.two": _scatter_reduce,
}
