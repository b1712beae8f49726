"""Scalar functions that upstream's `math` lacks, and run-time checks."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, i1
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from ..op_definition import op_definition
from ..types import element_type, is_float

FUNCTIONS: dict[str, int] = {"fmod": 2, "erfc": 1, "lgamma": 1, "nextafter": 2, "hypot": 2}
"""C's functions of these names, and how many arguments they take."""


@op_definition
class CallOp(IRDLOperation):
    """A C library function of floats, element by element.

    %r = tk.call "fmod"(%x, %y) : f32
    """

    name = "tk.call"

    callee = prop_def(StringAttr)
    arguments = var_operand_def(AnyAttr())
    result = result_def(AnyAttr())

    traits = traits_def(Pure())
    assembly_format = "$callee `(` $arguments `)` attr-dict `:` type($arguments) `->` type($result)"

    @classmethod
    def make(cls, callee: str, arguments: Sequence[SSAValue]) -> CallOp:
        return cls.create(
            operands=arguments,
            result_types=[arguments[0].type],
            properties={"callee": StringAttr(callee)},
        )

    def verify_(self) -> None:
        arity = FUNCTIONS.get(self.callee.data)
        if arity is None:
            raise VerifyException(f"tk.call: knows {', '.join(FUNCTIONS)}, got {self.callee.data}")
        if len(self.arguments) != arity:
            raise VerifyException(
                f"tk.call: {self.callee.data} takes {arity} arguments, got {len(self.arguments)}"
            )
        for argument in self.arguments:
            if argument.type != self.result.type or not is_float(element_type(argument.type)):
                raise VerifyException(
                    "tk.call: arguments and result are of one float type, "
                    f"got {argument.type} and {self.result.type}"
                )


@op_definition
class AssertOp(IRDLOperation):
    """Report `message` after the kernel if `condition` is false for any element.

    tk.assert %ok "index out of range" : i1

    The kernel runs on, so values that depend on a failed check must be harmless (an index
    replaced by 0, say). Inactive lanes of a `tk.tail` are not checked. Messages: "index out
    of range" raises IndexError, "division by zero" ZeroDivisionError.
    """

    name = "tk.assert"

    condition = operand_def(AnyAttr())
    message = prop_def(StringAttr)

    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$condition $message attr-dict `:` type($condition)"

    @classmethod
    def make(cls, condition: SSAValue, message: str) -> AssertOp:
        return cls.create(operands=[condition], properties={"message": StringAttr(message)})

    def verify_(self) -> None:
        if element_type(self.condition.type) != i1:
            raise VerifyException(f"tk.assert: condition is i1 (per lane), got {self.condition.type}")
