"""Slices that are assigned one after the other, as they would be in Python."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tk_harness import parse

from tilewright.dialects.interpreter import interpret
from tilewright.dialects.registry import new_context
from tilewright.dialects.tw.aten import WriteOp
from tilewright.passes.manager import parse_pipeline, run_pipeline

ROWS, COLUMNS = 5, 7


def type_of(rows: int, columns: int) -> str:
    return f"tensor<{rows}x{columns}xf32>"


class Program:
    """Assignments to slices of `%x`, as functionalization writes them: joined with what stands around."""

    def __init__(self, drawn: random.Random) -> None:
        self.drawn = drawn
        self.lines: list[str] = []
        self.given: list[tuple[int, int]] = []
        self.current = "x"

    def value(self, text: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"%{name} = {text}")
        return name

    def slice(self, start: int, size: int, dim: int) -> str:
        starts = ", ".join(str(start if d == dim else 0) for d in range(2))
        whole, part = type_of(ROWS, COLUMNS), type_of(*self.sizes(dim, size))
        return self.value(f'tw.slice %{self.current} starts "{starts}" steps "1, 1" : {whole} -> {part}')

    def sizes(self, dim: int, size: int) -> tuple[int, int]:
        return (size, COLUMNS) if dim == 0 else (ROWS, size)

    def assign(self) -> None:
        dim = self.drawn.randrange(2)
        length = (ROWS, COLUMNS)[dim]
        size = self.drawn.randint(1, length - 1)
        start = self.drawn.randint(0, length - size)
        self.given.append(self.sizes(dim, size))
        pieces = [(f"y{len(self.given)}", size)]
        if start:
            pieces.insert(0, (self.slice(0, start, dim), start))
        if rest := length - start - size:
            pieces.append((self.slice(start + size, rest, dim), rest))
        types = ", ".join(type_of(*self.sizes(dim, n)) for _, n in pieces)
        names = ", ".join(f"%{name}" for name, _ in pieces)
        self.current = self.value(f"tw.concat {names} dim {dim} : ({types}) -> {type_of(ROWS, COLUMNS)}")

    def text(self) -> str:
        given = "".join(f", %y{i + 1}: {type_of(*sizes)}" for i, sizes in enumerate(self.given))
        whole, body = type_of(ROWS, COLUMNS), "\n".join(self.lines)
        return f"""func.func @main(%x: {whole}{given}) {{
          {body}
          tw.write %{self.current} into %x : {whole}
          func.return
        }}"""


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_what_is_written_is_the_same(count: int) -> None:
    parts = 0
    for seed in range(25):
        program = Program(random.Random(100 * count + seed))
        for _ in range(count):
            program.assign()
        module, numbers = parse(program.text()), np.random.default_rng(seed)
        given = [numbers.random(sizes, np.float32) for sizes in ((ROWS, COLUMNS), *program.given)]
        before, after = ([array.copy() for array in given] for _ in range(2))
        interpret(module, before, np)
        run_pipeline(new_context(), module, parse_pipeline("simplify-views,write-slices,dce"))
        interpret(module, after, np)
        np.testing.assert_array_equal(after[0], before[0])
        parts += any(isinstance(op, WriteOp) and op.views for op in module.walk())
    assert parts > 5
