"""Rows that are too long for the sort of a kernel, as calls of ATen."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr, IntegerAttr, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tw.aten import ArgAttr, AtenOp
from tilewright.dialects.tw.indexing import SortOp
from tilewright.dialects.tw.view import SliceOp
from tilewright.dialects.types import bytes_of, compute_type, element_type_of, sizes_of, tensor_type

from ..driver import Rewrite
from ..rewrite import note


def longest_row(element: Attribute, limit: int) -> int:
    """Elements of a row that a kernel sorts: a quarter of `limit` where keys have 64 bits."""
    return limit if bytes_of(compute_type(element)) < 8 else limit // 4


def is_sorted_by_kernels(element: Attribute, length: Expr, limit: int) -> bool:
    """Whether rows are no longer than that."""
    return length.constant is not None and length.constant <= longest_row(element, limit)


def sort_by_library(limit: int, op: Operation, rw: Rewrite) -> Sequence[SSAValue] | None:
    """The stable sort of everything: which of equals `aten::topk` takes is not defined."""
    assert isinstance(op, SortOp)
    dim, sizes = op.dim.value.data, sizes_of(op.source)
    if is_sorted_by_kernels(element_type_of(op.source), sizes[dim], limit):
        return None
    note(op, f"sorted by ATen: rows of {sizes[dim]} elements are more than a kernel takes")
    descending = IntegerAttr(int(op.descending is not None), i1)
    args = [ArgAttr(IntAttr(0)), IntegerAttr(1, i1), IntegerAttr(dim, i64), descending]
    taken = sizes_of(op.values)
    types = [tensor_type(element_type_of(result), sizes) for result in op.results]
    found = rw.insert(AtenOp("aten::sort.stable", [op.source], args, types)).results
    if taken == sizes:
        return found
    return [rw.value(SliceOp(value, [0] * len(sizes), taken)) for value in found]
