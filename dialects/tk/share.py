"""The op `tk.share`: what a program computes once, for all of its warps."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..op_definition import op_definition
from .scope import shape_of_lanes

SHARED = "tk.shared"
"""Attribute of the `tk.reduce` of a product: factors that cost much are computed once per program."""


@op_definition
class ShareOp(IRDLOperation):
    """The same tile: the threads of a program make it together, and each warp takes what it multiplies.

    %1 = tk.share %0 : vector<64x32xbf16>

    Without it a warp may make all that it takes by itself, from the loads on, and others the same again.
    """

    name = "tk.share"

    _TILE: ClassVar = VarConstraint("TILE", base(VectorType))

    value = operand_def(_TILE)
    result = result_def(_TILE)

    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value)"

    @classmethod
    def make(cls, value: SSAValue) -> ShareOp:
        return cls.create(operands=[value], result_types=[value.type])

    def verify_(self) -> None:
        if len(shape_of_lanes(self.value.type)) != 2:
            raise VerifyException(f"tk.share: takes a tile of two dimensions, got {self.value.type}")
