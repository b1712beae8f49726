"""turn-filters: filters that convolve channels-last images lie so, too."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tw.view import TransposeOp
from tilewright.dialects.types import sizes_of

from ..fusion.absorb_views import view_kernel
from ..memory.layouts import inverse
from ..rewrite import carry_location, may_rewrite
from ..tensor.convolution_gradients import FILTERS, number_of
from .channels_last import is_turned, lies_turned, to_the_end


@dataclass(frozen=True)
class TurnFiltersPass(ModulePass):
    """Let a kernel copy the filters of a convolution to the order in which its library reads them.

    Before:
        %r = tw.convolution %x, %w ... {tw.strides = ["400, 1, 80, 16"]}
          : (tensor<2x8x5x5xbf16>, tensor<16x8x3x3xbf16>) -> tensor<2x16x5x5xbf16>
    After:
        %k = tk.kernel [16, 3, 3, 8] ins(%w : tensor<16x8x3x3xbf16>) -> (tensor<16x3x3x8xbf16>) {...}
        %f = tw.transpose %k by [0, 3, 1, 2] : tensor<16x3x3x8xbf16> -> tensor<16x8x3x3xbf16>
        %r = tw.convolution %x, %f ... {tw.strides = ["400, 1, 80, 16"]}

    The library would make the same copy, in a launch of its own; and from the filters it sees how the image
    and the result shall lie, also where the image lies otherwise. Copies of all layers are one launch
    (`group-launches`), and a cast is made with them (`fuse`). Filters of one channel, or of one element, lie
    in both orders at once; those of a caller may lie so already.
    """

    name = "turn-filters"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for inner in list(function.body.block.ops):
                if is_turned(inner):
                    _turn(inner, number_of(inner, FILTERS))


def _turn(op: Operation, number: int) -> None:
    filters = op.operands[number]
    _, channels, *kernel = sizes_of(filters)
    if channels.constant == 1 or all(n.constant == 1 for n in kernel) or lies_turned(filters):
        return
    if not may_rewrite(op, "its filters are turned"):
        return
    perm = to_the_end(2 + len(kernel))
    shown = TransposeOp(filters, perm)
    copy = view_kernel(shown)
    assert copy is not None
    shown.erase()
    back = TransposeOp(copy.results[0], inverse(perm))
    carry_location(op, (copy, back))
    Rewriter.insert_op((copy, back), InsertPoint.before(op))
    op.operands[number] = back.result
