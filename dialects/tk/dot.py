"""Dot products of neighbouring 16-bit floats, as matrix units of CPUs compute them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import VectorType, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyAttr, IRDLOperation, operand_def, result_def, traits_def
from xdsl.irdl import var_operand_def as var_operands
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..arrays import Array
from ..op_definition import op_definition
from ..semantics import Machine
from ..types import element_type, is_half
from .attributes import parse_optional_values, parse_type_of, parse_value, print_values
from .scope import lanes_of


@op_definition
class DotOp(IRDLOperation):
    """Add to each lane the dot product of its group of a vector with one group for all lanes.

    %1 = tk.dot %acc, %b by (%a) : vector<16xf32>, vector<32xbf16>, vector<2xbf16>
    %2 = tk.dot %acc, %b by (%a0, %a1) : vector<16xf32>, vector<32xbf16>, bf16, bf16

    `r[l] = acc[l] + sum over g of b[l*G + g] * a[g]`, products and sums in f32, each in any
    order and rounded or not. A CPU may take subnormal numbers for zero (`vdpbf16ps` does,
    in `acc` and results too), as ATen's products of such matrices do on the same CPU.
    """

    name = "tk.dot"

    acc = operand_def(VectorType.constr(f32))
    groups = operand_def(AnyAttr())
    common = var_operands(AnyAttr())
    result = result_def(VectorType.constr(f32))

    traits = traits_def(Pure())

    @classmethod
    def make(cls, acc: SSAValue, groups: SSAValue, common: Sequence[SSAValue]) -> DotOp:
        return cls.create(operands=[acc, groups, *common], result_types=[acc.type])

    @property
    def size(self) -> int:
        """How many products go to a lane."""
        return (lanes_of(self.groups.type) or 1) // (lanes_of(self.acc.type) or 1)

    def verify_(self) -> None:
        if self.result.type != self.acc.type:
            raise VerifyException(f"tk.dot: result has type {self.result.type}, expected {self.acc.type}")
        element = element_type(self.groups.type)
        lanes, wide = lanes_of(self.acc.type) or 1, lanes_of(self.groups.type) or 0
        if not is_half(element) or wide % lanes or wide <= lanes:
            raise VerifyException(
                f"tk.dot: groups for {lanes} lanes are a vector of bf16 or f16 with a multiple of"
                f" {lanes} elements, got {self.groups.type}"
            )
        one: tuple[Attribute, ...] = (VectorType(element, [self.size]),)
        types = tuple(value.type for value in self.common)
        if types not in (one, (element,) * self.size):
            found = ", ".join(map(str, types))
            raise VerifyException(f"tk.dot: expected {one[0]}, or {self.size} of {element}, got {found}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list((self.acc, self.groups), printer.print_operand)
        printer.print_string(" by ")
        print_values(printer, self.common)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list([value.type for value in self.operands], printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> DotOp:
        acc = parse_value(parser)
        parser.parse_punctuation(",")
        groups = parse_value(parser)
        parser.parse_keyword("by")
        common = parse_optional_values(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        for number, value in enumerate((acc, groups, *common)):
            if number:
                parser.parse_punctuation(",")
            parse_type_of(parser, value)
        op = cls.make(acc, groups, common)
        op.attributes.update(attributes)
        return op


def run_dot(op: DotOp, args: Sequence[Array], machine: Machine) -> Any:
    """In the dtype of the accumulator."""
    acc, groups, *common = args
    wide = machine.arrays.cast(groups, acc.dtype).reshape([-1, op.size])
    parts = list(common[0]) if len(common) == 1 else common
    for g, part in enumerate(parts):
        acc = acc + wide[:, g] * machine.arrays.cast(part, acc.dtype)
    return acc
