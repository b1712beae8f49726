"""What the ops of attention share: their text, their optional operands, how weights come about."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, NotRequired, Self, TypedDict

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, UnitAttr, f64, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, opt_operand_def, opt_prop_def, prop_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from .base import PURE, TENSOR, TwOp


class Weights(TypedDict):
    """How an op is to make its weights: keyword arguments of all constructors."""

    scale: float
    is_causal: NotRequired[bool]
    dropout_p: NotRequired[float]
    seed: NotRequired[SSAValue | None]


class AttentionBase(TwOp, ABC):
    """Operands of a fixed number, then `mask` and `seed`; only the order of the text is special.

    %r:2 = tw.attention %q, %k, %v mask %m causal scale 0.125 dropout 0.1 seed %s {...} : (...) -> (...)
    """

    mask = opt_operand_def(TENSOR)
    seed = opt_operand_def(TENSOR)
    is_causal = opt_prop_def(UnitAttr)
    scale = prop_def(FloatAttr.constr(type=f64))

    traits = traits_def(PURE)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def _attend(
        self, values: Sequence[SSAValue], mask: SSAValue | None, results: Sequence[Attribute], how: Weights
    ) -> None:
        """Initialise; no dropout is no property."""
        seed = how.get("seed")
        optional = [value for value in (mask, seed) if value is not None]
        counts = [*(1 for _ in values), int(mask is not None), int(seed is not None)]
        properties: dict[str, Attribute] = {
            "operandSegmentSizes": DenseArrayBase.from_list(i32, counts),
            "scale": FloatAttr(how["scale"], f64),
        }
        if how.get("is_causal"):
            properties["is_causal"] = UnitAttr()
        if dropout_p := how.get("dropout_p"):
            properties["dropout_p"] = FloatAttr(dropout_p, f64)
        self._build((*values, *optional), results, properties)

    def print(self, printer: Printer) -> None:
        dropout_p: Any = self.properties.get("dropout_p")
        optional = [value for value in (self.mask, self.seed) if value is not None]
        printer.print_string(" ")
        printer.print_list(self.operands[: len(self.operands) - len(optional)], printer.print_operand)
        if self.mask is not None:
            printer.print_string(" mask ")
            printer.print_operand(self.mask)
        if self.is_causal is not None:
            printer.print_string(" causal")
        printer.print_string(" scale ")
        self.scale.print_without_type(printer)
        if dropout_p is not None:
            printer.print_string(" dropout ")
            dropout_p.print_without_type(printer)
        if self.seed is not None:
            printer.print_string(" seed ")
            printer.print_operand(self.seed)
        if self.attributes:
            printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)

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
