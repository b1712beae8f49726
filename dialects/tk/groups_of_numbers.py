"""Reductions that join groups of numbers, each given by several parts: what they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import DenseArrayBase, f32, f64, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, prop_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..attribute_facts import ints
from .attributes import axes_attr, parse_axes, parse_value, print_axes, print_tail, with_tail
from .scope import verify_axes


class JoinsGroups(IRDLOperation):
    """A reduction whose operands are the parts of a group and whose results are those of all groups."""

    axes = prop_def(DenseArrayBase.constr(i64))

    traits = traits_def(Pure())

    @classmethod
    def make(cls, group: Sequence[SSAValue], axes: Sequence[int]) -> Self:
        """Join the groups along `axes`; `group` is one of them, f32 or f64."""
        return cls.create(
            operands=group,
            result_types=[value.type for value in group],
            properties={"axes": axes_attr(*axes)},
        )

    @property
    def over(self) -> tuple[int, ...]:
        """The reduced axes."""
        return ints(self.axes)

    def verify_(self) -> None:
        verify_axes(self, self.over)
        if not self.over:
            raise VerifyException(f"{self.name}: combines over one axis at least")
        types: list[Attribute] = [*self.operand_types, *self.result_types]
        if any(type_ not in (f32, f64) or type_ != types[0] for type_ in types):
            shown = ", ".join(map(str, types))
            raise VerifyException(f"{self.name}: operands and results are all f32 or all f64, got {shown}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        printer.print_string(" over ")
        print_axes(printer, self.axes)
        print_tail(printer, self, self.operands[0])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        group = [parse_value(parser)]
        for _ in cls.get_irdl_definition().operands[1:]:
            parser.parse_punctuation(",")
            group.append(parse_value(parser))
        parser.parse_keyword("over")
        axes = parse_axes(parser)
        return with_tail(parser, cls.make(group, axes.get_values()), group[0])
