"""xDSL's parser, which reads what modules are full of, types and locations, by one look at the text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Literal, overload

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue, TypeAttribute
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.parser.core import ForwardDeclaredValue
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.exceptions import DiagnosticException, ParseError
from xdsl.utils.lexer import Position, Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from .diagnostics import TilewrightError
from .lexer import ModuleLexer

_PLAIN_TYPE = re.compile(r"(?:tensor|memref|vector)<[\w?]+>")
"""Sizes and a scalar, with no alias, encoding or layout: the same type wherever it stands."""
_PLAIN_LOCATION = re.compile(r'loc\("([^"\\\n]*)":(\d+):(\d+)\)')
_RESULTS = re.compile(r"%[^=\"]*=\s*")
"""What stands in front of the name of an op."""


class ModuleParser(Parser):
    """Accepts and makes what `Parser` does, which gets any other spelling of a type; errors say more.

    With `places`, an op or argument without a location gets its place in the text, as in upstream MLIR.
    """

    def __init__(self, ctx: Context, text: str, name: str = "<unknown>", *, places: bool = False) -> None:
        super().__init__(ctx, text, name)
        self._parser_state = ParserState(ModuleLexer(self.lexer.input))
        self._types: dict[str, TypeAttribute] = {}
        self._first_uses: dict[SSAValue, Span] = {}
        """Where values that are not defined yet are first used."""
        self._places = _Places(text, name) if places else None
        self._located: Position = -1
        """Where the last location that is written out ends."""
        self._in_header = False
        """Whether the arguments of a block are read."""

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """The module; a value that nothing defines is marked where it is used first."""
        try:
            return super().parse_module(allow_implicit_module)
        except ParseError as error:
            if not self.forward_ssa_references or self._current_token.kind is not MLIRTokenKind.EOF:
                raise
            waiting = [v for values in self.forward_ssa_references.values() for v in values.values()]
            spans = [self._first_uses[value] for value in waiting if value in self._first_uses]
            if not spans:
                raise
            raise ParseError(min(spans, key=lambda span: span.start), error.msg) from error

    def place(self) -> str:
        """Where the next token stands."""
        return str(self._current_token.span.get_location())

    def resolve_operand(self, operand: UnresolvedOperand, type: Attribute) -> SSAValue:
        """The value; where it is used is kept while it is not defined."""
        value = super().resolve_operand(operand, type)
        if isinstance(value, ForwardDeclaredValue):
            self._first_uses.setdefault(value, operand.span)
        return value

    def parse_operation(self) -> Operation:
        """The op, with a location."""
        if self._places is None:
            return super().parse_operation()
        start = self._current_token.span.start
        op = super().parse_operation()
        if self._located != self.pos:
            results = _RESULTS.match(self.lexer.input.content, start)
            op.location = self._places.location(start if results is None else results.end())
        return op

    def parse_optional_region(self, arguments: Iterable[Parser.Argument] | None = None) -> Region | None:
        """The region; its arguments have locations, too."""
        if self._places is not None and arguments is not None:
            arguments = list(arguments)
            for argument in arguments:
                argument.location = argument.location or self._places.location(argument.name.start)
        return super().parse_optional_region(arguments)

    def _parse_optional_block_arg_list(self, block: Block) -> Block | None:
        self._in_header = True
        found = super()._parse_optional_block_arg_list(block)
        self._in_header = False
        return found

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        super()._register_ssa_definition(name, values, span)
        if self._in_header and self._places is not None and self._located != self.pos:
            for value in values:
                if isinstance(value, BlockArgument):
                    value.location = self._places.location(span.start)

    def parse_optional_type(self) -> TypeAttribute | None:
        """A type that was spelt like this before is the same object."""
        if (plain := self._ahead(_PLAIN_TYPE)) is None:
            return super().parse_optional_type()
        if (known := self._types.get(plain[0])) is not None:
            self._resume_from(plain.end())
            return known
        if (made := super().parse_optional_type()) is not None:
            self._types[plain[0]] = made
        return made

    def parse_optional_location(self) -> LocationAttr | None:
        """`loc("file":line:column)`; whatever else is a location goes to `Parser`."""
        if (plain := self._ahead(_PLAIN_LOCATION)) is None:
            found = super().parse_optional_location()
        else:
            self._resume_from(plain.end())
            found = FileLineColLoc(StringAttr(plain[1]), IntAttr(int(plain[2])), IntAttr(int(plain[3])))
        if found is not None:
            self._located = self.pos
        return found

    def _ahead(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        token = self._current_token
        if token.kind is not MLIRTokenKind.BARE_IDENT:
            return None
        return pattern.match(token.span.input.content, token.span.start)

    def _get_op_by_name(self, name: str) -> type[Operation]:
        """The class; an error marks the name, which is read already, and proposes the nearest one."""
        try:
            return super()._get_op_by_name(name)
        except ParseError as error:
            near = get_close_matches(name, _names_of_ops(self.ctx), n=1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise ParseError(self._read_just_now(name), error.msg + hint) from error

    @overload
    def _parse_extended_type_or_attribute(
        self, attr_or_dialect_name: str, is_type: Literal[False]
    ) -> Attribute: ...

    @overload
    def _parse_extended_type_or_attribute(
        self, attr_or_dialect_name: str, is_type: Literal[True]
    ) -> TypeAttribute: ...

    def _parse_extended_type_or_attribute(self, attr_or_dialect_name: str, is_type: bool) -> Attribute:
        """A type or attribute of a dialect; where its own rules are broken, all of it is marked."""
        at = self._read_just_now(("!" if is_type else "#") + attr_or_dialect_name)
        try:
            if is_type:
                return super()._parse_extended_type_or_attribute(attr_or_dialect_name, True)
            return super()._parse_extended_type_or_attribute(attr_or_dialect_name, False)
        except TilewrightError:
            raise
        except DiagnosticException as error:
            content = self.lexer.input.content
            end = at.start + len(content[at.start : self.pos].partition("\n")[0].rstrip())
            raise ParseError(Span(at.start, end, self.lexer.input), str(error)) from error

    def _read_just_now(self, text: str) -> Span[str]:
        """The last place of `text` in front of the current token."""
        start = self.lexer.input.content.rfind(text, 0, self.pos)
        return Span(start, start + len(text), self.lexer.input)


class _Places:
    """Line and column, from 1, of what stands in a text."""

    def __init__(self, text: str, name: str) -> None:
        self._name = StringAttr(name)
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def location(self, position: Position) -> FileLineColLoc:
        line = bisect_right(self._lines, position)
        return FileLineColLoc(self._name, IntAttr(line), IntAttr(position - self._lines[line - 1] + 1))


def _names_of_ops(ctx: Context) -> list[str]:
    """Those of every dialect that `ctx` knows, also of those that are not loaded."""
    whole = ctx.clone()
    for dialect in tuple(whole.registered_dialect_names):
        whole.get_optional_dialect(dialect)
    return sorted(op.name for op in whole.loaded_ops)
