"""ATen operations on dtypes that the IR lacks, where ordinary ops on their carriers say what they do.

What only moves elements moves carriers: complex numbers travel as pairs in a trailing dimension of 2, which
stays where it is. Sums and products of complex numbers are written out. The rest runs through ATen.

A row here sees the node as its carrier: `b.fake`, and so `b.sizes` and `b.element`, are those of the pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from tilewright.dialects import index_expr
from tilewright.dialects.tw.creation import IotaOp
from tilewright.dialects.tw.elementwise import CosOp, NegOp, SinOp
from tilewright.dialects.tw.elementwise_binary import AddOp, CompareOp, MulOp, SelectOp, SubOp
from tilewright.dialects.tw.view import ReshapeOp, ReverseOp
from tilewright.dialects.types import is_half, sizes_of

from ..fx.dtypes import CARRIERS, encode
from . import indexing, reduction, scatters, strided, view
from .builder import Builder, Row, axis
from .indexing import with_rank
from .masks import is_mask


def on_carriers(b: Builder, overload: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The value of the current node, an operand or result of which is carried; None without a row for it.

    Raises Unsupported.
    """
    row = MAKING.get(overload) or (None if kwargs else ROWS.get(overload))
    if row is None:
        return None
    seen = b.fake
    b.fake = _as_carriers(seen)
    try:
        return row(b, *args, **kwargs)
    finally:
        b.fake = seen


def _as_carriers(fake: Any) -> Any:
    if isinstance(fake, tuple | list):
        return [_as_carriers(part) for part in cast("Sequence[Any]", fake)]
    return encode(fake) if isinstance(fake, torch.Tensor) else fake


def _carried(b: Builder, value: Any) -> torch.Tensor | None:
    """What `value` stands for, None for itself."""
    return b.carried.get(cast("SSAValue", value)) if isinstance(value, SSAValue) else None


def _is_pair(b: Builder, value: Any) -> bool:
    """Whether `value` stands for complex numbers."""
    fake = _carried(b, value)
    return fake is not None and CARRIERS[fake.dtype].pair


def _rank(b: Builder, value: SSAValue) -> int:
    """The number of dimensions that the program sees."""
    return len(sizes_of(value)) - _is_pair(b, value)


# What moves elements


def _same(b: Builder, x: SSAValue, *_: object, **__: object) -> SSAValue:
    return x


def _another(b: Builder, x: SSAValue) -> SSAValue:
    """The same bits as a value of its own: it stands for another dtype."""
    return b.emit(ReshapeOp(x, sizes_of(x)))


def _copied(b: Builder, target: SSAValue, source: Any) -> SSAValue:
    return _operand(b, source)


def _along(row: Row, at: int = 1, default: int = 0) -> Row:
    """`row`, whose argument number `at` is a dimension or a list of them; a number is one element."""

    def moved(b: Builder, *given: Any) -> Any:
        args: list[Any] = list(given) if len(given) > at else [*given, default]
        rank, dims = _rank(b, args[0]), args[at]
        if rank == 0:
            return args[0]
        if isinstance(dims, list | tuple):
            args[at] = [axis(d, rank) for d in cast("Sequence[Any]", dims)]
        else:
            args[at] = axis(dims, rank)
        return row(b, *args)

    return moved


