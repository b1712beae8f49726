"""store-views: kernels store a result in the shape that parts of it are returned in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.view import SliceOp
from tilewright.dialects.types import sizes_of

from ..rewrite import skip
from .layouts import Layout, dense, same_strides
from .returned import Returned, returned_by
from .second_stores import store_of
from .stored_views import other_readers, stores_through, take_view, undone
from .views import keeps_elements, view_layout


@dataclass(frozen=True)
class StoreViewsPass(ModulePass):
    """Let a kernel store what parts are returned of so that these parts are views with the strides they need.

    Before:
        %r = tk.kernel [8, 6] ins(%x : tensor<8x6xf32>) -> (tensor<8x6xf32>) {... tk.store %v, %o[d0, d1] ...}
        %s = tw.reshape %r : tensor<8x6xf32> -> tensor<8x2x3xf32>
        %t = tw.transpose %s by [1, 0, 2] : tensor<8x2x3xf32> -> tensor<2x8x3xf32>
        %a = tw.slice %t starts "0, 0, 0" steps "1, 1, 1" : tensor<2x8x3xf32> -> tensor<1x8x3xf32>
        %b = tw.slice %t starts "1, 0, 0" steps "1, 1, 1" : tensor<2x8x3xf32> -> tensor<1x8x3xf32>
        func.return %a, %b
    After:
        %r = tk.kernel [8, 2, 3] ins(%x : tensor<8x6xf32>) -> (tensor<2x8x3xf32>)
            {... tk.store %v, %o[d1, d0, d2] ...}
        %a = tw.slice %r starts "0, 0, 0" steps "1, 1, 1" : tensor<2x8x3xf32> -> tensor<1x8x3xf32>
        %b = tw.slice %r starts "1, 0, 0" steps "1, 1, 1" : tensor<2x8x3xf32> -> tensor<1x8x3xf32>
        func.return %a, %b

    `bufferize` would copy each part out of rows of six. Other kernels that read the result read it where it
    now is. Left alone is what other ops read, what no shape suits whose elements are all there once, and what
    `bufferize` stores as needed anyway: what is returned as a whole.
    """

    name = "store-views"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for root, results in returned_by(function).items():
                _store_view_of(root, results)


def _store_view_of(root: SSAValue, results: Sequence[Returned]) -> None:
    kernel = root.owner
    parts = any(isinstance(view, SliceOp) for result in results for view in result.views)
    if not parts or not isinstance(kernel, KernelOp) or _fit(results, 0):
        return
    views = _views_that_fit(results)
    if views is None:
        return skip(kernel, "parts are copied to be returned: no one shape suits them", root)
    if other_readers(root, views):
        return skip(kernel, "parts are copied to be returned: other ops read the result as it is", root)
    store = store_of(root)
    back = undone(views)
    if store is None or not stores_through(kernel, store, back):
        return skip(kernel, "parts are copied to be returned: its kernel cannot store them so", root)
    take_view(root, store.buffer, views, back)


# Which shape


def _fit(results: Sequence[Returned], count: int) -> bool:
    """Whether nothing would be copied if the first `count` views of each result were what is stored."""
    return all(_fits(result, result.views[::-1][count:]) for result in results)


def _fits(result: Returned, views: Sequence[Operation]) -> bool:
    layout: Layout | None = dense(sizes_of(views[0].operands[0] if views else result.value))
    for view in views:
        layout = None if layout is None else view_layout(view, layout)
    return layout is not None and same_strides(layout.sizes, layout.strides, result.strides)


def _views_that_fit(results: Sequence[Returned]) -> Sequence[Operation] | None:
    """The first few views, common to all results, with which stored nothing would be copied."""
    views: list[Operation] = []
    for steps in zip(*(result.views[::-1] for result in results), strict=False):
        if len(set(steps)) > 1 or not keeps_elements(steps[0]):
            return None
        views.append(steps[0])
        if _fit(results, len(views)):
            return views
    return None
