"""What runs functions of a module under control of data: `tw.cond`, `tw.while`, `tw.scan` and `th.control`.

One truth for the interpreters and for compiled plans, which call it with functions of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

COND = "cond"
"""Operands are a condition and what both functions take: the first one runs where it holds."""
WHILE = "while"
"""While the first function says so of all operands, the second one replaces the first of them."""
SCAN = "scan"
"""The function takes state, one row of what is scanned, and the rest; it returns state and rows."""
KINDS = {COND: 2, WHILE: 2, SCAN: 1}
"""How many functions each takes."""

Function = Callable[[Sequence[Any]], Sequence[Any]]


def run_control(
    kind: str,
    functions: Sequence[Function],
    operands: Sequence[Any],
    carried: int,
    scanned: int,
    results: int,
    stack: Callable[[int, Sequence[Any]], Any],
) -> list[Any]:
    """The `results` of such an op; `stack(i, rows)` makes result `i` of its rows, which may be none."""
    if kind == COND:
        condition, *given = operands
        return list(functions[0 if bool(condition) else 1](given))
    state, rest = list(operands[:carried]), list(operands[carried:])
    if kind == WHILE:
        more, step = functions
        while bool(more([*state, *rest])[0]):
            state = list(step([*state, *rest]))
        return state
    (step,) = functions
    rows, rest = rest[:scanned], rest[scanned:]
    made: list[Sequence[Any]] = []
    for i in range(rows[0].shape[0]):
        found = step([*state, *(row[i, ...] for row in rows), *rest])
        state = list(found[:carried])
        made.append(found[carried:])
    return [*state, *(stack(i, [row[i - carried] for row in made]) for i in range(carried, results))]