def _permute(b: Builder, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    rank = _rank(b, x)
    return b.transpose(x, [*(axis(d, rank) for d in dims), *range(rank, len(sizes_of(x)))])


def _swap(b: Builder, x: SSAValue, first: int, second: int) -> SSAValue:
    dims = list(range(rank := _rank(b, x)))
    if rank:
        i, j = axis(first, rank), axis(second, rank)
        dims[i], dims[j] = dims[j], dims[i]
    return _permute(b, x, dims)


def _matrix_transpose(b: Builder, x: SSAValue) -> SSAValue:
    return _permute(b, x, list(reversed(range(_rank(b, x)))))


def _cat(b: Builder, tensors: Sequence[SSAValue], dim: int = 0) -> SSAValue:
    fakes = [b.carried.get(tensor) for tensor in tensors]
    if any(f is None or f.dtype != fakes[0].dtype or f.dim() != fakes[0].dim() for f in fakes):  # pyright: ignore[reportOptionalMemberAccess]
        raise b.no_element_type()
    return view.ROWS["aten.cat.default"](b, tensors, axis(dim, _rank(b, tensors[0])))


def _pad(b: Builder, x: SSAValue, pads: Sequence[Any], value: Any = 0) -> SSAValue:
    if value != 0:
        raise b.no_element_type()
    kept = [0, 0] if _is_pair(b, x) else []
    return view.ROWS["aten.constant_pad_nd.default"](b, x, [*kept, *pads])


def _repeat(b: Builder, x: SSAValue, repeats: Sequence[Any]) -> SSAValue:
    kept = [1] if _is_pair(b, x) else []
    return view.ROWS["aten.repeat.default"](b, x, [*repeats, *kept])


def _in_pairs(b: Builder, x: SSAValue, dim: int, index: SSAValue) -> tuple[SSAValue, int, SSAValue]:
    """What is gathered from or scattered into, where an index means both parts; a number is one element."""
    if not _is_pair(b, x):
        return x, dim, index
    index = with_rank(b, index)
    pairs = b.broadcast(_beside(b, index), (*sizes_of(index), index_expr.as_expr(2)))
    rank = _rank(b, x)
    return x if rank else b.reshape(x, (1, 2)), axis(dim, rank), pairs


def _gather(b: Builder, x: SSAValue, dim: int, index: SSAValue) -> SSAValue:
    return indexing.ROWS["aten.gather.default"](b, *_in_pairs(b, x, dim, index))


def _scatter_add(b: Builder, x: SSAValue, dim: int, index: SSAValue, source: SSAValue) -> SSAValue:
    _check_complex(b)
    if not _rank(b, source):
        source = b.reshape(source, (1, 2))
    added = scatters.ROWS["aten.scatter_add.default"](b, *_in_pairs(b, x, dim, index), source)
    return b.reshape(added, b.sizes)


def _index_put(
    b: Builder, x: SSAValue, indices: Sequence[SSAValue | None], values: SSAValue, accumulate: bool = False
) -> SSAValue:
    if accumulate:
        _check_complex(b)
    if any(index is not None and is_mask(index) for index in indices):
        raise b.no_element_type()
    return scatters.ROWS["aten.index_put.default"](b, x, indices, values, accumulate)


def _scattered(row: Row, at: int = 1) -> Row:
    """`row`, whose argument number `at` is written into the result, and has its dtype."""

    def written(b: Builder, *args: Any) -> SSAValue:
        fake = _carried(b, args[at])
        if fake is None or fake.dtype != b.node.meta["val"].dtype:
            raise b.no_element_type()
        return row(b, *args)

    return written


def _sum(b: Builder, x: SSAValue, dims: Sequence[int] | None = None, keepdim: bool = False) -> SSAValue:
    _check_complex(b)
    rank = _rank(b, x)
    over = [axis(d, rank) for d in dims] if dims else list(range(rank))
    return reduction.ROWS["aten.sum.dim_IntList"](b, x, over, keepdim) if rank else x


# What makes pairs


def _zeros(b: Builder, *_: object, **__: object) -> SSAValue:
    return b.full(0, b.element, b.sizes)


def _full(b: Builder, _: object, value: Any, **__: object) -> SSAValue:
    if isinstance(value, int) and value == 0:  # no bit is set, whatever the dtype
        return _zeros(b)
    _check_complex(b)
    return _operand(b, value)


def _scalar(b: Builder, value: Any, **__: object) -> SSAValue:
    return _full(b, None, value)


def _is_real_part(b: Builder) -> SSAValue:
    """Where the real parts of the result stand."""
    part = b.emit(IotaOp(i64, b.sizes, len(b.sizes) - 1, 0, 1))
    return b.emit(CompareOp(part, b.full(0, i64, b.sizes), "eq"))


def _joined(b: Builder, real: Any, imaginary: Any) -> SSAValue:
    """Pairs of two parts, tensors or numbers."""
    parts = [b.operand(_beside(b, part), b.element, b.sizes) for part in (real, imaginary)]
    return b.emit(SelectOp(_is_real_part(b), *parts))


def _beside(b: Builder, part: Any) -> Any:
    """What broadcasts along the dimension of the pairs."""
    if not isinstance(part, SSAValue):
        return part
    tensor = cast("SSAValue", part)
    return b.reshape(tensor, (*sizes_of(tensor), index_expr.ONE))


def _operand(b: Builder, value: Any) -> SSAValue:
    """`value`, carried or real, as a carrier of the result."""
    fake, result = _carried(b, value), b.node.meta["val"]
    if fake is not None:
        if fake.dtype != result.dtype and not (fake.is_complex() and result.is_complex()):
            raise b.no_element_type()  # only the parts of complex numbers are converted as their carriers are
        return b.operand(value, b.element, b.sizes)
    _check_complex(b)
    if isinstance(value, complex):
        return _joined(b, value.real, value.imag)
    return _joined(b, value, 0)


def _converted(b: Builder, x: SSAValue, _: object) -> SSAValue | None:
    """Complex numbers of another width, or made of real ones; the real parts of complex ones."""
    result = b.node.meta["val"]
    if result.is_complex():
        return _operand(b, x)
    if not _is_pair(b, x):
        return None
    if result.dtype in CARRIERS or b.element == i1:
        raise b.no_element_type()
    real = view.take(b, x, len(b.sizes), 0, 1)
    return b.cast(b.reshape(real, b.sizes), b.element, rounded=True)


# Arithmetic on complex numbers


def _check_complex(b: Builder) -> None:
    """Integers that carry other dtypes are no numbers, and complex halves are rounded as ATen likes."""
    if not b.node.meta["val"].is_complex() or is_half(b.element):
        raise b.no_element_type()


def _arithmetic(compute: Callable[[Builder, SSAValue, SSAValue], SSAValue]) -> Row:
    def row(b: Builder, x: Any, y: Any) -> SSAValue:
        _check_complex(b)
        return compute(b, _operand(b, x), _operand(b, y))

    return row


def _product(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """(a + bi)(c + di) = (ac - bd) + (ad + bc)i."""
    last = len(b.sizes) - 1
    real, imaginary = (b.broadcast(view.take(b, x, last, part, 1), b.sizes) for part in (0, 1))
    straight = b.emit(MulOp(real, y))
    across = b.emit(MulOp(imaginary, b.emit(ReverseOp(y, [last]))))
    difference, total = b.emit(SubOp(straight, across)), b.emit(AddOp(straight, across))
    return b.emit(SelectOp(_is_real_part(b), difference, total))


def _negative(b: Builder, x: Any) -> SSAValue:
    _check_complex(b)
    return b.emit(NegOp(_operand(b, x)))


def _conjugate(b: Builder, x: Any) -> SSAValue:
    """The gradient of a product with a number conjugates that number, which is no tensor."""
    _check_complex(b)
    pairs = _operand(b, x)
    return b.emit(SelectOp(_is_real_part(b), pairs, b.emit(NegOp(pairs))))


def _polar(b: Builder, length: SSAValue, angle: SSAValue) -> SSAValue:
    _check_complex(b)
    size, turn = (b.operand(_beside(b, part), b.element, b.sizes) for part in (length, angle))
    direction = b.emit(SelectOp(_is_real_part(b), b.emit(CosOp(turn)), b.emit(SinOp(turn))))
    return b.emit(MulOp(size, direction))


def _where(b: Builder, condition: SSAValue, x: Any, y: Any) -> SSAValue:
    kept = b.operand(_beside(b, condition) if b.node.meta["val"].is_complex() else condition, i1, b.sizes)
    return b.emit(SelectOp(kept, _operand(b, x), _operand(b, y)))


MAKING: dict[str, Row] = {
    **strided.ON_CARRIERS,
    **dict.fromkeys(
        (
            "aten.clone.default",
            "aten.alias.default",
            "aten.detach.default",
            "aten.lift_fresh_copy.default",
        ),
        _same,
    ),
    **dict.fromkeys(
        (
            "aten.zeros_like.default",
            "aten.new_zeros.default",
            "aten._efficientzerotensor.default",
            "aten._new_zeros_with_same_feature_meta.default",
            "aten.empty.memory_format",
            "aten.empty_like.default",
            "aten.new_empty.default",
            "aten.new_empty_strided.default",
        ),
        _zeros,
    ),
    "aten.full.default": _full,
    "aten.full_like.default": _full,
    "aten.scalar_tensor.default": _scalar,
}
"""Rows that take keywords, which say where and how the result stands in memory."""

ROWS: dict[str, Row] = {
    **{name: row for name, row in view.ROWS.items() if row is view.ROWS["aten.view.default"]},
    **{
        name: _along(view.ROWS[name])
        for name in ("aten.slice.Tensor", "aten.select.int", "aten.unbind.int", "aten.flip.default")
    },
    **{
        name: _along(view.ROWS[name], 2)
        for name in (
            "aten.split.Tensor",
            "aten.split_with_sizes.default",
        )
    },
    **{
        name: _along(_scattered(view.ROWS[name]), 2)
        for name in ("aten.slice_scatter.default", "aten.select_scatter.default")
    },
    "aten.expand.default": view.ROWS["aten.expand.default"],
    "aten.permute.default": _permute,
    "aten.transpose.int": _swap,
    "aten.t.default": _matrix_transpose,
    "aten.cat.default": _cat,
    "aten.constant_pad_nd.default": _pad,
    "aten.repeat.default": _repeat,
    "aten.copy.default": _copied,
    "aten.index.Tensor": indexing.ROWS["aten.index.Tensor"],
    "aten.index_select.default": _along(indexing.ROWS["aten.index_select.default"]),
    "aten.embedding.default": indexing.ROWS["aten.embedding.default"],
    "aten.gather.default": _gather,
    "aten.scatter_add.default": _scattered(_scatter_add, 3),
    "aten.index_put.default": _scattered(_index_put, 2),
    "prims.convert_element_type.default": _converted,
    "aten.where.self": _where,
    "aten.view_as_real.default": _another,
    "aten.view_as_complex.default": _another,
    "aten.complex.default": _joined,
    "aten.polar.default": _polar,
    "aten._conj.default": _conjugate,
    "aten.conj_physical.default": _conjugate,
    "aten.neg.default": _negative,
    "aten.add.Tensor": _arithmetic(lambda b, x, y: b.emit(AddOp(x, y))),
    "aten.sub.Tensor": _arithmetic(lambda b, x, y: b.emit(SubOp(x, y))),
    "aten.rsub.Scalar": _arithmetic(lambda b, x, y: b.emit(SubOp(y, x))),
    "aten.mul.Tensor": _arithmetic(_product),
    "aten.mul.Scalar": _arithmetic(_product),
    "aten.sum.default": _sum,
    "aten.sum.dim_IntList": _sum,
}
