"""Averages of windows as sums over them, so that they fuse and take any layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import cast

from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, TensorType, f32
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tw.aten import AtenOp
from tilewright.dialects.tw.creation import ConstantOp, FullOp
from tilewright.dialects.tw.elementwise_binary import CastOp, DivOp, MulOp
from tilewright.dialects.tw.reduction import SumOp
from tilewright.dialects.tw.view import BroadcastOp, PadOp
from tilewright.dialects.tw.window import WindowOp
from tilewright.dialects.types import element_type_of, is_float, is_half, sizes_of, tensor_type

from ..driver import Rewrite
from ..rewrite import skip
from .call_arguments import literal, literals
from .pooling_geometry import Geometry, geometry_of


def decompose_pooling(op: Operation, rw: Rewrite) -> Sequence[SSAValue] | None:
    """Averages; maxima are written with windows before import (`frontend/decompositions/pooling.py`)."""
    assert isinstance(op, AtenOp)
    if (row := _ROWS.get(op.callee.data)) is None or not is_float(element_type_of(op.operands[0])):
        return None
    return row(op, rw)


def _avg_pool(rank: int, op: AtenOp, rw: Rewrite) -> Sequence[SSAValue] | None:
    window, strides, padding = literals(op, 1), literals(op, 2), literals(op, 3, (0,))
    if window is None or strides is None or padding is None:
        skip(op, "not decomposed: its windows depend on a symbol")
        return None
    geometry = geometry_of(op, rank, window, strides, padding, 4)
    if geometry is None:
        return None
    if (divisor := literal(op, 6)) is not None:
        return (_mean(op, rw, geometry, divisor),)
    padded = literal(op, 5) != 0  # elements of the padding count
    whole = geometry.high == geometry.low and not literal(op, 4)
    if whole and (padded or not any(padding)):
        return (_mean(op, rw, geometry, prod(geometry.window)),)
    counts = _counts(op, geometry, padded=padded)
    if counts is None:
        skip(op, "not decomposed: the numbers of elements of its windows depend on a symbol")
        return None
    return (_uneven_mean(op, rw, geometry, counts),)


def _adaptive(rank: int, op: AtenOp) -> Geometry | None:
    source, result = sizes_of(op.operands[0])[-rank:], sizes_of(op.results[0])[-rank:]
    window: list[int] = []
    for n, out in zip(source, result, strict=True):
        if not n.constant or not out.constant or n.constant % out.constant:
            skip(op, f"not decomposed: {out} windows do not divide {n} elements")
            return None
        window.append(n.constant // out.constant)
    sizes, none = tuple(window), (0,) * rank
    return Geometry(sizes, sizes, none, none)


def _adaptive_avg_pool(rank: int, op: AtenOp, rw: Rewrite) -> Sequence[SSAValue] | None:
    geometry = _adaptive(rank, op)
    return None if geometry is None else (_mean(op, rw, geometry, prod(geometry.window)),)


_ROWS: Mapping[str, Callable[[AtenOp, Rewrite], Sequence[SSAValue] | None]] = {
    "aten::avg_pool2d": partial(_avg_pool, 2),
    "aten::avg_pool3d": partial(_avg_pool, 3),
    "aten::_adaptive_avg_pool2d": partial(_adaptive_avg_pool, 2),
    "aten::_adaptive_avg_pool3d": partial(_adaptive_avg_pool, 3),
}
POOLING = frozenset(_ROWS)
"""The operators that may be decomposed here; where they are not, ATen has kernels for them."""


def _counts(op: AtenOp, geometry: Geometry, *, padded: bool) -> list[list[int]] | None:
    """How many elements each window has along each dimension; those beyond the padding count never."""
    found: list[list[int]] = []
    rank = len(geometry.window)
    source, result = sizes_of(op.operands[0])[-rank:], sizes_of(op.results[0])[-rank:]
    for d, (length, number) in enumerate(zip(source, result, strict=True)):
        n, out, low = length.constant, number.constant, geometry.low[d]
        if n is None or out is None:
            return None
        counted = range(-low, n + low) if padded else range(n)
        starts = range(-low, -low + out * geometry.strides[d], geometry.strides[d])
        found.append([sum(i in counted for i in range(at, at + geometry.window[d])) for at in starts])
    return found


def _uneven_mean(op: AtenOp, rw: Rewrite, geometry: Geometry, counts: Sequence[Sequence[int]]) -> SSAValue:
    """Sums, divided by the product of what each dimension counts; halves compute in f32."""
    total = rw.value(SumOp(_windows(op, rw, geometry), _trailing(op.results[0], geometry)))
    if is_half(element := element_type_of(total)):
        total = rw.value(CastOp(total, f32))
    sizes, work = sizes_of(total), element_type_of(total)
    divisor = rw.value(FullOp(1.0, work, sizes))
    for d, along in enumerate(counts, start=len(sizes) - len(counts)):
        type_ = cast("TensorType[AnyFloat]", tensor_type(work, [len(along)]))
        numbers = DenseIntOrFPElementsAttr.from_list(type_, along)
        spread = rw.value(BroadcastOp(rw.value(ConstantOp(numbers)), sizes, [d]))
        divisor = rw.value(MulOp(divisor, spread))
    mean = rw.value(DivOp(total, divisor))
    return rw.value(CastOp(mean, element)) if work != element else mean


def _mean(op: AtenOp, rw: Rewrite, geometry: Geometry, divisor: int) -> SSAValue:
    total = rw.value(SumOp(_windows(op, rw, geometry), _trailing(op.results[0], geometry)))
    return rw.value(DivOp(total, rw.value(FullOp(divisor, element_type_of(total), sizes_of(total)))))


def _windows(op: AtenOp, rw: Rewrite, geometry: Geometry) -> SSAValue:
    source = op.operands[0]
    leading = [0] * (len(sizes_of(source)) - len(geometry.window))
    if any(geometry.low) or any(geometry.high):
        source = rw.value(PadOp(source, [*leading, *geometry.low], [*leading, *geometry.high], 0.0))
    dims = range(len(leading), len(sizes_of(source)))
    return rw.value(WindowOp(source, dims, geometry.window, geometry.strides, [1] * len(dims)))


def _trailing(result: SSAValue, geometry: Geometry) -> Sequence[int]:
    rank = len(sizes_of(result))
    return range(rank, rank + len(geometry.window))
