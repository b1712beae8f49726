"""The largest number and the sum of exponentials below it: what a softmax is made of."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, f32, f64, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .attributes import axes_attr, parse_axes, parse_value, print_axes, print_tail, with_tail
from .scope import verify_axes


@irdl_op_definition
class SumExpOp(IRDLOperation):
    """Combine sums of exponentials over `axes`, each given by the largest exponent and a sum relative to it.

    %m, %s = tk.sumexp %x, %one over [1] : f32

    A number `x` by itself is the group (x, 1); a group of none is (-inf, 0). `%m` is the largest exponent,
    NaN if any is; `%s` adds up `sum * exp(largest - %m)` of the groups, where one whose largest exponent
    is `%m` counts whole, infinite or not. One pass over the data is enough, in any order (Milakov and
    Gimelshein's online softmax).
    """

    name = "tk.sumexp"

    largest = operand_def(AnyAttr())
    sum = operand_def(AnyAttr())
    axes = prop_def(DenseArrayBase.constr(i64))
    maximum = result_def(AnyAttr())
    total = result_def(AnyAttr())

    traits = traits_def(Pure())

    @classmethod
    def make(cls, group: Sequence[SSAValue], axes: Sequence[int]) -> SumExpOp:
        return cls.create(
            operands=group,
            result_types=[value.type for value in group],
            properties={"axes": axes_attr(*axes)},
        )

    @property
    def over(self) -> tuple[int, ...]:
        """The reduced axes."""
        return tuple(self.axes.get_values())

    def verify_(self) -> None:
        verify_axes(self, self.over)
        if not self.over:
            raise VerifyException("tk.sumexp: combines over one axis at least")
        types: list[Attribute] = [*self.operand_types, *self.result_types]
        if any(type_ not in (f32, f64) or type_ != types[0] for type_ in types):
            shown = ", ".join(map(str, types))
            raise VerifyException(f"tk.sumexp: operands and results are all f32 or all f64, got {shown}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        printer.print_string(" over ")
        print_axes(printer, self.axes)
        print_tail(printer, self, self.largest)

    @classmethod
    def parse(cls, parser: Parser) -> SumExpOp:
        largest = parse_value(parser)
        parser.parse_punctuation(",")
        group = (largest, parse_value(parser))
        parser.parse_keyword("over")
        axes = parse_axes(parser)
        return with_tail(parser, cls.make(group, axes.get_values()), largest)
