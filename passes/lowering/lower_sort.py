"""Sorting rows: of values in order the first ones are stored, and the positions that they had."""

from __future__ import annotations

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Operation

from tilewright.dialects.index_expr import dim
from tilewright.dialects.tk.arith import ExtSIOp, ExtUIOp, TruncIOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tk.sort import SortOp
from tilewright.dialects.tw import indexing
from tilewright.dialects.types import element_type_of, sizes_of

from ..kernels.kernel_builder import KernelBuilder


def lower_sort(op: Operation) -> KernelOp:
    """One `tk.sort` of keys as they are read; what is not asked for is not stored."""
    assert isinstance(op, indexing.SortOp)
    sizes, axis = sizes_of(op.source), op.dim.value.data
    element, kept = element_type_of(op.source), sizes_of(op.values)[axis]
    b = KernelBuilder(op.location, sizes, op.operands, op.result_types)
    key = b.load(0, b.axes)
    if element == i1:
        key = b.op(ExtUIOp, key, type_=i32)
    part = kept != sizes[axis]
    first = kept.constant if part else None
    found = b.add(SortOp.make(key, axis, descending=op.descending is not None, first=first or None))
    values, positions = found.results
    if element == i1:
        values = b.op(TruncIOp, values, type_=i1)
    mask = b.compare_int("slt", b.index(dim(axis)), b.index(kept)) if part else None
    b.store(values, b.axes, mask=mask)
    b.store(b.op(ExtSIOp, positions, type_=i64), b.axes, 1, mask=mask)
    return b.kernel
