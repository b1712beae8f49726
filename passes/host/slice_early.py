"""slice-early: of what a reshape would copy, no more than the slices that are read."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import ONE, product
from tilewright.dialects.index_expr.shapes import reshape_groups
from tilewright.dialects.tw.view import ReshapeOp, SliceOp, starts_and_steps
from tilewright.dialects.types import sizes_of

from ..driver import Rewrite, apply_rules
from ..memory.memory_order import layout_of
from ..memory.views import behind, layout_shown, view_layout
from ..rewrite import skip


@dataclass(frozen=True)
class SliceEarlyPass(ModulePass):
    """Take slices of a dimension that a reshape merges before the reshape, where that would copy.

    Before (half of the channels of a shuffle, for a concatenation that is no kernel):
        %t = tw.transpose %x by [0, 2, 1, 3] : tensor<8x64x2x9xf32> -> tensor<8x2x64x9xf32>
        %r = tw.reshape %t : tensor<8x2x64x9xf32> -> tensor<8x128x9xf32>
        %s = tw.slice %r starts "0, 64, 0" steps "1, 1, 1" : tensor<8x128x9xf32> -> tensor<8x64x9xf32>
    After:
        %t = tw.transpose %x by [0, 2, 1, 3] : tensor<8x64x2x9xf32> -> tensor<8x2x64x9xf32>
        %p = tw.slice %t starts "0, 1, 0, 0" steps "1, 1, 1, 1" : tensor<8x2x64x9xf32> -> tensor<8x1x64x9xf32>
        %s = tw.reshape %p : tensor<8x1x64x9xf32> -> tensor<8x64x9xf32>

    No strides describe %r, so `bufferize` would copy all of it; %s is a view of %x. Where others read %r,
    too, it is copied once for all. What kernels read through views, or store as others need it, is so before.
    """

    name = "slice-early"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {SliceOp: (_slice_of_merged,)}, self.name)


def _slice_of_merged(op: Operation, rw: Rewrite) -> SSAValue | None:
    assert isinstance(op, SliceOp)
    inner = op.source.owner
    if not isinstance(inner, ReshapeOp) or not _copies(inner):
        return None
    before, after, kept = sizes_of(inner.source), sizes_of(inner.result), sizes_of(op.result)
    starts, steps = starts_and_steps(op)
    sliced = [d for d in range(len(after)) if kept[d] != after[d]]
    if len(sliced) != 1 or steps[sliced[0]] != ONE:
        return skip(op, "it takes parts of several dimensions, or not all in between", op.source)
    (dim,) = sliced
    groups = reshape_groups(before, after) or []
    merged = next((source for source, result in groups if result == range(dim, dim + 1)), range(0))
    first = next((d for d in merged if before[d] != ONE), 0)
    each = product(before[first + 1 : merged.stop]).constant
    start, count = starts[dim].constant, kept[dim].constant
    if not merged or not each or start is None or count is None or start % each or count % each:
        return skip(op, "it takes no whole indices of the first dimension that is merged", op.source)
    if not inner.result.has_one_use():
        return skip(op, "its source is copied for others, too", op.source)
    begin, sizes = [0] * len(before), [*before]
    begin[first], sizes[first] = start // each, ONE * (count // each)
    return rw.value(ReshapeOp(rw.value(SliceOp(inner.source, begin, sizes)), kept))


def _copies(reshape: ReshapeOp) -> bool:
    """Whether no strides describe the result, as its source lies now."""
    root, views = behind(reshape.source)
    source = layout_shown(views, layout_of(root))
    return source is not None and view_layout(reshape, source) is None
