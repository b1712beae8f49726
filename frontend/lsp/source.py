"""A `.mlir` document: the parsed modules, and where in the text each op, value and symbol stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.utils.exceptions import DiagnosticException, ParseError
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRToken, MLIRTokenKind

from tilewright.dialects.diagnostics import TilewrightError
from tilewright.dialects.dominance import verify_dominance

_SEPARATOR = re.compile(r"^// -----[ \t]*$\n?", re.MULTILINE)
_OP_NAME = re.compile(r'(?:%[^=]*=\s*)?"?([A-Za-z_][\w.$-]*)')
_SYMBOL = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|@([A-Za-z_][\w.$-]*)')


@dataclass(frozen=True)
class Range:
    """Characters `start` to `end` (exclusive) of the document."""

    start: int
    end: int

    def holds(self, offset: int) -> bool:
        return self.start <= offset <= self.end


@dataclass
class Definition:
    """`%name` where it is defined, with its values (several for `%r:2`) and uses."""

    name: str
    at: Range
    values: tuple[SSAValue, ...]
    uses: list[Use] = field(default_factory=list["Use"])


@dataclass
class Use:
    """`%name` or `%name#1` where it is an operand."""

    at: Range
    index: int
    definition: Definition | None = None


@dataclass(frozen=True)
class OpText:
    """An op, the text from its results to its end, and that of its name."""

    op: Operation
    at: Range
    name: Range


@dataclass(frozen=True)
class Problem:
    """Something wrong, and where."""

    at: Range
    message: str
    code: str | None = None


@dataclass
class Chunk:
    """One module of a document: the whole of it, or a part between `// -----` lines."""

    start: int
    text: str
    module: ModuleOp | None = None
    """None where the text does not parse; what was read until then is known all the same."""
    ops: list[OpText] = field(default_factory=list[OpText])
    definitions: list[Definition] = field(default_factory=list[Definition])
    uses: list[Use] = field(default_factory=list[Use])
    problems: list[Problem] = field(default_factory=list[Problem])

    def symbol_definitions(self) -> Iterator[tuple[str, OpText]]:
        """Every op that defines a symbol, `@main`."""
        for text in self.ops:
            name = text.op.properties.get("sym_name") or text.op.attributes.get("sym_name")
            if isinstance(name, StringAttr):
                yield name.data, text

    def symbols(self) -> Iterator[tuple[str, Range]]:
        """Every `@name` in the text, comments and strings left out."""
        for match in _SYMBOL.finditer(self.text):
            if match[1] is not None:
                yield match[1], Range(self.start + match.start(), self.start + match.end())


def read(text: str, ctx: Context) -> list[Chunk]:
    """The chunks of a document, each parsed and verified as far as it goes."""
    found: list[Chunk] = []
    start = 0
    for match in [*_SEPARATOR.finditer(text), None]:
        end = len(text) if match is None else match.start()
        chunk = Chunk(start, text[start:end])
        if chunk.text.strip() or match is None:
            _read(chunk, ctx.clone())
            found.append(chunk)
        start = end if match is None else match.end()
    return found


def _read(chunk: Chunk, ctx: Context) -> None:
    if not re.sub(r"//[^\n]*", "", chunk.text).strip():
        return
    try:
        parser = _Recorder(ctx, chunk)  # reads the first token
    except ParseError as error:
        chunk.problems.append(_unreadable(chunk, error))
        return
    try:
        chunk.module = parser.parse_module()
    except ParseError as error:
        chunk.problems.append(_unreadable(chunk, error))
    except Exception as error:  # a malformed attribute surfaces as anything, from anywhere in the parser
        at = Range(chunk.start + parser.pos, chunk.start + parser.pos + 1)
        chunk.problems.append(_problem(at, error))
    chunk.ops.sort(key=lambda op: (op.at.start, -op.at.end))
    if chunk.module is not None:
        chunk.problems += _broken_rules(chunk, chunk.module)


def _unreadable(chunk: Chunk, error: ParseError) -> Problem:
    return Problem(Range(chunk.start + error.span.start, chunk.start + error.span.end), error.msg)


class _Recorder(Parser):
    """A parser that notes where things stand."""

    def __init__(self, ctx: Context, chunk: Chunk) -> None:
        self.chunk = chunk
        self.last_end = 0
        self.waiting: dict[str, list[Use]] = {}
        self.owners: dict[SSAValue, Definition] = {}
        super().__init__(ctx, chunk.text, "document")

    def _consume_token(self, expected_kind: MLIRTokenKind | None = None) -> MLIRToken:
        token = super()._consume_token(expected_kind)
        self.last_end = token.span.end
        return token

    def _at(self, start: int, end: int) -> Range:
        return Range(self.chunk.start + start, self.chunk.start + end)

    def parse_operation(self) -> Operation:
        start = self._current_token.span.start
        op = super().parse_operation()
        name = _OP_NAME.match(self.chunk.text, start)
        span = name.span(1) if name is not None else (start, start)
        self.chunk.ops.append(OpText(op, self._at(start, self.last_end), self._at(*span)))
        return op

    def _get_op_by_name(self, name: str) -> type[Operation]:
        try:
            return super()._get_op_by_name(name)
        except ParseError as error:  # it points behind the name
            end = self.last_end
            start = self.chunk.text.rfind(name, 0, end)
            raise ParseError(Span(start, start + len(name), self.lexer.input), error.msg) from error

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        super()._register_ssa_definition(name, values, span)
        definition = Definition(name, self._at(span.start, span.end), tuple(values))
        self.chunk.definitions.append(definition)
        self.owners.update(dict.fromkeys(values, definition))
        for use in self.waiting.pop(name, ()):
            use.definition = definition
            definition.uses.append(use)

    def resolve_operand(self, operand: UnresolvedOperand, type: Attribute) -> SSAValue:
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
        use = Use(self._at(operand.span.start, operand.span.end), operand.index, self.owners.get(value))
        self.chunk.uses.append(use)
        if use.definition is not None:
            use.definition.uses.append(use)
        else:
            self.waiting.setdefault(operand.operand_name, []).append(use)


def _broken_rules(chunk: Chunk, module: ModuleOp) -> Iterator[Problem]:
    """What verification says about each op, then dominance."""
    places = {text.op: text.name for text in chunk.ops}
    whole = Range(chunk.start, chunk.start + len(chunk.text))
    clean = True
    for op in module.walk():
        try:
            op.verify(verify_nested_ops=False)
        except Exception as error:
            clean = False
            yield _problem(places.get(op, whole), error)
    if clean:
        try:
            verify_dominance(module)
        except TilewrightError as error:
            yield _problem(whole if error.op is None else places.get(error.op, whole), error)


def _problem(at: Range, error: Exception) -> Problem:
    """An error as a diagnostic; what stands in the `ir:` line is in front of the reader already."""
    if isinstance(error, TilewrightError):
        lines = str(error).partition("\n  ir:")[0]
        return Problem(at, lines.partition(": ")[2], error.code)
    message = str(error) if isinstance(error, DiagnosticException) else f"{type(error).__name__}: {error}"
    return Problem(at, message.partition("\n\n")[0].strip())
