"""What is known of an open document, which may be older than its text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from lsprotocol import types as lsp
from pygls.workspace import PositionCodec

from .source import Chunk, Range


class Document:
    """The chunks of a text that was read, asked about places of the text as it is now.

    Both texts are alike but for one stretch: what was read of that has no place now.
    """

    def __init__(self, read: str, chunks: Sequence[Chunk], text: str, codec: PositionCodec) -> None:
        self.chunks = chunks
        self.text = text
        self._codec = codec
        self._lines = f"{text}\n".splitlines(keepends=True)  # so that there is a line behind the last break
        self._starts = [0, *accumulate(map(len, self._lines[:-1]))]
        self._alike = _alike(read, text)
        self._behind = _alike(read[::-1], text[::-1], limit=min(len(read), len(text)) - self._alike)
        self._longer = len(text) - len(read)

    def offset(self, position: lsp.Position) -> int:
        """Of a position, in the text as it is now."""
        place = self._codec.position_from_client_units(self._lines, position)
        return min(self._starts[place.line] + place.character, len(self.text))

    def range(self, at: Range) -> lsp.Range:
        """Of the text as it is now."""
        return lsp.Range(start=self._position(at.start), end=self._position(at.end))

    def was(self, offset: int) -> int | None:
        """Where that stood when the document was read; None if it is new."""
        if offset <= self._alike:
            return offset
        return offset - self._longer if offset >= len(self.text) - self._behind else None

    def now(self, at: Range) -> Range | None:
        """Where that which was read stands; None if an end of it is not there any more."""
        behind = len(self.text) - self._longer - self._behind
        if any(self._alike < end < behind for end in at):
            return None
        start = at.start + self._longer if at.start >= behind else at.start
        return Range(start, at.end if at.end <= self._alike else at.end + self._longer)

    def before(self, position: lsp.Position) -> str:
        """What stands before a position on its line."""
        offset = self.offset(position)
        return self.text[self._starts[bisect_right(self._starts, offset) - 1] : offset]

    def _position(self, offset: int) -> lsp.Position:
        line = bisect_right(self._starts, offset) - 1
        before = self._lines[line][: offset - self._starts[line]]
        return lsp.Position(line=line, character=self._codec.client_num_units(before))


def _alike(one: str, other: str, limit: int | None = None) -> int:
    """How many characters both begin with."""
    low, high = 0, min(len(one), len(other)) if limit is None else limit
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
