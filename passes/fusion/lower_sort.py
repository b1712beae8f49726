"""Sorting short rows: every element counts those before it, and goes to that place."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i32, i64
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import dim, gathered
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.indexing import SortOp
from tilewright.dialects.types import element_type_of, is_float, sizes_of

from .kernel_builder import KernelBuilder


def lower_sort(op: Operation) -> KernelOp:
    """A last axis walks over the elements that each one is compared with; ranks are distinct."""
    assert isinstance(op, SortOp)
    sizes, axis = sizes_of(op.source), op.dim.value.data
    b = KernelBuilder(op.location, (*sizes, sizes[axis]), op.operands, op.result_types)
    own = b.axes[:-1]
    others = [b.axes[-1] if i == axis else d for i, d in enumerate(own)]
    stored = b.add(LoadOp.make(b.kernel.sources[0], own)).results[0]
    one, other = b.widen(stored, element_type_of(op.source)), b.load(0, others)
    position = b.index(dim(axis))
    before = _comes_first(b, op, (other, b.index(b.axes[-1])), (one, position))
    counted = b.select(before, b.constant(1, i32), b.constant(0, i32))
    rank = b.add(ReduceOp.make("add", counted, (len(own),))).results[0]
    wide = b.op(arith.ExtSIOp, rank, type_=i64)
    place = b.op(arith.IndexCastOp, wide, type_=IndexType())
    kept = sizes_of(op.values)[axis]
    mask = None if kept == sizes[axis] else b.compare_int("slt", wide, b.index(kept))
    subscripts = [gathered(0) if i == axis else d for i, d in enumerate(own)]
    for value, destination in zip((stored, position), b.kernel.destinations, strict=True):
        b.add(StoreOp.make(value, destination, subscripts, (place,), mask))
    return b.kernel


def _comes_first(
    b: KernelBuilder, op: SortOp, lhs: tuple[SSAValue, SSAValue], rhs: tuple[SSAValue, SSAValue]
) -> SSAValue:
    """Whether `lhs` stands before `rhs`, each a value and its position: the earlier one of equals."""
    low, high = (lhs[0], rhs[0]) if op.descending is None else (rhs[0], lhs[0])
    less, greater = _less(b, op, low, high), _less(b, op, high, low)
    earlier = b.compare_int("slt", lhs[1], rhs[1])
    equal = b.op(arith.AndIOp, b.invert(greater), earlier)
    return b.op(arith.OrIOp, less, equal)


def _less(b: KernelBuilder, op: SortOp, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """The order of numbers; NaN is above all."""
    if not is_float(element_type_of(op.source)):
        unsigned = str(element_type_of(op.source)) == "i1"
        return b.compare_int("ult" if unsigned else "slt", lhs, rhs)
    number = b.compare_float("ord", lhs, lhs)
    return b.op(arith.AndIOp, number, b.compare_float("ult", lhs, rhs))
