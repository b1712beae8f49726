"""Operator overload -> tw, one table per family of ops; `ROWS` joins them, other packages may add theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tilewright.dialects.plugins import Table

from . import (
    attention,
    collectives,
    creation,
    elementwise,
    gpu_attention,
    indexing,
    linalg,
    numbers,
    reduction,
    scatters,
    strided,
    view,
)
from .builder import Row
from .float8 import DECODING
from .gpu_attention import SEEDED

READS_CARRIERS = SEEDED | DECODING
"""Operators whose rows take carriers as they are: seeds of 64 bits, and 8-bit floats."""

ROWS: dict[str, Row] = {
    **elementwise.ROWS,
    **creation.ROWS,
    **view.ROWS,
    **strided.ROWS,
    **reduction.ROWS,
    **indexing.ROWS,
    **scatters.ROWS,
    **linalg.ROWS,
    **attention.ROWS,
    **gpu_attention.ROWS,
    **numbers.ROWS,
    **collectives.ROWS,
}


def _accept(name: str, item: object) -> Row:
    if not callable(item):
        raise TypeError(f"it is a {type(item).__name__}, not a function (builder, *arguments) -> value")
    return item


_TABLE: Table[Row] = Table("row", "tilewright.rows", ROWS, _accept)
RowT = TypeVar("RowT", bound=Row)


def register_row(*overloads: str) -> Callable[[RowT], RowT]:
    """Say how calls of an operator are imported: `aten.<name>.<overload>`, or a `torch.library` operator.

    The function gets the builder and the call's arguments, and returns the value of the result
    (a tuple for several); `raise Unsupported(reason)` leaves the call to ATen. An operator with a
    row is not taken apart before import.

    >>> @register_row("mylib.squared_relu.default")
    ... def squared_relu(b: Builder, x: SSAValue) -> SSAValue:
    ...     return b.emit(SquaredReluOp(x))
    """

    def register(function: RowT) -> RowT:
        for overload in overloads:
            _TABLE.add(overload, function)
        return function

    return register


def row_of(overload: str) -> Row | None:
    """How calls of that overload are imported; None where ATen runs them."""
    return _TABLE.find(overload)


def foreign_rows() -> list[str]:
    """The overloads that plug-ins have rows for, sorted."""
    return sorted({*_TABLE.added, *_TABLE.installed()})
