"""Layouts as text: `3, 5 at 2 by 5, 1`, and memory that has them."""

from __future__ import annotations

from xdsl.dialects.builtin import f32
from xdsl.utils.test_value import create_ssa_value

from tilewright.dialects.index_expr import format_exprs, parse_expr, parse_exprs
from tilewright.dialects.th.types import TensorType, span
from tilewright.dialects.types import flat_memref
from tilewright.passes.host.storage import Kind, Place, Storage
from tilewright.passes.memory.layouts import Layout

WHOLE = "3, 5 at 0 by 5, 1"


def layout_of(text: str) -> Layout:
    """Of `sizes at offset by strides`, dims with a minus before their stride being walked backwards."""
    sizes, _, rest = text.partition(" at ")
    offset, _, strides = rest.partition(" by ")
    steps = parse_exprs(strides)
    backwards = frozenset(d for d, step in enumerate(steps) if str(step).startswith("-"))
    return Layout(parse_expr(offset), parse_exprs(sizes), steps, backwards)


def text_of(layout: Layout) -> str:
    return f"{format_exprs(layout.sizes)} at {layout.offset} by {format_exprs(layout.strides)}"


def place_of(kind: Kind, layout: str = WHOLE, whole: str = WHOLE) -> Place:
    """A value that is so much of memory that holds `whole`; what a call made has a handle alone."""
    owner = layout_of(whole)
    size = span(owner.sizes, owner.strides)
    storage = Storage(kind, f32, owner, size)
    if kind == "call":
        storage.handle = create_ssa_value(TensorType(f32))
    else:
        storage.buffer = create_ssa_value(flat_memref(f32, size))
    return Place(storage, layout_of(layout))
