"""Which parts of a module's text can be parsed one by one: its functions."""

from __future__ import annotations

import re
from typing import NamedTuple

from .source import Range

_HEAD = re.compile(r"(?:\s|//[^\n]*\n)*((?:builtin\.)?module)\s*(\{)")
_MARKS = re.compile(
    r'"(?:\\.|[^"\\\n])*"|//[^\n]*|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<outside>^[ \t]*[%#!])', re.MULTILINE
)
"""The last one is a value, or an alias, if it stands in no function."""
_REST = re.compile(r"(?:\s|//[^\n]*(?:\n|$))*")
_BETWEEN = re.compile(
    r'[ \t]*(?:loc\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\))?[ \t]*(?://[^\n]*)?\n\s*(?=//|"?[a-z]\w*\.\w)'
)
"""What follows the last brace of a function, up to the next one."""


class Parts(NamedTuple):
    """The functions of a module, with the text that is written around them."""

    functions: list[Range]
    name: Range | None
    """Of the module, where it is written."""
    end: int
    """Of the module."""


def parts_of(text: str) -> Parts:
    """The whole text is one part where what stands outside may be used inside, or braces do not match."""
    found = None if "{-#" in text else _found(text)
    return Parts([Range(0, len(text))], None, len(text)) if found is None else found


def _found(text: str) -> Parts | None:
    head = _HEAD.match(text)
    start = 0 if head is None else head.end()
    functions, begin, depth = list[Range](), start, 0
    for mark in _MARKS.finditer(text, start):
        kind = mark.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
            if depth < 0:
                return _with_head(text, head, mark, [*functions, Range(begin, mark.start())])
            if depth == 0 and (between := _BETWEEN.match(text, mark.end())) is not None and mark[0] == "}":
                functions.append(Range(begin, between.end()))
                begin = between.end()
        elif kind == "outside" and depth == 0:
            return None
    whole = head is None and depth == 0
    return Parts([*functions, Range(begin, len(text))], None, len(text)) if whole else None


def _with_head(
    text: str, head: re.Match[str] | None, last: re.Match[str], functions: list[Range]
) -> Parts | None:
    """`last` is the brace that closes the module."""
    if head is None or last[0] != "}" or _REST.fullmatch(text, last.end()) is None:
        return None
    return Parts(functions, Range(*head.span(1)), last.end())
