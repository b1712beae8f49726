"""The bits of numbers, read as other numbers."""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def, traits_def

from ..op_definition import op_definition
from ..types import SAME_BITS, sizes_of, tensor_type
from .base import PURE, TENSOR, Elementwise, TwOp, element_of, expect_sizes, fail


@op_definition
class BitcastOp(TwOp):
    """Read the bits of floats as integers of their size, or the other way round: f32 and i32, f64 and i64.

    ```mlir
    %r = tw.bitcast %x : tensor<8xi32> -> tensor<8xf32>
    ```
    """

    name = "tw.bitcast"

    operand = operand_def(TENSOR)
    result = result_def(TENSOR)

    traits = traits_def(PURE, Elementwise())
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue) -> None:
        self._build((operand,), (tensor_type(SAME_BITS[element_of(operand)], sizes_of(operand)),), {})

    def check(self) -> None:
        source, target = element_of(self.operand), element_of(self.result)
        if SAME_BITS.get(source) != target:
            raise fail(self, f"reads {source} as {target}, expected f32 and i32, or f64 and i64")
        expect_sizes(self, "result shape", sizes_of(self.result), sizes_of(self.operand))


BITS_OPS = (BitcastOp,)
