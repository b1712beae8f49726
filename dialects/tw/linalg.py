"""Contractions: matrix product and convolution."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i8, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)

from ..attribute_facts import ints
from ..index_expr import Expr
from ..op_definition import op_definition
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
)


@op_definition
class MatmulOp(TwOp):
    """`[b..., m, k] x [b..., k, n] -> [b..., m, n]`, plus a bias of shape `[n]` if given.

    Batch sizes are equal. bf16 and f16 accumulate (and add the bias) in f32, then round
    once. With k = 0 the product is 0. Integers wrap. The product of two i8 matrices may be i32,
    which their products and sums are in then.

    ```mlir
    %r = tw.matmul %a, %b bias %c : (tensor<8x4xf32>, tensor<4x6xf32>, tensor<6xf32>) -> tensor<8x6xf32>
    ```
    """

    name = "tw.matmul"

    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    result = result_def(TENSOR)

    traits = traits_def(PURE)
    assembly_format = "$lhs `,` $rhs (`bias` $bias^)? attr-dict `:` functional-type(operands, $result)"

    def __init__(
        self, lhs: SSAValue, rhs: SSAValue, bias: SSAValue | None = None, *, element: Attribute | None = None
    ) -> None:
        sizes = [*sizes_of(lhs)[:-1], sizes_of(rhs)[-1]]
        operands = (lhs, rhs) if bias is None else (lhs, rhs, bias)
        self._build(operands, (tensor_type(element or element_of(lhs), sizes),))

    @property
    def widens(self) -> bool:
        """Whether i8 matrices have a product of i32."""
        return element_of(self.lhs) == i8 and element_of(self.result) == i32

    def check(self) -> None:
        a, b = sizes_of(self.lhs), sizes_of(self.rhs)
        expect_kind(self, self.lhs, "number")
        if len(a) < 2:
            raise fail(self, f"lhs has rank {len(a)}, expected at least 2")
        expect_sizes(self, "rhs shape without n", b[:-1], [*a[:-2], a[-1]])
        expect_element(self, "rhs", self.rhs, element_of(self.lhs))
        if not self.widens:
            expect_element(self, "result", self.result, element_of(self.lhs))
        expect_sizes(self, "result shape", sizes_of(self.result), [*a[:-1], b[-1]])
        if self.bias is not None:
            expect_element(self, "bias", self.bias, element_of(self.result))
            expect_sizes(self, "bias shape", sizes_of(self.bias), [b[-1]])


def convolution_sizes(
    image: Sequence[Expr],
    weight: Sequence[Expr],
    geometry: Sequence[Sequence[int]],
    groups: int,
    transposed: bool,
) -> list[Expr]:
    """Result sizes; `geometry` holds strides, padding, dilation and output padding."""
    sizes = [image[0], weight[1] * groups if transposed else weight[0]]
    for n, k, stride, pad, dilation, extra in zip(image[2:], weight[2:], *geometry, strict=True):
        if transposed:
            sizes.append((n - 1) * stride - 2 * pad + (k - 1) * dilation + extra + 1)
        else:
            sizes.append((n + 2 * pad - (k - 1) * dilation - 1) // stride + 1)
    return sizes


@op_definition
class ConvolutionOp(TwOp):
    """Cross-correlation of `[N, C, spatial...]` with `[O, C / groups, kernel...]`.

    `transposed` is the gradient of that with respect to the image: the weight is
    `[C, O / groups, kernel...]`. A bias has shape `[O]`. bf16 and f16 accumulate in f32.

    ```mlir
    %r = tw.convolution %x, %w strides [1, 1] padding [1, 1] dilation [1, 1]
         output_padding [0, 0] groups 1
       : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
    ```
    """

    name = "tw.convolution"

    image = operand_def(TENSOR)
    weight = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    strides = prop_def(INTS)
    padding = prop_def(INTS)
    dilation = prop_def(INTS)
    transposed = opt_prop_def(UnitAttr)
    output_padding = prop_def(INTS)
    groups = prop_def(IntegerAttr.constr(i64))
    result = result_def(TENSOR)

    traits = traits_def(PURE)
    assembly_format = (
        "$image `,` $weight (`bias` $bias^)? `strides` $strides `padding` $padding `dilation` $dilation"
        " (`transposed` $transposed^)? `output_padding` $output_padding `groups` $groups attr-dict"
        " `:` functional-type(operands, $result)"
    )

    def __init__(
        self,
        image: SSAValue,
        weight: SSAValue,
        bias: SSAValue | None,
        strides: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        *,
        transposed: bool = False,
        output_padding: Sequence[int] = (),
        groups: int = 1,
    ) -> None:
        output_padding = output_padding or [0] * len(strides)
        geometry = (strides, padding, dilation, output_padding)
        sizes = convolution_sizes(sizes_of(image), sizes_of(weight), geometry, groups, transposed)
        properties: dict[str, Attribute] = {
            "strides": int_array(strides),
            "padding": int_array(padding),
            "dilation": int_array(dilation),
            "output_padding": int_array(output_padding),
            "groups": int_attr(groups),
        }
        if transposed:
            properties["transposed"] = UnitAttr()
        operands = (image, weight) if bias is None else (image, weight, bias)
        self._build(operands, (tensor_type(element_of(image), sizes),), properties)

    def geometry(self) -> tuple[tuple[int, ...], ...]:
        """Strides, padding, dilation and output padding, one entry per spatial dimension."""
        return ints(self.strides), ints(self.padding), ints(self.dilation), ints(self.output_padding)

    def check(self) -> None:
        image, weight = sizes_of(self.image), sizes_of(self.weight)
        groups, transposed = self.groups.value.data, self.transposed is not None
        expect_kind(self, self.image, "float")
        if len(image) < 3:
            raise fail(self, f"image has rank {len(image)}, expected at least 3")
        expect_rank(self, "weight", self.weight, len(image))
        self._check_geometry(len(image) - 2)
        channels = weight[0] if transposed else weight[1] * groups
        expect_equal(self, "the image's channel count", image[1], channels)
        for fact, value in (("weight", self.weight), ("result", self.result)):
            expect_element(self, fact, value, element_of(self.image))
        expected = convolution_sizes(image, weight, self.geometry(), groups, transposed)
        expect_sizes(self, "result shape", sizes_of(self.result), expected)
        if self.bias is not None:
            expect_element(self, "bias", self.bias, element_of(self.image))
            expect_sizes(self, "bias shape", sizes_of(self.bias), [expected[1]])

    def _check_geometry(self, spatial: int) -> None:
        names = ("strides", "padding", "dilation", "output_padding")
        lows = (1, 0, 1, 0)
        for name, low, values in zip(names, lows, self.geometry(), strict=True):
            if len(values) != spatial:
                raise fail(self, f"{name} is {list(values)}, expected {spatial} entries")
            if min(values) < low:
                raise fail(self, f"{name} is {list(values)}, expected entries of at least {low}")
        if self.groups.value.data < 1:
            raise fail(self, f"groups is {self.groups.value.data}, expected at least 1")


LINALG_OPS = (MatmulOp, ConvolutionOp)
