"""Smaller numbers: every size, offset and literal of one value is replaced at once."""

from __future__ import annotations

import re
from collections.abc import Iterator

_NUMBER = re.compile(r"(?<![\w.%@#])(\d+)(?![\d.])|(?<=[0-9?<]x)(\d+)(?![\d.])")
"""A number that is no part of a name (`%3`, `s0`, `f32`); in `8x128xf32` those between the x."""

_LOCATION = re.compile(r"(loc\((?:[^()]|\([^()]*\))*\))")


def candidates(text: str) -> Iterator[str]:
    """The text with one number smaller, largest numbers first."""
    numbers = sorted({int(m[1] or m[2]) for m in _NUMBER.finditer(text)}, reverse=True)
    for number in numbers:
        if number < 2:
            continue
        for smaller in dict.fromkeys((1, 2, number // 2, number - 1)):
            if smaller < number:
                yield replaced(text, number, smaller)


def replaced(text: str, number: int, by: int) -> str:
    """Every size `number` as `by`; locations keep their lines."""

    def change(match: re.Match[str]) -> str:
        return str(by) if int(match[1] or match[2]) == number else match[0]

    parts = _LOCATION.split(text)
    return "".join(p if i % 2 else _NUMBER.sub(change, p) for i, p in enumerate(parts))
