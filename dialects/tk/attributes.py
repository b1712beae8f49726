"""Index expressions as attributes, and the text form that `tk` ops share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, StringAttr, i32, i64
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..index_expr import Expr, IndexExprSyntaxError, as_expr, format_exprs, parse_exprs

OpT = TypeVar("OpT", bound=Operation)


@irdl_attr_definition
class MapAttr(ParametrizedAttribute):
    """A list of index expressions: `#tk.map<"d0, d1*64 + i0">`."""

    name = "tk.map"

    text: StringAttr = param_def()

    def verify(self) -> None:
        try:
            exprs = parse_exprs(self.text.data)
        except IndexExprSyntaxError as error:
            raise VerifyException(f"tk.map: {error}") from error
        if format_exprs(exprs) != self.text.data:
            raise VerifyException(
                f'tk.map: "{self.text.data}" is not canonical, write "{format_exprs(exprs)}"'
            )

    @property
    def exprs(self) -> tuple[Expr, ...]:
        return parse_exprs(self.text.data)


@lru_cache(maxsize=65536)
def _map_attr(exprs: tuple[Expr, ...]) -> MapAttr:
    text = format_exprs(exprs)
    parse_exprs(text)  # warms the cache that `exprs` reads
    return MapAttr(StringAttr(text))


def map_attr(exprs: Sequence[Expr | int]) -> MapAttr:
    """The (interned) attribute with these expressions."""
    return _map_attr(tuple(as_expr(e) for e in exprs))


@lru_cache(maxsize=1024)
def segments(*sizes: int) -> DenseArrayBase:
    """The (interned) `operandSegmentSizes`."""
    return DenseArrayBase.from_list(i32, sizes)


@lru_cache(maxsize=4096)
def int64(value: int) -> IntegerAttr[IntegerType]:
    """The (interned) `value : i64`."""
    return IntegerAttr(value, i64)


_UNDECIDED = {"tk.warps": 4, "tk.stages": 1, "tk.index": 64}
"""What a program is launched with where no pass decided that: its warps, stages of its loops, and the bits of
offsets into buffers."""


def launch_number(op: Operation, name: str) -> int:
    """The number `name` of a function or group that scheduling for GPUs decides, as `tk.warps`."""
    found = op.attributes.get(name)
    return found.value.data if isinstance(found, IntegerAttr) else _UNDECIDED[name]


Axes = DenseArrayBase[IntegerType]


@lru_cache(maxsize=1024)
def axes_attr(*axes: int) -> Axes:
    """The (interned) list of axes of a reduction."""
    return DenseArrayBase.from_list(i64, axes)


# Text


def print_exprs(printer: Printer, attr: MapAttr) -> None:
    printer.print_string(f"[{attr.text.data}]")


def parse_bracketed_exprs(parser: Parser) -> MapAttr:
    """`[d0, d1*64 + i0]`, without quotes."""
    parser.parse_punctuation("[")
    words: list[str] = []
    while parser.parse_optional_punctuation("]") is None:
        words.append(_expr_word(parser))
    return _checked(parser, " ".join(words))


def _expr_word(parser: Parser) -> str:
    if (name := parser.parse_optional_identifier()) is not None:
        return name
    if (value := parser.parse_optional_integer(allow_boolean=False, allow_negative=False)) is not None:
        return str(value)
    for symbol in ("+", "-", "*", "(", ")", ","):
        if parser.parse_optional_punctuation(symbol) is not None:
            return symbol
    parser.raise_error("expected an index expression, as `d0*4 + s0`")


def parse_quoted_expr(parser: Parser) -> MapAttr:
    """`"d0*4 + s0"`: one expression."""
    attr = _checked(parser, parser.parse_str_literal())
    if len(attr.exprs) != 1:
        parser.raise_error(f'expected one index expression, got "{attr.text.data}"')
    return attr


def _checked(parser: Parser, text: str) -> MapAttr:
    try:
        return map_attr(parse_exprs(text))
    except IndexExprSyntaxError as error:
        parser.raise_error(str(error))


def parse_value(parser: Parser) -> SSAValue:
    """A use of a value that is defined above; its type comes from the definition."""
    name = parser.parse_unresolved_operand()
    known = parser.ssa_values.get(name.operand_name)
    if known is None or name.index >= len(known):
        parser.raise_error(f"%{name.operand_name} is used before its definition", name.span)
    return parser.resolve_operand(name, known[name.index].type)


def parse_optional_values(parser: Parser) -> list[SSAValue]:
    """`(%a, %b)`, or nothing."""
    return (
        parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_value(parser)) or []
    )


def parse_type_of(parser: Parser, value: SSAValue) -> None:
    """The type of an operand, which must be the one its definition gave it."""
    type_: Attribute = parser.parse_type()
    if type_ != value.type:
        parser.raise_error(f"operand has type {value.type}, but {type_} is written")


def parse_axes(parser: Parser) -> Axes:
    return axes_attr(
        *parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parser.parse_integer())
    )


def print_axes(printer: Printer, axes: Axes) -> None:
    printer.print_string(str([a for a in axes.get_values()]))


def print_values(printer: Printer, values: Sequence[SSAValue]) -> None:
    printer.print_string("(")
    printer.print_list(values, printer.print_operand)
    printer.print_string(")")


def print_tail(printer: Printer, op: Operation, value: SSAValue) -> None:
    """How ops of one type end: ` {attributes} : type`, the type of `value`."""
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_attribute(value.type)


def with_tail(parser: Parser, op: OpT, value: SSAValue) -> OpT:
    """Parse what `print_tail` prints; `op` gets the attributes."""
    op.attributes.update(parser.parse_optional_attr_dict())
    parser.parse_punctuation(":")
    parse_type_of(parser, value)
    return op
