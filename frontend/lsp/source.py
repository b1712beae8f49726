"""A `.mlir` document: the parsed modules, and where in the text each op, value and symbol stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.verification import Verifier

_SYMBOL = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|@([A-Za-z_][\w.$-]*)')


class Range(NamedTuple):
    """Characters `start` to `end` (exclusive), of a document or of one of its pieces."""

    start: int
    end: int

    def holds(self, offset: int) -> bool:
        return self.start <= offset <= self.end

    def shifted(self, by: int) -> Range:
        return Range(self.start + by, self.end + by)


@dataclass(eq=False)
class Definition:
    """`%name` where it is defined, with its values (several for `%r:2`) and uses."""

    name: str
    at: Range
    values: tuple[SSAValue, ...]
    uses: list[Use] = field(default_factory=list["Use"])


@dataclass(eq=False)
class Use:
    """`%name` or `%name#1` where it is an operand."""

    at: Range
    index: int
    definition: Definition | None = None


class OpText(NamedTuple):
    """An op, the text from its results to its end, and that of its name."""

    op: Operation
    at: Range
    name: Range

    def shifted(self, by: int) -> OpText:
        return OpText(self.op, self.at.shifted(by), self.name.shifted(by))


class Problem(NamedTuple):
    """Something wrong, and where."""

    at: Range
    message: str
    code: str | None = None

    def shifted(self, by: int) -> Problem:
        return self._replace(at=self.at.shifted(by))


@dataclass(eq=False)
class Piece:
    """Text that is parsed by itself: a module, or one of its functions. Ranges count from its beginning.

    What was read of it serves as long as there is this text somewhere in the document.
    """

    text: str
    tops: list[Operation] | None = None
    """None where the text does not parse; what was read until then is known all the same."""
    ops: list[OpText] = field(default_factory=list[OpText])
    definitions: list[Definition] = field(default_factory=list[Definition])
    uses: list[Use] = field(default_factory=list[Use])
    problems: list[Problem] = field(default_factory=list[Problem])
    """That it does not parse."""
    broken: list[Problem] | None = None
    """Rules that ops break, which look at nothing outside; None where that was not asked yet."""

    def definition_at(self, offset: int) -> Definition | None:
        """What defines the value whose name stands there."""
        for definition in self.definitions:
            if definition.at.holds(offset):
                return definition
        return next((use.definition for use in self.uses if use.at.holds(offset)), None)


class Placed(NamedTuple):
    """A piece, and where it begins in the document."""

    start: int
    piece: Piece


@dataclass(eq=False)
class Chunk:
    """One module of a document: the whole of it, or a part between `// -----` lines."""

    start: int
    text: str
    pieces: list[Placed] = field(default_factory=list[Placed])
    module: ModuleOp | None = None
    """None where the text does not parse."""
    around: OpText | None = None
    """The module, where it is written around the pieces."""
    problems: list[Problem] = field(default_factory=list[Problem])
    verifier: Verifier = field(default_factory=Verifier)
    """Knows the ops of the module, so that of the next one only what is new is judged."""
    judged: int = 0
    """How many ops `verifier` was given."""

    def ops(self) -> Iterator[OpText]:
        """Every op, in the order of the text, an outer one first."""
        if self.around is not None:
            yield self.around
        for start, piece in self.pieces:
            for text in piece.ops:
                yield text.shifted(start)

    def symbol_definitions(self) -> Iterator[tuple[str, OpText]]:
        """Every op that defines a symbol, `@main`."""
        for text in self.ops():
            name = text.op.properties.get("sym_name") or text.op.attributes.get("sym_name")
            if isinstance(name, StringAttr):
                yield name.data, text

    def symbols(self) -> Iterator[tuple[str, Range]]:
        """Every `@name` in the text, comments and strings left out."""
        for match in _SYMBOL.finditer(self.text):
            if match[1] is not None:
                yield match[1], Range(self.start + match.start(), self.start + match.end())


def moved(chunk: Chunk, start: int) -> Chunk:
    """The same chunk where its text begins elsewhere."""
    by = start - chunk.start
    return replace(
        chunk,
        start=start,
        pieces=[Placed(place + by, piece) for place, piece in chunk.pieces],
        around=None if chunk.around is None else chunk.around.shifted(by),
        problems=[problem.shifted(by) for problem in chunk.problems],
    )
