"""What the ops of attention share: their text, their optional operands, how weights come about."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, Self, TypedDict

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, UnitAttr, f64, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AttrSizedOperandSegments
from xdsl.parser import Parser
from xdsl.printer import Printer

from .base import TwOp


class Weights(TypedDict):
    """How an op is to make its weights: keyword arguments of all constructors."""

    scale: float
    is_causal: bool
    dropout_p: float
    seed: SSAValue | None


class AttentionBase(TwOp, ABC):
    """Operands of a fixed number, then `mask` and `seed`; only the order of the text is special.

    %r:2 = tw.attention %q, %k, %v mask %m causal scale 0.125 dropout 0.1 seed %s {...} : (...) -> (...)
    """

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def print(self, printer: Printer) -> None:
        this: Any = self
        optional = [value for value in (this.mask, this.seed) if value is not None]
        printer.print_string(" ")
        printer.print_list(self.operands[: len(self.operands) - len(optional)], printer.print_operand)
        if this.mask is not None:
            printer.print_string(" mask ")
            printer.print_operand(this.mask)
        if this.is_causal is not None:
            printer.print_string(" causal")
        printer.print_string(" scale ")
        this.scale.print_without_type(printer)
        if this.dropout_p is not None:
            printer.print_string(" dropout ")
            this.dropout_p.print_without_type(printer)
        if this.seed is not None:
            printer.print_string(" seed ")
            printer.print_operand(this.seed)
        if self.attributes:
            printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_operation_type(self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        values = [parser.parse_unresolved_operand()]
        while parser.parse_optional_punctuation(",") is not None:
            values.append(parser.parse_unresolved_operand())
        counts = [1] * len(values)
        counts.append(_optional_operand(parser, "mask", values))
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("causal") is not None:
            properties["is_causal"] = UnitAttr()
        parser.parse_keyword("scale")
        properties["scale"] = FloatAttr(parser.parse_float(), f64)
        if parser.parse_optional_keyword("dropout") is not None:
            properties["dropout_p"] = FloatAttr(parser.parse_float(), f64)
        counts.append(_optional_operand(parser, "seed", values))
        properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, counts)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        start = parser.pos
        type_ = parser.parse_function_type()
        operands = parser.resolve_operands(values, type_.inputs.data, start)
        return cls.create(
            operands=operands, result_types=type_.outputs.data, properties=properties, attributes=attributes
        )


def _optional_operand(parser: Parser, keyword: str, values: list[Any]) -> int:
    """Adds the operand that follows `keyword`, if it is there; how many that are."""
    if parser.parse_optional_keyword(keyword) is None:
        return 0
    values.append(parser.parse_unresolved_operand())
    return 1


def with_optional(
    values: Sequence[SSAValue], mask: SSAValue | None, seed: SSAValue | None
) -> tuple[Sequence[SSAValue], dict[str, Attribute]]:
    """All operands, and the property that says which of the last two are there."""
    optional = [value for value in (mask, seed) if value is not None]
    counts = [*(1 for _ in values), int(mask is not None), int(seed is not None)]
    return (*values, *optional), {"operandSegmentSizes": DenseArrayBase.from_list(i32, counts)}


def weights(scale: float, *, is_causal: bool, dropout_p: float = 0.0) -> dict[str, Attribute]:
    """The properties that say how weights come about; no dropout is no property."""
    properties: dict[str, Attribute] = {"scale": FloatAttr(scale, f64)}
    if is_causal:
        properties["is_causal"] = UnitAttr()
    if dropout_p:
        properties["dropout_p"] = FloatAttr(dropout_p, f64)
    return properties
