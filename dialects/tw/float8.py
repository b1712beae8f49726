"""The floats of 8 bits: tensors hold their bits as i8."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import StringAttr, UnitAttr, f32, f64, i8
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def, traits_def

from ..op_definition import op_definition
from ..types import FLOAT8, is_float, sizes_of, tensor_type
from .base import PURE, TENSOR, Elementwise, TwOp, element_of, expect_element, expect_sizes, fail, text


class _Float8Op(TwOp, ABC):
    """Between numbers and the bits of `kind`."""

    operand = operand_def(TENSOR)
    kind = prop_def(StringAttr)
    result = result_def(TENSOR)

    traits = traits_def(PURE, Elementwise())

    @property
    def type_(self) -> Attribute:
        """The element type that the bits are of."""
        return FLOAT8[self.kind.data]

    def check(self) -> None:
        if self.kind.data not in FLOAT8:
            raise fail(self, f"kind is one of {', '.join(FLOAT8)}, got {self.kind.data}")
        expect_sizes(self, "result shape", sizes_of(self.result), sizes_of(self.operand))


@op_definition
class DecodeFloat8Op(_Float8Op):
    """The numbers that bits of i8 stand for, exact in f32: e4m3fn, e4m3fnuz, e5m2 or e5m2fnuz.

    The first and third are OFP8's (OCP, 2023), the others those of Noune et al., 2022.

    ```mlir
    %r = tw.decode_float8 %x from "e4m3fn" : tensor<4xi8> -> tensor<4xf32>
    ```
    """

    name = "tw.decode_float8"

    assembly_format = "$operand `from` $kind attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue, kind: str) -> None:
        self._build((operand,), (tensor_type(f32, sizes_of(operand)),), {"kind": text(kind)})

    def check(self) -> None:
        super().check()
        expect_element(self, "operand", self.operand, i8)
        expect_element(self, "result", self.result, f32)


@op_definition
class EncodeFloat8Op(_Float8Op):
    """The bits of the nearest 8-bit floats of a kind, as i8: ties to even, as torch's conversions do it.

    What would be rounded beyond the largest number, infinities too, is that number if `clamped`, as torch
    2.13 has it for e4m3fn; else it is infinite, or no number where the kind has no infinities (all but
    e5m2). Kinds are as in `tw.decode_float8`; the operand is f32 or a half.

    ```mlir
    %r = tw.encode_float8 %x to "e4m3fn" clamped : tensor<4xf32> -> tensor<4xi8>
    ```
    """

    name = "tw.encode_float8"

    clamped = opt_prop_def(UnitAttr)

    assembly_format = (
        "$operand `to` $kind (`clamped` $clamped^)? attr-dict `:` type($operand) `->` type($result)"
    )

    def __init__(self, operand: SSAValue, kind: str, *, clamped: bool = False) -> None:
        properties = {"kind": text(kind)} | ({"clamped": UnitAttr()} if clamped else {})
        self._build((operand,), (tensor_type(i8, sizes_of(operand)),), properties)

    def check(self) -> None:
        super().check()
        element = element_of(self.operand)
        if not is_float(element) or element == f64:
            raise fail(self, f"operand has element type {element}, expected f32 or a half")
        expect_element(self, "result", self.result, i8)


FLOAT8_OPS = (DecodeFloat8Op, EncodeFloat8Op)
