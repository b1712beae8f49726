"""A parser that notes where in the text things stand."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.context import Context
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import UnresolvedOperand
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.lexer import Position, Span
from xdsl.utils.mlir_lexer import MLIRToken, MLIRTokenKind

from tilewright.dialects.parser import ModuleParser

from .source import Definition, OpText, Piece, Range, Use

_OP_NAME = re.compile(r'(?:%[^=]*=\s*)?"?([A-Za-z_][\w.$-]*)')


class Recorder(ModuleParser):
    """Parses a piece, and writes into it what stands where."""

    def __init__(self, ctx: Context, piece: Piece) -> None:
        self.piece = piece
        self.last_end = 0
        self.waiting: dict[str, list[Use]] = {}
        self.owners: dict[SSAValue, Definition] = {}
        super().__init__(ctx, piece.text, "document")

    def _consume_token(self, expected_kind: MLIRTokenKind | None = None) -> MLIRToken:
        token = super()._consume_token(expected_kind)
        self.last_end = token.span.end
        return token

    def _resume_from(self, pos: Position | ParserState[MLIRTokenKind]) -> None:
        super()._resume_from(pos)
        if isinstance(pos, int):  # what stands before was read without tokens
            self.last_end = pos

    def parse_operation(self) -> Operation:
        """The op, and where it stands."""
        start = self._current_token.span.start
        op = super().parse_operation()
        name = _OP_NAME.match(self.piece.text, start)
        span = name.span(1) if name is not None else (start, start)
        self.piece.ops.append(OpText(op, Range(start, self.last_end), Range(*span)))
        return op

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        super()._register_ssa_definition(name, values, span)
        definition = Definition(name, Range(span.start, span.end), tuple(values))
        self.piece.definitions.append(definition)
        self.owners.update(dict.fromkeys(values, definition))
        for use in self.waiting.pop(name, ()):
            use.definition = definition
            definition.uses.append(use)

    def resolve_operand(self, operand: UnresolvedOperand, type: Attribute) -> SSAValue:
        """The value, and where it is used."""
        value = super().resolve_operand(operand, type)
        self._note_use(operand, value)
        return value

    def _parse_optional_operand_without_type(self) -> SSAValue | None:
        at = self._current_token.span
        value = super()._parse_optional_operand_without_type()
        if value is not None:
            self._note_use(UnresolvedOperand(at, 0), value)
        return value

    def _note_use(self, operand: UnresolvedOperand, value: SSAValue) -> None:
        use = Use(Range(operand.span.start, operand.span.end), operand.index, self.owners.get(value))
        self.piece.uses.append(use)
        if use.definition is not None:
            use.definition.uses.append(use)
        else:
            self.waiting.setdefault(operand.operand_name, []).append(use)
