"""Convolutions that are matrix products, and their gradients: no element of the image is in two windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.tw.aten import AtenOp
from tilewright.dialects.tw.linalg import ConvolutionOp
from tilewright.dialects.types import sizes_of

from ..driver import Rewrite, Rules, apply_rules
from ..layout.channels_last import is_turned
from ..rewrite import skip
from .call_arguments import each, literal, literals
from .convolution_bias import add_bias_apart, sum_bias_apart, summed
from .convolution_gradients import (
    DILATION,
    OF_BIAS,
    OF_FILTERS,
    OF_IMAGE,
    PADDING,
    STRIDES,
    TRANSPOSED,
    computes_gradients,
    groups_of,
    returned,
    tensors_of,
)
from .convolution_rows import WindowRows
from .window_product import WindowProduct
from .windows import with_bias


@dataclass(frozen=True)
class DecomposeConvolutionsPass(ModulePass):
    """Write convolutions of halves in which no element of the image is in two windows as matrix products.

    Before:
        %r = tw.convolution %x, %w ... : (tensor<2x8x4x4xbf16>, ...) -> tensor<2x16x4x4xbf16>
    After:
        %f = tw.reshape %w : tensor<16x8x1x1xbf16> -> tensor<16x8xbf16>
        %i = tw.reshape %x : tensor<2x8x4x4xbf16> -> tensor<2x8x16xbf16>
        %p = tw.matmul %f for each image, %i : ... -> tensor<2x16x16xbf16>
        %r = tw.reshape %p : tensor<2x16x16xbf16> -> tensor<2x16x4x4xbf16>

    1 x 1, patches, images of one window, and the gradients of these. What stands around them then fuses.
    An image that lies with its channels last (`channels-last`) is rows of these, which the filters multiply
    from the other side, and so are images of one window: squeeze and excitation, the end of a discriminator.
    A transposed convolution of such rows makes windows of pixels, as the gradient of an image does.

    Of a convolution that stays a library's the bias is added, and its gradient summed, by itself.
    """

    name = "decompose-convolutions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, RULES, self.name)


def decompose_convolution(op: Operation, rw: Rewrite) -> SSAValue | None:
    """The filters times the windows of an image; of a transposed one, the windows of the result."""
    assert isinstance(op, ConvolutionOp)
    strides, padding, dilation, _ = op.geometry()
    transposed = op.transposed is not None
    many = op.result if transposed else op.image
    found = WindowProduct(many, op.weight, strides, is_turned(op), transposed)
    if not found.is_product(padding, dilation, op.groups.value.data):
        return None
    if transposed:
        return with_bias(found.rows().gradients(op.image, (OF_IMAGE,), rw)[OF_IMAGE], op.bias, rw)
    return found.writer().result(op.bias, rw)


def decompose_convolution_backward(op: Operation, rw: Rewrite) -> list[SSAValue] | None:
    """The gradients of a product are products, that of its bias is a sum; all three, or none."""
    if not computes_gradients(op):
        return None
    wanted, found = returned(op), _product_of(op)
    if found is None or (OF_IMAGE in wanted and not found.tiles):
        return None
    gradient, image, _ = tensors_of(op)
    if found.transposed:
        made = _gradients_of_transposed(found.rows(), gradient, image, wanted, rw)
        if OF_BIAS in wanted:
            made[OF_BIAS] = summed(gradient, op.outputs[wanted.index(OF_BIAS)], rw)
    else:
        made = found.writer().gradients(gradient, wanted, rw)
    return [made[number] for number in wanted]


def _product_of(op: AtenOp) -> WindowProduct | None:
    """The convolution whose gradients `op` computes, where that is a product."""
    gradient, image, weight = tensors_of(op)
    rank = len(sizes_of(gradient)) - 2
    strides, padding, dilation = (literals(op, number) for number in (STRIDES, PADDING, DILATION))
    groups, transposed = groups_of(op), literal(op, TRANSPOSED)
    if strides is None or padding is None or dilation is None or transposed is None or groups is None:
        return None
    many, few = (gradient, image) if transposed else (image, gradient)
    found = WindowProduct(many, weight, each(strides, rank), is_turned(op), bool(transposed))
    if not found.is_product(each(padding, rank), each(dilation, rank), groups):
        return None
    if found.places != sizes_of(few)[2:]:
        skip(op, "not decomposed: its sizes are written differently")
        return None
    return found


def _gradients_of_transposed(
    found: WindowRows, gradient: SSAValue, image: SSAValue, wanted: Sequence[int], rw: Rewrite
) -> dict[int, SSAValue]:
    """The windows are the gradient's: times filters, that of the image; times the image, that of filters."""
    made: dict[int, SSAValue] = {}
    if OF_IMAGE in wanted:
        made[OF_IMAGE] = found.result(None, rw)
    if OF_FILTERS in wanted:
        made |= found.gradients(image, (OF_FILTERS,), rw)
    return made


RULES: Rules = {
    ConvolutionOp: (decompose_convolution, add_bias_apart),
    AtenOp: (decompose_convolution_backward, sum_bias_apart),
}
