"""store-operands: kernels store a result in the shape in which it is read, or joined with others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import ONE, Expr
from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.view import ConcatOp, ReshapeOp
from tilewright.dialects.types import sizes_of

from ..kernels.chains import find_chain
from ..memory.layouts import Layout, dense
from ..memory.views import behind, keeps_elements, layout_behind, layout_shown, part_layout, view_layout
from ..rewrite import skip
from .stored_views import other_readers, store_view

_GAP = 4
"""Elements from one that is read to the next: what lies between is read soon, by other programs."""


@dataclass(frozen=True)
class StoreOperandsPass(ModulePass):
    """Let a kernel store what a reshape would else copy for those that read its result.

    Before:
        %r = tk.kernel [2, 8, 3] ins(%x : tensor<2x8x3xf32>) -> (tensor<2x8x3xf32>)
            {... tk.store %v, %o[d0, d1, d2] ...}
        %t = tw.transpose %r by [1, 0, 2] : tensor<2x8x3xf32> -> tensor<8x2x3xf32>
        %s = tw.reshape %t : tensor<8x2x3xf32> -> tensor<8x6xf32>
        %m = tw.matmul %s, %w : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    After:
        %r = tk.kernel [2, 8, 3] ins(%x : tensor<2x8x3xf32>) -> (tensor<8x6xf32>)
            {... tk.store %v, %o[d1, d0*3 + d2] ...}
        %m = tw.matmul %r, %w : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>

    Heads of attention become rows, for example. So is stored what a concatenation would else copy: a row of
    `[1, 512]`, say, of which four heads of a cache get a part each, is stored as `[1, 4, 1, 128]`, straight
    in its place. Other kernels that read the result read it where it now is. Left alone is what other ops
    read as it is, and what stays contiguous along no dimension: the copy takes less time than such stores.
    Rows that are dealt out to a few others (`pixel_unshuffle`) are stored, and read with gaps. A chain of
    products stores its tiles along either side: the gradients of packed queries, keys and values, in place.
    """

    name = "store-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for inner in list(function.body.block.ops):
                match inner:
                    case ReshapeOp():
                        _store_operand(inner)
                    case ConcatOp():
                        for number, start in enumerate(inner.starts):
                            _store_piece(inner, number, start)
                    case _:
                        pass


def _store_operand(reshape: ReshapeOp) -> None:
    root, views = behind(reshape.result, keeps_elements)
    if isinstance(root.owner, KernelOp) and _is_copied(root, views):
        _store_view(root, views, dense(sizes_of(reshape.result)))


def _store_piece(concat: ConcatOp, number: int, start: Expr) -> None:
    """Piece `number`, which begins at `start`, if what makes it could not store it there as it is."""
    root, views = behind(concat.inputs[number], keeps_elements)
    alone = all(value.has_one_use() for value in (root, *(view.results[0] for view in views)))
    if not isinstance(root.owner, KernelOp) or not alone:
        return
    place = part_layout(concat, number, start, dense(sizes_of(concat.result)))
    if layout_behind(views, place) is None:
        _store_view(root, views, place)


def _store_view(root: SSAValue, views: list[Operation], place: Layout) -> None:
    """Store the first of `views`, which is the last one; `place`: how it lies then."""
    kernel = root.owner
    assert isinstance(kernel, KernelOp)
    if not _stores_along_rows(root, views, place):
        return skip(kernel, "a view of its result is copied: it would not store along rows", root)
    views.reverse()
    if other_readers(root, views):
        return skip(kernel, "a view of its result is copied: other ops read the result as it is", root)
    if not store_view(root, views):
        return skip(kernel, "a view of its result is copied: its kernel cannot store it", root)


def _stores_along_rows(root: SSAValue, views: Sequence[Operation], place: Layout) -> bool:
    """Whether rows of `root` are rows, or nearly, where the first of `views` lies as `place`.

    Tiles that a chain of products has made are stored along either side.
    """
    whole = dense(sizes_of(root))
    kernel = root.owner
    assert isinstance(kernel, KernelOp)
    chained = find_chain(kernel.body.block) is not None
    sides = {ONE, whole.sizes[-1]} if chained else {ONE}
    for first in range(len(views) + 1):
        here, there = layout_shown(views[first:], whole), layout_behind(views[:first], place)
        if here is not None and there is not None:
            strides = zip(here.sizes, here.strides, there.strides, strict=True)
            if any(size != ONE and old in sides and new == ONE for size, old, new in strides):
                return True
            break
    return layout_behind(views, place) is None and _dealt_out(root, views)


def _dealt_out(root: SSAValue, views: Sequence[Operation]) -> bool:
    """Whether what is side by side behind `views`, of which a reshape comes first, nearly is in `root`."""
    layout = layout_shown(views[1:], dense(sizes_of(root))) if isinstance(views[0], ReshapeOp) else None
    gap = None if layout is None else layout.strides[-1].constant
    return gap is not None and 1 < gap <= _GAP


def _is_copied(root: SSAValue, views: Sequence[Operation]) -> bool:
    """Whether the first of `views`, which is the last one, is none of what is row-major."""
    if any(size.constant == 0 for size in sizes_of(root)):
        return False
    layout = layout_shown(views[1:], dense(sizes_of(root)))
    return layout is not None and view_layout(views[0], layout) is None
