"""xDSL's parser, which reads what modules are full of, types and locations, by one look at the text."""

from __future__ import annotations

import re

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr
from xdsl.ir import TypeAttribute
from xdsl.parser import Parser
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.mlir_lexer import MLIRTokenKind

from .lexer import ModuleLexer

_PLAIN_TYPE = re.compile(r"(?:tensor|memref|vector)<[\w?]+>")
"""Sizes and a scalar, with no alias, encoding or layout: the same type wherever it stands."""
_PLAIN_LOCATION = re.compile(r'loc\("([^"\\\n]*)":(\d+):(\d+)\)')


class ModuleParser(Parser):
    """Accepts and makes exactly what `Parser` does: any other spelling of a type goes there."""

    def __init__(self, ctx: Context, text: str, name: str = "<unknown>") -> None:
        super().__init__(ctx, text, name)
        self._parser_state = ParserState(ModuleLexer(self.lexer.input))
        self._types: dict[str, TypeAttribute] = {}

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
            return super().parse_optional_location()
        self._resume_from(plain.end())
        return FileLineColLoc(StringAttr(plain[1]), IntAttr(int(plain[2])), IntAttr(int(plain[3])))

    def _ahead(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        token = self._current_token
        if token.kind is not MLIRTokenKind.BARE_IDENT:
            return None
        return pattern.match(token.span.input.content, token.span.start)
