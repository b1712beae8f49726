"""ATen reductions; keepdim and result types are made explicit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from xdsl.dialects.builtin import f32, f64, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects import index_expr
from tilewright.dialects.index_expr import Expr, product
from tilewright.dialects.tw.creation import IotaOp
from tilewright.dialects.tw.elementwise import AbsOp, IsNanOp, SqrtOp
from tilewright.dialects.tw.elementwise_binary import (
    CompareOp,
    DivOp,
    MaximumOp,
    MulOp,
    OrOp,
    SelectOp,
    SubOp,
)
from tilewright.dialects.tw.reduction import (
    AllOp,
    AnyOp,
    ArgmaxOp,
    ArgminOp,
    CummaxOp,
    CumminOp,
    CumprodOp,
    CumsumOp,
    CumulativeOp,
    LinearScanOp,
    LogcumsumexpOp,
    MaxOp,
    MinOp,
    MomentsOp,
    ProdOp,
    SumOp,
)
from tilewright.dialects.types import is_float, is_half, sizes_of

from ..errors import Unsupported
from .builder import Builder, Operand, Row, axis, element_of

Reduction = Callable[[SSAValue, Sequence[int]], Operation]


def axes_of(value: SSAValue, dims: Any) -> list[int]:
    """The axes that torch means: none given is all of them."""
    rank = len(sizes_of(value))
    if isinstance(dims, int):
        dims = [dims]
    if rank == 0:
        return []
    if not dims:
        return list(range(rank))
    return sorted({axis(d, rank) for d in dims})


def reduce(b: Builder, op: Reduction, x: SSAValue, axes: Sequence[int], result: Sequence[Expr]) -> SSAValue:
    """Reduce, then bring kept dimensions back by a reshape."""
    if not axes:
        return b.reshape(x, result)
    return b.reshape(b.emit(op(x, axes)), result)


def _in_result_type(op: Reduction, on_bool: Reduction) -> Row:
    """`op` in the dtype of the result; booleans add up to whether any is true."""

    def row(
        b: Builder, x: SSAValue, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
    ) -> SSAValue:
        taken = on_bool if b.element == i1 else op
        return reduce(b, taken, b.cast(x, b.element), axes_of(x, dim), b.sizes)

    return row


def _extreme(op: Reduction) -> Row:
    def row(b: Builder, x: SSAValue, dim: Any = None, keepdim: bool = False) -> SSAValue:
        axes = axes_of(x, dim)
        if any(sizes_of(x)[a].constant == 0 for a in axes):
            raise Unsupported("extreme of no elements")
        return reduce(b, op, x, axes, b.sizes)

    return row


def _truth(op: Reduction) -> Row:
    def row(b: Builder, x: SSAValue, dim: Any = None, keepdim: bool = False) -> SSAValue:
        return b.cast(reduce(b, op, b.cast(x, i1), axes_of(x, dim), b.sizes), b.element)

    return row


def _full_sum(b: Builder, x: SSAValue, *, dtype: torch.dtype | None = None) -> SSAValue:
    return reduce(b, SumOp, b.cast(x, b.element), axes_of(x, None), b.sizes)


def _full_product(b: Builder, x: SSAValue, *, dtype: torch.dtype | None = None) -> SSAValue:
    return reduce(b, ProdOp, b.cast(x, b.element), axes_of(x, None), b.sizes)


def count_of(x: SSAValue, axes: Sequence[int]) -> Expr:
    return product(sizes_of(x)[a] for a in axes)


def _working(element: Attribute) -> Attribute:
    return f32 if is_half(element) else element


def _mean(
    b: Builder, x: SSAValue, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> SSAValue:
    axes, work = axes_of(x, dim), _working(b.element)
    return b.cast(_average(b, b.cast(x, work), axes, b.sizes), b.element)


def _full_mean(b: Builder, x: SSAValue, *, dtype: torch.dtype | None = None) -> SSAValue:
    return _mean(b, x, None, dtype=dtype)


def _average(b: Builder, x: SSAValue, axes: Sequence[int], result: Sequence[Expr]) -> SSAValue:
    total = reduce(b, SumOp, x, axes, result)
    return b.emit(DivOp(total, b.full(count_of(x, axes), element_of(x), result)))


def _moments(
    b: Builder, x: SSAValue, dim: Any, correction: Any, result: Sequence[Expr]
) -> tuple[SSAValue, SSAValue]:
    """Variance and mean, both of the result's shape."""
    if not sizes_of(x):
        x = b.reshape(x, [1])
    axes = axes_of(x, dim)
    x = b.cast(x, _working(element_of(x)))
    element = element_of(x)
    b.add(moments := MomentsOp(x, axes))
    mean, squares = moments.results
    divisor = _corrected(b, count_of(x, axes), 1 if correction is None else correction)
    variance = b.emit(DivOp(b.reshape(squares, result), b.operand(divisor, element, result)))
    return variance, b.reshape(mean, result)


