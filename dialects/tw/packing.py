"""Matrix operands in the order in which register tiles read them."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def, traits_def

from ..index_expr import as_expr
from ..types import sizes_of, tensor_type
from .base import (
    PURE,
    TENSOR,
    TwOp,
    element_of,
    expect_element,
    expect_kind,
    expect_rank,
    expect_sizes,
    fail,
    int_attr,
)


@irdl_op_definition
class PackOp(TwOp):
    """Cut a `[k, n]` matrix into panels of `width` columns: `result[p, i, j] = source[i, p*width + j]`.

    `width` divides n. A panel is read front to back by a register tile (the packed `B` of
    Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008).

    ```mlir
    %p = tw.pack %w width 48 : tensor<64x96xf32> -> tensor<2x64x48xf32>
    ```
    """

    name = "tw.pack"

    source = operand_def(TENSOR)
    width = prop_def(IntegerAttr.constr(i64))
    result = result_def(TENSOR)

    traits = traits_def(PURE)
    assembly_format = "$source `width` $width attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, width: int) -> None:
        k, n = sizes_of(source)
        self._build(
            (source,), (tensor_type(element_of(source), (n // width, k, width)),), {"width": int_attr(width)}
        )

    def check(self) -> None:
        expect_rank(self, "source", self.source, 2)
        expect_element(self, "result", self.result, element_of(self.source))
        k, n = sizes_of(self.source)
        width = self.width.value.data
        if width < 1 or (n % width).constant != 0:
            raise fail(self, f"width is {width}, expected a divisor of the {n} columns")
        expect_sizes(self, "result shape", sizes_of(self.result), (n // width, k, as_expr(width)))


@irdl_op_definition
class PackedMatmulOp(TwOp):
    """`tw.matmul` whose right operand is packed: `[m, k] x [p, k, w] -> [m, p*w]`, plus a bias.

    Accumulates in f32 (f64 for f64), rounds once.

    ```mlir
    %r = tw.packed_matmul %a, %p bias %b
       : (tensor<8x64xf32>, tensor<2x64x48xf32>, tensor<96xf32>) -> tensor<8x96xf32>
    ```
    """

    name = "tw.packed_matmul"

    lhs = operand_def(TENSOR)
    packed = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    result = result_def(TENSOR)

    traits = traits_def(PURE)
    assembly_format = "$lhs `,` $packed (`bias` $bias^)? attr-dict `:` functional-type(operands, $result)"

    def __init__(self, lhs: SSAValue, packed: SSAValue, bias: SSAValue | None = None) -> None:
        panels, _, width = sizes_of(packed)
        operands = (lhs, packed) if bias is None else (lhs, packed, bias)
        self._build(operands, (tensor_type(element_of(lhs), (sizes_of(lhs)[0], panels * width)),))

    def check(self) -> None:
        expect_kind(self, self.lhs, "float")
        expect_rank(self, "lhs", self.lhs, 2)
        expect_rank(self, "packed", self.packed, 3)
        m, k = sizes_of(self.lhs)
        panels, rows, width = sizes_of(self.packed)
        expect_sizes(self, "packed shape", (panels, rows, width), (panels, k, width))
        expect_element(self, "packed", self.packed, element_of(self.lhs))
        expect_element(self, "result", self.result, element_of(self.lhs))
        expect_sizes(self, "result shape", sizes_of(self.result), (m, panels * width))
        if self.bias is not None:
            expect_element(self, "bias", self.bias, element_of(self.lhs))
            expect_sizes(self, "bias shape", sizes_of(self.bias), (panels * width,))


PACKING_OPS = (PackOp, PackedMatmulOp)
