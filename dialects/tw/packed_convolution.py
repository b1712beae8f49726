"""Convolutions of channels-last images with filters in the order in which register tiles read them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def, traits_def

from ..index_expr import Expr, as_expr
from ..types import sizes_of, tensor_type
from .base import (
    INTS,
    PURE,
    TENSOR,
    TwOp,
    element_of,
    expect_element,
    expect_equal,
    expect_kind,
    expect_rank,
    expect_sizes,
    fail,
    int_array,
    int_attr,
    ints,
)


@irdl_op_definition
class PackFilterOp(TwOp):
    """Cut filters `[o, c, kernel...]` into panels of `width` outputs: `[o/width, kernel..., c, width]`.

    `width` divides o. A panel is read front to back by a register tile.

    ```mlir
    %p = tw.pack_filter %w width 16 : tensor<32x8x3x3xf32> -> tensor<2x3x3x8x16xf32>
    ```
    """

    name = "tw.pack_filter"

    source = operand_def(TENSOR)
    width = prop_def(IntegerAttr.constr(i64))
    result = result_def(TENSOR)

    traits = traits_def(PURE)
    assembly_format = "$source `width` $width attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, width: int) -> None:
        result = tensor_type(element_of(source), _packed_sizes(sizes_of(source), width))
        self._build((source,), (result,), {"width": int_attr(width)})

    def check(self) -> None:
        sizes, width = sizes_of(self.source), self.width.value.data
        if len(sizes) < 3:
            raise fail(self, f"source has rank {len(sizes)}, expected at least 3")
        if width < 1 or (sizes[0] % width).constant != 0:
            raise fail(self, f"width is {width}, expected a divisor of the {sizes[0]} outputs")
        expect_element(self, "result", self.result, element_of(self.source))
        expect_sizes(self, "result shape", sizes_of(self.result), _packed_sizes(sizes, width))


def _packed_sizes(sizes: Sequence[Expr], width: int) -> tuple[Expr, ...]:
    outputs, channels, *kernel = sizes
    return (outputs // width, *kernel, channels, as_expr(width))


def packed_convolution_sizes(
    image: Sequence[Expr], packed: Sequence[Expr], strides: Sequence[int], dilation: Sequence[int]
) -> tuple[Expr, ...]:
    """The sizes of the result, channels last."""
    spatial = zip(image[1:-1], packed[1:-2], strides, dilation, strict=True)
    return (image[0], *((n - (k - 1) * d - 1) // s + 1 for n, k, s, d in spatial), packed[0] * packed[-1])


@irdl_op_definition
class PackedConvolutionOp(TwOp):
    """Cross-correlation of `[n, spatial..., c]` with `[p, kernel..., c/groups, w]` -> `[n, out..., p*w]`.

    There is no padding: `tw.pad` comes before. Outputs of one group are consecutive; a panel
    lies inside of one group, or there is one channel per group and `c == p*w`. Accumulates
    in f32 (f64 for f64), adds the bias `[p*w]`, rounds once.

    ```mlir
    %r = tw.packed_convolution %x, %p strides [1, 1] dilation [1, 1] groups 1
       : (tensor<1x9x9x8xf32>, tensor<2x3x3x8x16xf32>) -> tensor<1x7x7x32xf32>
    ```
    """

    name = "tw.packed_convolution"

    image = operand_def(TENSOR)
    packed = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    strides = prop_def(INTS)
    dilation = prop_def(INTS)
    groups = prop_def(IntegerAttr.constr(i64))
    result = result_def(TENSOR)

    traits = traits_def(PURE)
    assembly_format = (
        "$image `,` $packed (`bias` $bias^)? `strides` $strides `dilation` $dilation `groups` $groups"
        " attr-dict `:` functional-type(operands, $result)"
    )

    def __init__(
        self,
        image: SSAValue,
        packed: SSAValue,
        bias: SSAValue | None,
        strides: Sequence[int],
        dilation: Sequence[int],
        groups: int = 1,
    ) -> None:
        sizes = packed_convolution_sizes(sizes_of(image), sizes_of(packed), strides, dilation)
        operands = (image, packed) if bias is None else (image, packed, bias)
        properties = {
            "strides": int_array(strides),
            "dilation": int_array(dilation),
            "groups": int_attr(groups),
        }
        self._build(operands, (tensor_type(element_of(image), sizes),), properties)

    @property
    def is_depthwise(self) -> bool:
        """Whether output channel i reads image channel i only."""
        image, packed = sizes_of(self.image), sizes_of(self.packed)
        return (image[-1] - self.groups.value.data).constant == 0 and image[-1] == packed[0] * packed[-1]

    def check(self) -> None:
        image, packed = sizes_of(self.image), sizes_of(self.packed)
        groups = self.groups.value.data
        expect_kind(self, self.image, "float")
        if len(image) < 3:
            raise fail(self, f"image has rank {len(image)}, expected at least 3")
        expect_rank(self, "packed", self.packed, len(image) + 1)
        for name, values in (("strides", ints(self.strides)), ("dilation", ints(self.dilation))):
            if len(values) != len(image) - 2 or min(values) < 1:
                raise fail(self, f"{name} is {list(values)}, expected {len(image) - 2} entries of at least 1")
        expect_equal(self, "the image's channel count", image[-1], packed[-2] * groups)
        if groups < 1 or not (self.is_depthwise or (packed[0] % groups).constant == 0):
            raise fail(self, f"groups is {groups}, expected a divisor of the {packed[0]} panels")
        expect_element(self, "packed", self.packed, element_of(self.image))
        expect_element(self, "result", self.result, element_of(self.image))
        expected = packed_convolution_sizes(image, packed, ints(self.strides), ints(self.dilation))
        expect_sizes(self, "result shape", sizes_of(self.result), expected)
        if self.bias is not None:
            expect_element(self, "bias", self.bias, element_of(self.image))
            expect_sizes(self, "bias shape", sizes_of(self.bias), (expected[-1],))


PACKED_CONVOLUTION_OPS = (PackFilterOp, PackedConvolutionOp)
