"""The floats of 8 bits: tensors hold their bits as i8."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr, f32, i8
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..types import FLOAT8, sizes_of, tensor_type
from .base import PURE, TENSOR, Elementwise, TwOp, expect_element, expect_sizes, fail, text


@irdl_op_definition
class DecodeFloat8Op(TwOp):
    """The numbers that bits of i8 stand for, exact in f32: e4m3fn, e4m3fnuz, e5m2 or e5m2fnuz.

    The first and third are OFP8's (OCP, 2023), the others those of Noune et al., 2022.

    ```mlir
    %r = tw.decode_float8 %x from "e4m3fn" : tensor<4xi8> -> tensor<4xf32>
    ```
    """

    name = "tw.decode_float8"

    operand = operand_def(TENSOR)
    kind = prop_def(StringAttr)
    result = result_def(TENSOR)

    traits = traits_def(PURE, Elementwise())
    assembly_format = "$operand `from` $kind attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue, kind: str) -> None:
        self._build((operand,), (tensor_type(f32, sizes_of(operand)),), {"kind": text(kind)})

    @property
    def type_(self) -> Attribute:
        """The element type that the bits are of."""
        return FLOAT8[self.kind.data]

    def check(self) -> None:
        if self.kind.data not in FLOAT8:
            raise fail(self, f"kind is one of {', '.join(FLOAT8)}, got {self.kind.data}")
        expect_element(self, "operand", self.operand, i8)
        expect_element(self, "result", self.result, f32)
        expect_sizes(self, "result shape", sizes_of(self.result), sizes_of(self.operand))


FLOAT8_OPS = (DecodeFloat8Op,)
