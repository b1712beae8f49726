"""Literal arguments of calls of ATen."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from tilewright.dialects.tw.aten import AtenOp


def each(values: Sequence[int], rank: int) -> tuple[int, ...]:
    """One entry per dimension, where one may stand for all."""
    return tuple(values) if len(values) == rank else tuple(values) * rank


def _arg(op: AtenOp, index: int) -> Attribute | None:
    return op.args.data[index] if index < len(op.args.data) else None


def literal(op: AtenOp, index: int) -> int | None:
    """An integer or truth value; None where it is none, a symbol, or left out."""
    found = _arg(op, index)
    return found.value.data if isinstance(found, IntegerAttr) else None


def literals(op: AtenOp, index: int, default: tuple[int, ...] = ()) -> tuple[int, ...] | None:
    """A list of integers, or one of them; `default` where that is left out or empty, None with a symbol."""
    found = _arg(op, index)
    entries: Sequence[Attribute] = () if found is None else (found,)
    if isa(found, ArrayAttr[Attribute]):
        entries = found.data
    values = tuple(entry.value.data for entry in entries if isinstance(entry, IntegerAttr))
    return (values or default) if len(values) == len(entries) else None
