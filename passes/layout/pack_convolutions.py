"""pack-convolutions: convolutions by frozen filters run on channels-last images and packed filters."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.passes import ModulePass

from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tw.linalg import ConvolutionOp
from tilewright.dialects.types import element_type_of, is_half, sizes_of

from ..rewrite import may_rewrite, skip
from ..schedule.loops.tile import best_shape
from .frozen import frozen_values
from .packed_convolutions import ConvolutionRewrite


@dataclass(frozen=True)
class PackConvolutionsPass(ModulePass):
    """Rewrite `tw.convolution` by a frozen filter into its channels-last, packed form.

    Before:
        %r = tw.convolution %x, %w strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0]
             groups 1 : (tensor<1x8x7x7xf32>, tensor<32x8x3x3xf32>) -> tensor<1x32x7x7xf32>
    After:
        %t = tw.transpose %x by [0, 2, 3, 1] : tensor<1x8x7x7xf32> -> tensor<1x7x7x8xf32>
        %p = tw.pad %t low "0, 1, 1, 0" high "0, 1, 1, 0" value 0.0 : f32 : ... -> tensor<1x9x9x8xf32>
        %f = tw.pack_filter %w width 32 : tensor<32x8x3x3xf32> -> tensor<1x3x3x8x32xf32>
        %c = tw.packed_convolution %p, %f strides [1, 1] dilation [1, 1] groups 1 : ...
        %r = tw.transpose %c by [0, 3, 1, 2] : tensor<1x7x7x32xf32> -> tensor<1x32x7x7xf32>

    `hoist-frozen` then moves the packing out of the call, `sink-transposes` lets the
    transposes of a chain of convolutions cancel. Halves stay halves in memory:

    - bf16, on a machine that multiplies pairs of it (`bf16-dot`), is packed in pairs of
      channels (`tw.pack_filter %w width 32 group 2`), after an odd number of them got one
      of zeros in the image and in the filter;
    - otherwise, and for one channel per group, the image is widened once, which its producer
      or the padding can do, and a register tile widens a vector of the filter for all its rows.

    An image of few channels that lie apart (a photograph) is not turned. Its windows become the channels
    of a convolution of one pixel, whose neighbours are neighbours in memory; bf16 is paired along a row
    of a window, after one of odd length (`%s`) got a zero:
        %p = tw.pad %x low "0, 0, 1, 1" high "0, 0, 1, 1" ... : ... -> tensor<1x3x9x9xf32>
        %s = tw.window %p dims [3] sizes [3] strides [1] dilation [1] : ... -> tensor<1x3x9x7x3xf32>
        %d = tw.window %s dims [2] sizes [3] strides [1] dilation [1] : ... -> tensor<1x3x7x7x3x3xf32>
        %t = tw.transpose %d by [0, 2, 3, 1, 5, 4] : ... -> tensor<1x7x7x3x3x3xf32>
        %i = tw.reshape %t : ... -> tensor<1x7x7x27xf32>

    Outputs that are no whole number of vectors get some of zeros, and the result is cut. Groups
    only where a whole number of vectors makes a panel that lies within one (or with one channel
    per group).
    """

    name = "pack-convolutions"

    vector_bits: int = 512
    bf16_dot: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            frozen = frozen_values(function)
            for inner in list(function.body.block.ops):
                if isinstance(inner, ConvolutionOp):
                    width = _width(inner, inner.weight in frozen, self.vector_bits)
                    if isinstance(width, str):
                        skip(inner, f"not packed: {width}")
                    elif may_rewrite(inner, "packed"):
                        ConvolutionRewrite(inner).by_packed(width, self.bf16_dot)


def _width(op: ConvolutionOp, frozen: bool, vector_bits: int) -> int | str:
    """Output channels per panel, or why there are no panels."""
    if not frozen:
        return "the filter may change from call to call"
    if op.transposed is not None:
        return "it is transposed"
    element = element_type_of(op.image)
    if not (element == f32 or is_half(element)):
        return "only products of f32 and halves have register tiles"
    outputs, per_group = sizes_of(op.weight)[0].constant, sizes_of(op.weight)[1].constant
    groups, lanes = op.groups.value.data, vector_bits // 32
    if not outputs or not per_group or 2 * outputs < lanes:
        return f"{outputs} outputs are too few for {lanes}-lane vectors"
    if per_group == 1 and outputs == groups and outputs % lanes == 0:
        return outputs
    if groups > 1 and (outputs // groups) % lanes:
        return f"{outputs} outputs in {groups} groups are no whole number of {lanes}-lane vectors each"
    step = (per_group * groups) * op.geometry()[0][-1]
    _, vectors = best_shape(_rows(op), -(-outputs // groups // lanes), vector_bits, step)
    return vectors * lanes


def _rows(op: ConvolutionOp) -> int | None:
    """How many results a register tile may take side by side: a row, or all where rows are contiguous."""
    batch, _, *spatial = sizes_of(op.result)
    strides, padding, _, _ = op.geometry()
    kernel = sizes_of(op.weight)[2:]
    count = spatial[-1]
    if all(k.constant == 1 for k in kernel) and set(strides) == {1} and not any(padding):
        for size in (batch, *spatial[:-1]):
            count = count * size
    return count.constant