def _corrected(b: Builder, count: Expr, correction: Operand) -> Operand:
    """`count - correction`, or 0 where that is less; a number with a fraction may be known when it runs."""
    if isinstance(correction, float) and correction.is_integer():
        correction = int(correction)
    if isinstance(correction, int | Expr):
        return index_expr.maximum(count - correction, 0)
    rest = b.emit(SubOp(b.full(count, f64, ()), b.operand(correction, f64, ())))
    return b.emit(MaximumOp(rest, b.full(0, f64, ())))


def _variance(
    b: Builder, x: SSAValue, dim: Any = None, *, correction: Any = None, keepdim: bool = False
) -> SSAValue:
    return b.cast(_moments(b, x, dim, correction, b.sizes)[0], b.element)


def _deviation(
    b: Builder, x: SSAValue, dim: Any = None, *, correction: Any = None, keepdim: bool = False
) -> SSAValue:
    return b.cast(b.emit(SqrtOp(_moments(b, x, dim, correction, b.sizes)[0])), b.element)


def _variance_and_mean(
    b: Builder, x: SSAValue, dim: Any = None, *, correction: Any = None, keepdim: bool = False
) -> tuple[SSAValue, ...]:
    sizes, element = b.symbols.exprs(b.fake[0].shape), b.element_of(b.fake[0])
    return tuple(b.cast(value, element) for value in _moments(b, x, dim, correction, sizes))


def _position(op: Callable[[SSAValue, int], Operation]) -> Row:
    def row(b: Builder, x: SSAValue, dim: Any = None, keepdim: bool = False) -> SSAValue:
        if dim is None:
            x, dim = b.reshape(x, [product(sizes_of(x))]), 0
        if not sizes_of(x):
            return b.full(0, i64, ())
        return b.reshape(b.emit(op(x, axis(dim, len(sizes_of(x))))), b.sizes)

    return row


def _extreme_with_position(op: Reduction, at: Callable[[SSAValue, int], Operation]) -> Row:
    def row(b: Builder, x: SSAValue, dim: int, keepdim: bool = False) -> tuple[SSAValue, SSAValue]:
        sizes = b.symbols.exprs(b.fake[0].shape)
        if not sizes_of(x):
            return x, b.full(0, i64, ())
        d = axis(dim, len(sizes_of(x)))
        return reduce(b, op, x, [d], sizes), b.reshape(b.emit(at(x, d)), sizes)

    return row


def _cumulative(op: type[CumulativeOp]) -> Row:
    def row(b: Builder, x: SSAValue, dim: int, *, dtype: torch.dtype | None = None) -> SSAValue:
        x = b.cast(x, b.element)
        return b.emit(op(x, axis(dim, len(b.sizes)))) if b.sizes else x

    return row


def _log_of_running_sum(b: Builder, x: SSAValue, dim: int) -> SSAValue:
    if not b.sizes:
        return x
    if element_of(x) == f32 and b.eager.sums_exponentials_in_f64:
        x = b.cast(x, f64)
    return b.cast(b.emit(LogcumsumexpOp(x, axis(dim, len(b.sizes)))), b.element)


