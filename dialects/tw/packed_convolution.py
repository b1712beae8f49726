"""Convolutions of channels-last images with filters in the order in which register tiles read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, f32, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)

from ..attribute_facts import ints
from ..index_expr import Expr
from ..op_definition import op_definition
from ..types import is_half, sizes_of, tensor_type
from .base import (
    INTS,
    PURE,
    TENSOR,
    TwOp,
    element_of,
    expect_element,
    expect_equal,
    expect_kind,
    expect_sizes,
    fail,
    int_array,
    int_attr,
)
from .packing import PanelsOp


@op_definition
class PackFilterOp(PanelsOp):
    """Cut filters `[o, c, kernel...]` into panels of `width` outputs: `[o/width, kernel..., c, width]`.

    `width` divides o. A panel is read front to back by a register tile. With `group` G, a
    divisor of c, G channels stand side by side, as instructions for dot products take
    them: `[o/width, kernel..., c/G, width, G]`.

    ```mlir
    %p = tw.pack_filter %w width 16 : tensor<32x8x3x3xf32> -> tensor<2x3x3x8x16xf32>
    %q = tw.pack_filter %w width 16 group 2 : tensor<32x8x3x3xbf16> -> tensor<2x3x3x4x16x2xbf16>
    ```
    """

    name = "tw.pack_filter"

    CUT: ClassVar[tuple[int, str]] = (0, "outputs")
    GROUPED: ClassVar[tuple[int, str]] = (1, "channels")

    def check(self) -> None:
        if (rank := len(sizes_of(self.source))) < 3:
            raise fail(self, f"source has rank {rank}, expected at least 3")
        super().check()


@dataclass(frozen=True)
class PackedFilter:
    """What the dimensions of a packed filter are."""

    panels: Expr
    kernel: tuple[Expr, ...]
    steps: Expr
    width: Expr
    group: int

    @classmethod
    def of(cls, sizes: Sequence[Expr], rank: int) -> PackedFilter:
        """Those of a filter for images of rank `rank`; a trailing dimension beyond theirs is a group."""
        panels, *kernel, steps, width = sizes[: rank + 1]
        group = (sizes[rank + 1].constant or 1) if len(sizes) > rank + 1 else 1
        return cls(panels, tuple(kernel), steps, width, group)

    @property
    def channels(self) -> Expr:
        """Of one group of the convolution."""
        return self.steps * self.group

    @property
    def outputs(self) -> Expr:
        return self.panels * self.width


def packed_convolution_sizes(
    image: Sequence[Expr], packed: PackedFilter, strides: Sequence[int], dilation: Sequence[int]
) -> tuple[Expr, ...]:
    """The sizes of the result, channels last."""
    spatial = zip(image[1:-1], packed.kernel, strides, dilation, strict=True)
    return (image[0], *((n - (k - 1) * d - 1) // s + 1 for n, k, s, d in spatial), packed.outputs)


@op_definition
class PackedConvolutionOp(TwOp):
    """Cross-correlation of `[n, spatial..., c]` with `[p, kernel..., c/groups, w]` -> `[n, out..., p*w]`.

    Or with `[p, kernel..., c/groups/g, w, g]`, in groups of neighbouring channels. There is no
    padding: `tw.pad` comes before. Outputs of one group are consecutive; a panel
    lies inside of one group, or there is one channel per group and `c == p*w`. Accumulates
    in f32 (f64 for f64), adds the bias `[p*w]`, rounds once. An image in f32 may meet packed halves.

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
        filters = PackedFilter.of(sizes_of(packed), len(sizes_of(image)))
        sizes = packed_convolution_sizes(sizes_of(image), filters, strides, dilation)
        operands = (image, packed) if bias is None else (image, packed, bias)
        properties = {
            "strides": int_array(strides),
            "dilation": int_array(dilation),
            "groups": int_attr(groups),
        }
        self._build(operands, (tensor_type(element_of(image), sizes),), properties)

    @property
    def filters(self) -> PackedFilter:
        """The dimensions of the packed filter."""
        return PackedFilter.of(sizes_of(self.packed), len(sizes_of(self.image)))

    @property
    def is_depthwise(self) -> bool:
        """Whether output channel i reads image channel i only."""
        channels = sizes_of(self.image)[-1]
        return (channels - self.groups.value.data).constant == 0 and channels == self.filters.outputs

    def check(self) -> None:
        image = sizes_of(self.image)
        expect_kind(self, self.image, "float")
        if len(image) < 3:
            raise fail(self, f"image has rank {len(image)}, expected at least 3")
        if len(packed := sizes_of(self.packed)) not in (len(image) + 1, len(image) + 2):
            raise fail(
                self, f"packed has rank {len(packed)}, expected {len(image) + 1}, or one more with groups"
            )
        for name, values in (("strides", ints(self.strides)), ("dilation", ints(self.dilation))):
            if len(values) != len(image) - 2 or min(values) < 1:
                raise fail(self, f"{name} is {list(values)}, expected {len(image) - 2} entries of at least 1")
        filters, groups = self.filters, self.groups.value.data
        expect_equal(self, "the image's channel count", image[-1], filters.channels * groups)
        if groups < 1 or not (self.is_depthwise or (filters.panels % groups).constant == 0):
            raise fail(self, f"groups is {groups}, expected a divisor of the {filters.panels} panels")
        self._check_elements()
        expected = packed_convolution_sizes(image, filters, ints(self.strides), ints(self.dilation))
        expect_sizes(self, "result shape", sizes_of(self.result), expected)
        if self.bias is not None:
            expect_sizes(self, "bias shape", sizes_of(self.bias), (expected[-1],))

    def _check_elements(self) -> None:
        element = element_of(self.image)
        if not (element == f32 and is_half(element_of(self.packed))):
            expect_element(self, "packed", self.packed, element)
        expect_element(self, "result", self.result, element)
        if self.bias is not None:
            expect_element(self, "bias", self.bias, element)


PACKED_CONVOLUTION_OPS = (PackFilterOp, PackedConvolutionOp)
