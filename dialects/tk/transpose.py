"""The op `tk.transpose`: a tile with its rows and columns exchanged."""

from __future__ import annotations

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..op_definition import op_definition
from ..types import element_type
from .arith import vector_of
from .scope import shape_of_lanes


def _exchanged(type_: Attribute) -> Attribute:
    rows, columns = shape_of_lanes(type_)
    return vector_of(element_type(type_), columns, rows)


@op_definition
class TransposeOp(IRDLOperation):
    """A tile with its rows and columns exchanged.

    %1 = tk.transpose %0 : vector<64x128xbf16> -> vector<128x64xbf16>
    """

    name = "tk.transpose"

    value = operand_def(VectorType)
    result = result_def(VectorType)

    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    @classmethod
    def make(cls, value: SSAValue) -> TransposeOp:
        return cls.create(operands=[value], result_types=[_exchanged(value.type)])

    def verify_(self) -> None:
        type_: Attribute = self.value.type
        if len(shape_of_lanes(type_)) != 2:
            raise VerifyException(f"tk.transpose: a tile of rows and columns, got {type_}")
        if self.result.type != (expected := _exchanged(type_)):
            raise VerifyException(f"tk.transpose: result has type {self.result.type}, expected {expected}")
