"""store-views: kernels store a result in the shape that it, or parts of it, are returned in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import ZERO
from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.view import SliceOp
from tilewright.dialects.types import sizes_of

from ..memory.layouts import Layout, dense, overlaps_itself, same_strides
from ..memory.returned import Returned, returned_by
from ..memory.views import layout_behind, layout_shown
from ..rewrite import skip
from .stored_views import may_be_stored, other_readers, store_view


@dataclass(frozen=True)
class StoreViewsPass(ModulePass):
    """Let a kernel store what is returned so that this, or its parts, are views with the strides they need.

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

    `bufferize` would copy each part out of rows of six. So it would a whole that no strides of what is stored
    give: the gradient of a weight, a product of 384 x 768, returned as 384 x 192 x 2 x 2 with channels last.

    Before:
        %g = tk.kernel [384, 192, 2, 2, 8] ins(...) -> (tensor<384x768xf32>)
            {... tk.store %v, %o[d0, d1*4 + d2*2 + d3] ...}
        %w = tw.reshape %g : tensor<384x768xf32> -> tensor<384x192x2x2xf32>
        func.return %w    // of strides 768, 1, 384, 192
    After:
        %g = tk.kernel [384, 192, 2, 2, 8] ins(...) -> (tensor<384x192x2x2xf32>)
            {... tk.store %v, %o[d0, d1, d2, d3] ...}
        func.return %g

    What is returned from its end, as the gradient of a running sum, is stored from its end.

    Other kernels that read the result read it where it now is. Left alone is what other ops read, what no
    shape suits whose elements are all there once, and what `bufferize` stores as needed anyway: a whole whose
    strides follow from some of what the kernel stores.
    """

    name = "store-views"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for root, results in returned_by(function).items():
                _store_view_of(root, results)


def _store_view_of(root: SSAValue, results: Sequence[Returned]) -> None:
    kernel = root.owner
    parts = any(isinstance(view, SliceOp) for result in results for view in result.views)
    if not (parts or _one_whole(results)) or not isinstance(kernel, KernelOp) or _fit(results, 0):
        return
    copied, them = ("parts are copied", "them") if parts else ("it is copied", "it")
    views = _views_that_fit(results)
    if views is None:
        return skip(kernel, f"{copied} to be returned: no one shape suits {them}", root)
    if other_readers(root, views):
        return skip(kernel, f"{copied} to be returned: other ops read the result as it is", root)
    if not store_view(root, views):
        return skip(kernel, f"{copied} to be returned: its kernel cannot store {them} so", root)


# Which shape


def _one_whole(results: Sequence[Returned]) -> bool:
    """Whether one value is returned, which has every element of what is stored."""
    return len({result.value for result in results}) == 1 and all(map(may_be_stored, results[0].views))


def _fit(results: Sequence[Returned], count: int) -> bool:
    """Whether nothing would be copied if the first `count` views of each result were what is stored."""
    whole = _one_whole(results)
    return all(_fits(result, result.views[::-1][count:], whole) for result in results)


def _fits(result: Returned, views: Sequence[Operation], whole: bool) -> bool:
    """A whole is stored with whatever strides it needs; what has parts is stored row-major."""
    if whole:
        wanted = Layout(ZERO, sizes_of(result.value), result.strides)
        stored = layout_behind(views[::-1], wanted)
        if stored is not None and not overlaps_itself(stored.sizes, stored.strides):
            return True
    layout = layout_shown(views[::-1], dense(sizes_of(views[0].operands[0] if views else result.value)))
    return layout is not None and same_strides(layout.sizes, layout.strides, result.strides)


def _views_that_fit(results: Sequence[Returned]) -> Sequence[Operation] | None:
    """The first few views, common to all results, with which stored nothing would be copied."""
    views: list[Operation] = []
    for steps in zip(*(result.views[::-1] for result in results), strict=False):
        if len(set(steps)) > 1 or not may_be_stored(steps[0]):
            return None
        views.append(steps[0])
        if _fit(results, len(views)):
            return views
    return None
