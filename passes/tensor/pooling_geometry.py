"""The windows of a pooling call, from its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tw.aten import AtenOp
from tilewright.dialects.tw.window import window_sizes
from tilewright.dialects.types import sizes_of

from ..rewrite import skip
from .call_arguments import each, literal


@dataclass(frozen=True)
class Geometry:
    """Windows over the last dimensions, and the padding that they need on both sides."""

    window: tuple[int, ...]
    strides: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]


def geometry_of(
    op: AtenOp,
    rank: int,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int],
    ceil_mode: int,
) -> Geometry | None:
    """The windows of a call, None where sizes are not known that decide about the last one."""
    sizes, low = each(window, rank), each(padding, rank)
    strides = each(strides, rank) if strides else sizes
    source, result = sizes_of(op.operands[0])[-rank:], sizes_of(op.results[0])[-rank:]
    high = low
    if literal(op, ceil_mode):
        needed = [
            ((out - 1) * stride + k - n - before).constant
            for out, stride, k, n, before in zip(result, strides, sizes, source, low, strict=True)
        ]
        if None in needed:
            skip(op, "not decomposed: the last window depends on a symbol")
            return None
        high = tuple(max(0, n or 0) for n in needed)
    padded: list[Expr] = [n + a + b for n, a, b in zip(source, low, high, strict=True)]
    if window_sizes(padded, range(rank), sizes, strides, [1] * rank)[:rank] != result:
        skip(op, "not decomposed: its sizes are written differently")
        return None
    return Geometry(sizes, strides, low, high)
