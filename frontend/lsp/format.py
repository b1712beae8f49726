"""Formatting: every op as the printer writes it, with the comments where they were."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Block, Operation
from xdsl.printer import Printer

from tilewright.passes.manager import module_text

from .reading import read
from .source import Chunk, Range

_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|(//[^\n]*)')
_ALIASES = re.compile(r"^\s*(?:[#!][\w.$-]+\s*=|\{-#)", re.MULTILINE)


@dataclass(frozen=True)
class _Comment:
    at: Range
    text: str
    trailing: bool
    """It stands behind an op on the op's line."""


def formatted(text: str, ctx: Context) -> str | None:
    """The document in canonical form; None where that is not possible without losing something.

    A document that does not parse, or uses attribute aliases, stays as it is.
    """
    chunks = read(text, ctx)
    if _ALIASES.search(text) or any(chunk.module is None and chunk.problems for chunk in chunks):
        return None
    result, end = "", 0
    for chunk in chunks:
        result += text[end : chunk.start] + _chunk(chunk)
        end = chunk.start + len(chunk.text)
    result += text[end:]
    means = _meaning(chunks)
    return result if _meaning(read(result, ctx, chunks)) == means else None


def _meaning(chunks: Sequence[Chunk]) -> list[str]:
    """What formatting must not change, which is checked each time."""
    return [module_text(chunk.module, generic=True) for chunk in chunks if chunk.module is not None]


def _chunk(chunk: Chunk) -> str:
    if chunk.module is None:
        return chunk.text
    stream = StringIO()
    printer = _Commenting(stream, chunk)
    tops = [chunk.module] if chunk.module in printer.places else list(chunk.module.body.block.ops)
    for op in tops:
        if op is not tops[0] and printer.stood_apart(op):
            printer.print_string("\n")
        printer.print_op(op)
        printer.print_string("\n")
    printer.remaining()
    body = chunk.text.strip()
    lead, tail = chunk.text[: chunk.text.index(body)], chunk.text[chunk.text.index(body) + len(body) :]
    return lead + stream.getvalue().strip() + tail


class _Commenting(Printer):
    """A printer that puts each comment before the op, or at the end of the line, where it was."""

    def __init__(self, stream: StringIO, chunk: Chunk) -> None:
        super().__init__(stream)
        self.text = chunk.text
        self.base = chunk.start
        self.places = {text.op: text.at for text in chunk.ops()}
        self.comments = [
            self._comment(match) for match in _COMMENT.finditer(chunk.text) if match[1] is not None
        ]

    def _comment(self, match: re.Match[str]) -> _Comment:
        at = Range(self.base + match.start(1), self.base + match.end(1))
        return _Comment(at, match[1].rstrip(), self._trails(match.start(1)))

    def _trails(self, offset: int) -> bool:
        return bool(self.text[self.text.rfind("\n", 0, offset) + 1 : offset].strip())

    def stood_apart(self, op: Operation) -> bool:
        """Whether a blank line was behind the op before this one."""
        before = op.prev_op
        if before is None or before not in self.places:
            return False
        return re.match(r"[^\n]*\n[ \t]*\n", self.text[self.places[before].end - self.base :]) is not None

    def print_op(self, op: Operation) -> None:
        at = self.places.get(op)
        if at is not None:
            self._before(at.start)
        super().print_op(op)  # without `loc(unknown)` on all that has no location
        if not isinstance(op.location, UnknownLoc):
            self.print_string(" ")
            self.print_attribute(op.location)
        if at is not None and op.next_op is not None:
            self._behind(at.end)

    def print_block(
        self, block: Block, print_block_args: bool = True, print_block_terminator: bool = True
    ) -> None:
        super().print_block(block, print_block_args, print_block_terminator)
        last, parent = block.last_op, block.parent_op()
        if last is None or parent is None or block.next_block is not None:
            return
        own, outer = self.places.get(last), self.places.get(parent)
        if own is None or outer is None:
            return
        self._behind(own.end)
        with self.indented():
            while self.comments and self.comments[0].at.end < outer.end:
                self._print_new_line()
                self.print_string(self.comments.pop(0).text)

    def _before(self, start: int) -> None:
        """Comments that stand before an op, each on its line; blank lines between them stay."""
        while self.comments and self.comments[0].at.start < start:
            comment = self.comments.pop(0)
            self.print_string(comment.text)
            if self._blank_line_after(comment.at.end):
                self.print_string("\n")
            self._print_new_line()

    def _blank_line_after(self, end: int) -> bool:
        return re.match(r"\n[ \t]*\n", self.text[end - self.base :]) is not None

    def _behind(self, end: int) -> None:
        """A comment on the line where the op ended."""
        if not self.comments or not self.comments[0].trailing or self.comments[0].at.start < end:
            return
        between = self.text[end - self.base : self.comments[0].at.start - self.base]
        if not between.strip():
            self.print_string("  " + self.comments.pop(0).text)

    def remaining(self) -> None:
        """Comments behind the last op."""
        for comment in self.comments:
            self.print_string(comment.text + "\n")
        self.comments = []
