"""The op `tk.halve`: the columns of a tile in two parts, of which each is finished by itself."""

from __future__ import annotations

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..arrays import Array
from ..op_definition import op_definition
from ..types import element_type
from .arith import vector_of
from .scope import shape_of_lanes


def _half(type_: Attribute) -> Attribute:
    rows, columns = shape_of_lanes(type_)
    return vector_of(element_type(type_), rows, columns // 2)


@op_definition
class HalveOp(IRDLOperation):
    """The left and the right half of the columns of a tile.

    %left, %right = tk.halve %0 : vector<128x256xf32> -> vector<128x128xf32>, vector<128x128xf32>

    What is done with a wide tile of sums then needs registers for one half at a time.
    """

    name = "tk.halve"

    value = operand_def(VectorType)
    left = result_def(VectorType)
    right = result_def(VectorType)

    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value) `->` type($left) `,` type($right)"

    @classmethod
    def make(cls, value: SSAValue) -> HalveOp:
        return cls.create(operands=[value], result_types=[_half(value.type)] * 2)

    def verify_(self) -> None:
        type_: Attribute = self.value.type
        shape = shape_of_lanes(type_)
        if len(shape) != 2 or shape[1] % 2:
            raise VerifyException(f"tk.halve: a tile of rows and an even number of columns, got {type_}")
        expected = _half(type_)
        for result in self.results:
            if result.type != expected:
                raise VerifyException(f"tk.halve: a half has type {result.type}, expected {expected}")


def run_halve(value: Array) -> tuple[Array, Array]:
    """What the op computes."""
    middle = value.shape[1] // 2
    return value[:, :middle], value[:, middle:]
