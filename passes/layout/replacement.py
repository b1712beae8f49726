"""Puts new ops in the place of one op: what the packing of products and of convolutions share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.tw.elementwise_binary import CastOp
from tilewright.dialects.tw.view import PadOp
from tilewright.dialects.types import element_type_of

Replaced = TypeVar("Replaced", bound=Operation)


class Replacement(Generic[Replaced]):
    """Builds in front of `op`, with its location; `finish` takes its place."""

    def __init__(self, op: Replaced) -> None:
        self.op = op

    def put(self, new: Operation) -> SSAValue:
        """The first result of `new`, inserted."""
        new.location = self.op.location
        Rewriter.insert_op(new, InsertPoint.before(self.op))
        return new.results[0]

    def cast(self, value: SSAValue, element: Attribute) -> SSAValue:
        return value if element_type_of(value) == element else self.put(CastOp(value, element))

    def padded(self, value: SSAValue, low: Sequence[int], high: Sequence[int]) -> SSAValue:
        """With so many zeros before and behind each dimension."""
        return self.put(PadOp(value, low, high, 0.0)) if any((*low, *high)) else value

    def finish(self, result: SSAValue) -> None:
        """Have all readers of the op read `result`, and drop the op."""
        (old,) = self.op.results
        old.replace_all_uses_with(result)
        Rewriter.erase_op(self.op)
