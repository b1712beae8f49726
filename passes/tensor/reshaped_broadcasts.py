"""Reshaped broadcasts."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import ONE, Expr
from tilewright.dialects.index_expr.shapes import reshape_groups
from tilewright.dialects.tw.view import BroadcastOp, ReshapeOp
from tilewright.dialects.types import sizes_of

from ..driver import Rewrite


def broadcast_into(op: BroadcastOp, sizes: tuple[Expr, ...]) -> list[int] | None:
    """The `dims` with which `op` broadcasts straight to its result reshaped to `sizes`.

    None where a dimension that comes from the source would be split or merged.
    """
    groups = reshape_groups(sizes_of(op.result), sizes)
    if groups is None:
        return None
    dims, source = ints(op.dims), sizes_of(op.source)
    placed: dict[int, int] = {}
    for before, after in groups:
        mapped = [i for i, d in enumerate(dims) if d in before and source[i] != ONE]
        if not mapped:
            continue
        kept = [d for d in after if sizes[d] != ONE]
        if len(mapped) != 1 or len(kept) != 1 or source[mapped[0]] != sizes[kept[0]]:
            return None
        placed[mapped[0]] = kept[0]
    return [placed[i] for i in sorted(placed)]


def reshape_of_broadcast(op: Operation, rw: Rewrite) -> SSAValue | None:
    """Broadcast straight to the new shape."""
    assert isinstance(op, ReshapeOp)
    inner = op.source.owner
    return broadcast_reshaped(inner, sizes_of(op.result), rw) if isinstance(inner, BroadcastOp) else None


def broadcast_reshaped(inner: BroadcastOp, sizes: tuple[Expr, ...], rw: Rewrite) -> SSAValue | None:
    """`inner` broadcast straight to `sizes`, None where that cannot be written."""
    dims = broadcast_into(inner, sizes)
    if dims is None:
        return None
    source = inner.source
    squeezed = [n for n in sizes_of(source) if n != ONE]
    if len(squeezed) < len(sizes_of(source)):
        source = rw.value(ReshapeOp(source, squeezed))
    return rw.value(BroadcastOp(source, sizes, dims))
