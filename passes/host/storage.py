"""Where a tensor value lives while the plan is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.index_expr import Expr

from ..memory.layouts import Layout

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
