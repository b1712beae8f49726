"""store-operands: kernels store a result in the shape in which library calls read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import ONE
from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.view import ReshapeOp
from tilewright.dialects.types import sizes_of

from ..rewrite import skip
from .layouts import dense
from .second_stores import store_of
from .stored_views import other_readers, stores_through, take_view, undone
from .views import behind, keeps_elements, layout_behind, layout_shown, view_layout


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

    Heads of attention become rows, for example. Other kernels that read the result read it where it now is.
    Left alone is what other ops read as it is, and what stays contiguous along no dimension: the copy
    takes less time than such stores.
    """

    name = "store-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for inner in list(function.body.block.ops):
                if isinstance(inner, ReshapeOp):
                    _store_operand(inner)


def _store_operand(reshape: ReshapeOp) -> None:
    root, views = behind(reshape.result, keeps_elements)
    kernel = root.owner
    if not isinstance(kernel, KernelOp) or not _is_copied(root, views):
        return
    stored = layout_behind(views, dense(sizes_of(reshape.result)))
    if stored is None or stored.strides[-1] != ONE:
        return skip(kernel, "a view of its result is copied: it would not store along rows", root)
    views.reverse()
    if other_readers(root, views):
        return skip(kernel, "a view of its result is copied: other ops read the result as it is", root)
    store, back = store_of(root), undone(views)
    if _STRIDES in kernel.attributes or store is None or not stores_through(kernel, store, back):
        return skip(kernel, "a view of its result is copied: its kernel cannot store it", root)
    take_view(root, store.buffer, views, back)


def _is_copied(root: SSAValue, views: Sequence[Operation]) -> bool:
    """Whether the first of `views`, which is the last one, is none of what is row-major."""
    if any(size.constant == 0 for size in sizes_of(root)):
        return False
    layout = layout_shown(views[1:], dense(sizes_of(root)))
    return layout is not None and view_layout(views[0], layout) is None


_STRIDES = "tw.strides"
