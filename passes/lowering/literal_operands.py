"""Literals that nothing but functions of libraries read: data of the plan, which no launch fills."""

from __future__ import annotations

from math import isfinite

from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.tw.aten import AtenOp
from tilewright.dialects.tw.creation import ConstantOp, FullOp, splat_value
from tilewright.dialects.types import numel_of

from ..rewrite import carry_location, may_rewrite, take_results
from ..tensor.fold_constants import dense

MAX_ELEMENTS = 64
"""Of a literal that is kept: what is longer takes more memory than the launch is worth."""


def is_data(op: Operation) -> bool:
    """Whether `op` is a literal that only functions of libraries read, of which none writes to it."""
    if not isinstance(op, FullOp | ConstantOp) or not op.result.uses:
        return False
    readers = [use.operation for use in op.result.uses]
    if not all(isinstance(reader, AtenOp) and reader.mutates is None for reader in readers):
        return False
    if isinstance(op, ConstantOp):
        return True
    count, value = numel_of(op.result), splat_value(op)
    return count is not None and 0 < count <= MAX_ELEMENTS and value is not None and isfinite(value)


def keep_as_data(op: Operation) -> None:
    """Make a `tw.constant` of a literal that `is_data`."""
    if isinstance(op, ConstantOp) or not may_rewrite(op, "kept as data"):
        return
    assert isinstance(op, FullOp)
    value, count = splat_value(op), numel_of(op.result)
    assert value is not None
    assert count is not None
    data = ConstantOp(dense(op.result.type, [value] * count))
    carry_location(op, [data])
    Rewriter.insert_op(data, InsertPoint.before(op))
    take_results(data, op.results)
    Rewriter.erase_op(op)
