"""pack-convolutions: convolutions by frozen filters run on channels-last images and packed filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.tw.linalg import ConvolutionOp
from tilewright.dialects.tw.packed_convolution import PackedConvolutionOp, PackFilterOp
from tilewright.dialects.tw.view import PadOp, TransposeOp
from tilewright.dialects.types import element_type_of, sizes_of

from ..rewrite import skip
from ..schedule.tile import best_shape
from .frozen import frozen_values


@dataclass(frozen=True)
class PackConvolutionsPass(ModulePass):
    """Rewrite `tw.convolution` by a frozen filter into its channels-last, packed form.

    Before:
        %r = tw.convolution %x, %w strides [1, 1] padding [1, 1] dilation [1, 1] output_padding [0, 0]
             groups 1 : (tensor<1x8x7x7xf32>, tensor<32x8x3x3xf32>) -> tensor<1x32x7x7xf32>
    After:
        %f = tw.pack_filter %w width 32 : tensor<32x8x3x3xf32> -> tensor<1x3x3x8x32xf32>
        %t = tw.transpose %x by [0, 2, 3, 1] : tensor<1x8x7x7xf32> -> tensor<1x7x7x8xf32>
        %p = tw.pad %t low "0, 1, 1, 0" high "0, 1, 1, 0" value 0.0 : f32 : ... -> tensor<1x9x9x8xf32>
        %c = tw.packed_convolution %p, %f strides [1, 1] dilation [1, 1] groups 1 : ...
        %r = tw.transpose %c by [0, 3, 1, 2] : tensor<1x7x7x32xf32> -> tensor<1x32x7x7xf32>

    `hoist-frozen` then moves the packing out of the call, `sink-transposes` lets the
    transposes of a chain of convolutions cancel. Only f32, only where a whole number of
    vectors makes a panel that lies within one group (or with one channel per group).
    """

    name = "pack-convolutions"

    vector_bits: int = 512

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                frozen = frozen_values(function)
                for inner in list(function.body.block.ops):
                    if isinstance(inner, ConvolutionOp):
                        width = _width(inner, inner.weight in frozen, self.vector_bits)
                        if isinstance(width, str):
                            skip(inner, f"not packed: {width}")
                        else:
                            _pack(inner, width)


def _width(op: ConvolutionOp, frozen: bool, vector_bits: int) -> int | str:
    """Output channels per panel, or why there are no panels."""
    if not frozen:
        return "the filter may change from call to call"
    if op.transposed is not None:
        return "it is transposed"
    if element_type_of(op.image) != f32:
        return "only products of f32 have register tiles"
    outputs, per_group = sizes_of(op.weight)[0].constant, sizes_of(op.weight)[1].constant
    groups, lanes = op.groups.value.data, vector_bits // 32
    if not outputs or not per_group or (outputs // groups) % lanes:
        if not outputs or per_group != 1 or outputs != groups or outputs % lanes:
            return f"{outputs} outputs in {groups} groups are no whole number of {lanes}-lane vectors each"
        return outputs
    step = (per_group * groups) * op.geometry()[0][-1]
    _, vectors = best_shape(_rows(op), outputs // groups // lanes, vector_bits, step)
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


def _pack(op: ConvolutionOp, width: int) -> None:
    rank = len(sizes_of(op.image))
    strides, padding, dilation, _ = op.geometry()
    last = [0, *range(2, rank), 1]
    new: list[Operation] = []

    def add(made: Operation) -> SSAValue:
        new.append(made)
        return made.results[0]

    packed = add(PackFilterOp(op.weight, width))
    image = add(TransposeOp(op.image, last))
    if any(padding):
        around = _around(padding)
        image = add(PadOp(image, around, around, 0.0))
    product = PackedConvolutionOp(image, packed, op.bias, strides, dilation, op.groups.value.data)
    result = add(TransposeOp(add(product), [0, rank - 1, *range(1, rank - 1)]))
    block = op.parent_block()
    assert block is not None
    for made in new:
        made.location = op.location
        block.insert_op_before(made, op)
    result.name_hint = op.result.name_hint
    op.result.replace_all_uses_with(result)
    block.erase_op(op)


def _around(padding: Sequence[int]) -> list[int]:
    return [0, *padding, 0]