def _linear_scan(b: Builder, x: SSAValue, factor: SSAValue, dim: int) -> SSAValue:
    """The operator of `frontend/operators/scan_operators.py`."""
    return b.emit(LinearScanOp(x, factor, axis(dim, len(b.sizes)))) if b.sizes else x


LONGEST_SCAN = 64
"""Longer rows are left to ATen where it branches along them."""


def _cumulative_extreme(op: type[CumulativeOp]) -> Row:
    """The position is that of the last element so far that equals the extreme, or of the last NaN."""

    def row(b: Builder, x: SSAValue, dim: int) -> tuple[SSAValue, SSAValue]:
        element, sizes = element_of(x), sizes_of(x)
        if not sizes:
            return x, b.full(0, i64, ())
        d = axis(dim, len(sizes))
        length = sizes[d].constant
        if d == len(sizes) - 1 and b.eager.branches_along_rows:
            if length is None or length > LONGEST_SCAN:
                raise Unsupported(f"extremes of rows of {sizes[d]} elements so far: ATen is faster")
        x = b.cast(x, i32) if element == i1 else x
        values = b.emit(op(x, d))
        found = b.emit(CompareOp(x, values, "eq"))
        if is_float(element):
            found = b.emit(OrOp(found, b.emit(IsNanOp(x))))
        position = b.emit(SelectOp(found, b.emit(IotaOp(i64, sizes, d)), b.full(0, i64, sizes)))
        return b.cast(values, element), b.emit(CummaxOp(position, d))

    return row


def _norm(b: Builder, x: SSAValue, order: Any = 2, **_: object) -> SSAValue:
    """The norm of all elements, for `_foreach_norm` (gradient clipping)."""
    x = b.cast(x, _working(b.element))
    axes = axes_of(x, None)
    if order == 2:
        total = reduce(b, SumOp, b.emit(MulOp(x, x)), axes, b.sizes)
        return b.cast(b.emit(SqrtOp(total)), b.element)
    if order == 1:
        return b.cast(reduce(b, SumOp, b.emit(AbsOp(x)), axes, b.sizes), b.element)
    if order == float("inf"):
        return b.cast(reduce(b, MaxOp, b.emit(AbsOp(x)), axes, b.sizes), b.element)
    raise Unsupported(f"norm of order {order}")


ROWS: dict[str, Row] = {
    "aten.sum.default": _full_sum,
    "aten.sum.dim_IntList": _in_result_type(SumOp, AnyOp),
    "aten.prod.default": _full_product,
    "aten.prod.dim_int": _in_result_type(ProdOp, AllOp),
    "aten.mean.default": _full_mean,
    "aten.mean.dim": _mean,
    "aten.amax.default": _extreme(MaxOp),
    "aten.amin.default": _extreme(MinOp),
    "aten.max.default": _extreme(MaxOp),
    "aten.min.default": _extreme(MinOp),
    "aten.max.dim": _extreme_with_position(MaxOp, ArgmaxOp),
    "aten.min.dim": _extreme_with_position(MinOp, ArgminOp),
    "aten.argmax.default": _position(ArgmaxOp),
    "aten.argmin.default": _position(ArgminOp),
    "aten.var.correction": _variance,
    "aten.std.correction": _deviation,
    "aten.var_mean.correction": _variance_and_mean,
    "aten.cumsum.default": _cumulative(CumsumOp),
    "aten.cumprod.default": _cumulative(CumprodOp),
    "aten.logcumsumexp.default": _log_of_running_sum,
    "aten.cummax.default": _cumulative_extreme(CummaxOp),
    "aten.cummin.default": _cumulative_extreme(CumminOp),
    "aten.norm.Scalar": _norm,
    "tilewright.linear_scan.default": _linear_scan,
    **{f"aten.any.{o}": _truth(AnyOp) for o in ("default", "dim", "dims")},
    **{f"aten.all.{o}": _truth(AllOp) for o in ("default", "dim", "dims")},
}
