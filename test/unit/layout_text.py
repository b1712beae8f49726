"""Layouts as text: `3, 5 at 2 by 5, 1`."""

from __future__ import annotations

from tilewright.dialects.index_expr import format_exprs, parse_expr, parse_exprs
from tilewright.passes.host.layouts import Layout


def layout_of(text: str) -> Layout:
    """Of `sizes at offset by strides`, dims with a minus before their stride being walked backwards."""
    sizes, _, rest = text.partition(" at ")
    offset, _, strides = rest.partition(" by ")
    steps = parse_exprs(strides)
    backwards = frozenset(d for d, step in enumerate(steps) if str(step).startswith("-"))
    return Layout(parse_expr(offset), parse_exprs(sizes), steps, backwards)


def text_of(layout: Layout) -> str:
    return f"{format_exprs(layout.sizes)} at {layout.offset} by {format_exprs(layout.strides)}"
