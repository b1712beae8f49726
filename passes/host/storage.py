"""Where a tensor value lives while the plan is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from tilewright.dialects.index_expr import ZERO, Expr, parse_exprs
from tilewright.dialects.types import sizes_of

from .layouts import Layout, dense

Kind = Literal["argument", "temporary", "result", "call", "constant"]


@dataclass(eq=False, slots=True)
class Storage:
    """A piece of memory: its flat buffer, its ATen handle, or both (made when first needed)."""

    kind: Kind
    element: Attribute
    layout: Layout
    """The layout of the whole tensor that owns this memory."""
    size: Expr
    """Elements in the buffer."""
    buffer: SSAValue | None = None
    handle: SSAValue | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A value's elements within a storage."""

    storage: Storage
    layout: Layout

    @property
    def is_whole(self) -> bool:
        """True where this is the very tensor that owns the storage, not a view of it."""
        return self.layout == self.storage.layout


def layout_of_result(op: Operation, index: int) -> Layout:
    """What `tw.strides` on the op says, else row-major."""
    sizes = sizes_of(op.results[index])
    strides = op.attributes.get("tw.strides")
    if strides is not None and isa(strides, ArrayAttr[StringAttr]) and index < len(strides):
        return Layout(ZERO, sizes, parse_exprs(strides.data[index].data))
    return dense(sizes)
