"""Pooling as reductions over windows, so that it fuses and takes any layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tw.aten import AtenOp
from tilewright.dialects.tw.creation import FullOp
from tilewright.dialects.tw.elementwise_binary import DivOp
from tilewright.dialects.tw.reduction import MaxOp, SumOp
from tilewright.dialects.tw.view import PadOp
from tilewright.dialects.tw.window import WindowOp, window_sizes
from tilewright.dialects.types import element_type_of, is_float, sizes_of

from ..rewrite import skip
from .driver import Rewrite


@dataclass(frozen=True)
class _Geometry:
    """Windows over the last dimensions, and the padding that they need on both sides."""

    window: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]


def decompose_pooling(op: Operation, rw: Rewrite) -> Sequence[SSAValue] | None:
    """`aten::max_pool2d_with_indices` without a reader of the indices, and averages."""
    assert isinstance(op, AtenOp)
    if (row := _ROWS.get(op.callee.data)) is None or not is_float(element_type_of(op.operands[0])):
        return None
    return row(op, rw)


def _max_pool(op: AtenOp, rw: Rewrite) -> Sequence[SSAValue] | None:
    values, indices = op.results
    if indices.first_use is not None:
        skip(op, "not decomposed: something reads the indices")
        return None
    window = _ints(op, 1, ())
    geometry = _geometry(op, window, _ints(op, 2, ()), _ints(op, 3, (0,)), _ints(op, 4, (1,)), 5)
    if geometry is None:
        return None
    windows = _windows(op, rw, geometry, -inf)
    unread = rw.value(FullOp(0, element_type_of(indices), sizes_of(indices)))
    return rw.value(MaxOp(windows, _trailing(values, geometry))), unread


def _avg_pool(op: AtenOp, rw: Rewrite) -> Sequence[SSAValue] | None:
    window, padding = _ints(op, 1, ()), _ints(op, 3, (0,))
    geometry = _geometry(op, window, _ints(op, 2, ()), padding, (1,), 4)
    if geometry is None:
        return None
    divisor = _int(op, 6)
    whole = geometry.high == geometry.low and not _int(op, 4)
    if divisor is None and (not whole or (any(padding) and _int(op, 5) == 0)):
        skip(op, "not decomposed: its windows have different numbers of elements")
        return None
    return (_mean(op, rw, geometry, divisor or prod(geometry.window)),)


def _adaptive_avg_pool(op: AtenOp, rw: Rewrite) -> Sequence[SSAValue] | None:
    source, result = sizes_of(op.operands[0])[-2:], sizes_of(op.results[0])[-2:]
    window: list[int] = []
    for n, out in zip(source, result, strict=True):
        if not n.constant or not out.constant or n.constant % out.constant:
            skip(op, f"not decomposed: {out} windows do not divide {n} elements")
            return None
        window.append(n.constant // out.constant)
    sizes, none = tuple(window), (0,) * len(window)
    return (_mean(op, rw, _Geometry(sizes, sizes, (1,) * len(window), none, none), prod(window)),)


_ROWS = {
    "aten::max_pool2d_with_indices": _max_pool,
    "aten::avg_pool2d": _avg_pool,
    "aten::_adaptive_avg_pool2d": _adaptive_avg_pool,
}


def _mean(op: AtenOp, rw: Rewrite, geometry: _Geometry, divisor: int) -> SSAValue:
    total = rw.value(SumOp(_windows(op, rw, geometry, 0.0), _trailing(op.results[0], geometry)))
    return rw.value(DivOp(total, rw.value(FullOp(divisor, element_type_of(total), sizes_of(total)))))


def _windows(op: AtenOp, rw: Rewrite, geometry: _Geometry, outside: float) -> SSAValue:
    source = op.operands[0]
    leading = [0] * (len(sizes_of(source)) - len(geometry.window))
    if any(geometry.low) or any(geometry.high):
        source = rw.value(PadOp(source, [*leading, *geometry.low], [*leading, *geometry.high], outside))
    dims = range(len(leading), len(sizes_of(source)))
    return rw.value(WindowOp(source, dims, geometry.window, geometry.strides, geometry.dilation))


def _trailing(result: SSAValue, geometry: _Geometry) -> Sequence[int]:
    rank = len(sizes_of(result))
    return range(rank, rank + len(geometry.window))


def _geometry(
    op: AtenOp,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: int,
) -> _Geometry | None:
    """The windows of a call, None where sizes are not known that decide about the last one."""
    rank = len(sizes_of(op.results[0])[-2:])
    sizes, low, steps = (_each(values, rank) for values in (window, padding, dilation))
    strides = _each(strides, rank) if strides else sizes
    source, result = sizes_of(op.operands[0])[-rank:], sizes_of(op.results[0])[-rank:]
    high = low
    if _int(op, ceil_mode):
        needed = [
            ((out - 1) * stride + (k - 1) * step + 1 - n - before).constant
            for out, stride, k, step, n, before in zip(
                result, strides, sizes, steps, source, low, strict=True
            )
        ]
        if None in needed:
            skip(op, "not decomposed: the last window depends on a symbol")
            return None
        high = tuple(max(0, n or 0) for n in needed)
    padded: list[Expr] = [n + a + b for n, a, b in zip(source, low, high, strict=True)]
    if window_sizes(padded, range(rank), sizes, strides, steps)[:rank] != result:
        skip(op, "not decomposed: its sizes are written differently")
        return None
    return _Geometry(sizes, strides, steps, low, high)


def _each(values: Sequence[int], rank: int) -> tuple[int, ...]:
    return tuple(values) if len(values) == rank else tuple(values) * rank


def _arg(op: AtenOp, index: int) -> Attribute | None:
    return op.args.data[index] if index < len(op.args.data) else None


def _int(op: AtenOp, index: int) -> int | None:
    found = _arg(op, index)
    return found.value.data if isinstance(found, IntegerAttr) else None


def _ints(op: AtenOp, index: int, default: tuple[int, ...]) -> tuple[int, ...]:
    """A list of literal integers, or one of them."""
    found = _arg(op, index)
    entries: Sequence[Attribute] = () if found is None else (found,)
    if isa(found, ArrayAttr[Attribute]):
        entries = found.data
    values = tuple(entry.value.data for entry in entries if isinstance(entry, IntegerAttr))
    return values or default
