"""ATen operations that read at positions held in tensors, and sorts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from tilewright.dialects import index_expr
from tilewright.dialects.index_expr import Expr, as_expr
from tilewright.dialects.tw.indexing import (
    GatherAlongOp,
    GatherOp,
    SortOp,
)
from tilewright.dialects.types import sizes_of
from tilewright.passes.tensor.select_in_parts import is_selected_in_parts
from tilewright.passes.tensor.sort_by_library import is_sorted_by_kernels

from ..errors import Unsupported
from .builder import Builder, Row, axis, element_of
from .masks import is_mask


def _embedding(b: Builder, table: SSAValue, indices: SSAValue, *_: object) -> SSAValue:
    return b.emit(GatherOp(table, [b.cast(indices, i64)], [0], 0, strict=True))


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
    if any(is_mask(index) for _, index in given):
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


def _gather(b: Builder, x: SSAValue, dim: int, index: SSAValue, sparse_grad: bool = False) -> SSAValue:
    if index_expr.product(sizes_of(index)).constant == 0:  # of any rank
        return b.full(0, b.element, b.sizes)
    if not sizes_of(x):
        return b.broadcast(x, b.sizes)
    index = b.cast(with_rank(b, index), i64)
    return b.reshape(b.emit(GatherAlongOp(x, index, axis(dim, len(sizes_of(x))))), b.sizes)


def with_rank(b: Builder, value: SSAValue) -> SSAValue:
    """A number counts as one element beside tensors of rank 1."""
    return value if sizes_of(value) else b.reshape(value, (1,))


def _sorted(
    b: Builder, x: SSAValue, dim: int, *, descending: bool, count: Expr | None = None
) -> tuple[SSAValue, ...]:
    """All in order, or the first ones."""
    sizes = sizes_of(x)
    if not sizes:
        return x, b.full(0, i64, ())
    d = axis(dim, len(sizes))
    limit = b.eager.longest_sort if count is None else b.eager.longest_selection
    few = count is not None and is_selected_in_parts(element_of(x), sizes[d], count, limit)
    in_parts = few and b.eager.selects_in_parts
    if not in_parts and not is_sorted_by_kernels(element_of(x), sizes[d], limit):
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
    return _sorted(b, x, dim, descending=largest, count=as_expr(k))


ROWS: dict[str, Row] = {
    "aten.sort.default": _sort,
    "aten.sort.stable": _stable_sort,
    "aten.topk.default": _topk,
    "aten.embedding.default": _embedding,
    "aten.index.Tensor": _index,
    "aten._unsafe_index.Tensor": _index,
    "aten.index_select.default": _index_select,
    "aten.gather.default": _gather,
}
