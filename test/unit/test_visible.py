"""What a condition on positions lets through lies in the span that is said, which is no wider than known."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest
from tk_harness import parse, run

from tilewright.dialects.index_expr import Var, parse_expr
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.passes.kernels.positions import Positions
from tilewright.passes.schedule.visible import Span, View

ROWS = 8

SPANS: dict[str, tuple[str, bool, str | None, str | None]] = {
    # condition of row d0, column d1, head d2; what is wanted; the first column, the end
    "causal": ("%r = arith.cmpi sge, %row, %column : i64", True, None, "d0 + 8"),
    "behind": ("%r = arith.cmpi sge, %row, %column : i64", False, "d0 + 1", None),
    "the same": ("%r = arith.cmpi eq, %row, %column : i64", True, "d0", "d0 + 8"),
    "not the same": ("%r = arith.cmpi eq, %row, %column : i64", False, None, None),
    "not different": ("%r = arith.cmpi ne, %row, %column : i64", False, "d0", "d0 + 8"),
    "window": (
        "%0 = arith.cmpi sge, %row, %column : i64  %1 = arith.subi %row, %column : i64 "
        "%2 = arith.cmpi sle, %1, %forty : i64  %r = arith.andi %0, %2 : i1",
        True,
        "d0 - 40",
        "d0 + 8",
    ),
    "outside of a window": (
        "%0 = arith.cmpi sge, %row, %column : i64  %1 = arith.subi %row, %column : i64 "
        "%2 = arith.cmpi sle, %1, %forty : i64  %r = arith.andi %0, %2 : i1",
        False,
        None,
        None,
    ),
    "neither of two": (
        "%0 = arith.cmpi slt, %row, %column : i64  %1 = arith.cmpi slt, %column, %forty : i64 "
        "%2 = arith.ori %0, %1 : i1  %r = arith.xori %2, %true : i1",
        True,
        "40",
        "d0 + 8",
    ),
    "band": (
        "%0 = arith.subi %row, %column : i64  %1 = math.absi %0 : i64  %r = arith.cmpi slt, %1, %forty : i64",
        True,
        "d0 - 39",
        "d0 + 47",
    ),
    "outside of a band": (
        "%0 = arith.subi %row, %column : i64  %1 = math.absi %0 : i64  %r = arith.cmpi slt, %1, %forty : i64",
        False,
        None,
        None,
    ),
    "prefix": (
        "%0 = arith.cmpi sge, %row, %column : i64  %1 = arith.cmpi slt, %column, %forty : i64 "
        "%r = arith.ori %0, %1 : i1",
        True,
        None,
        "max(d0 + 8, 40)",
    ),
    "twice as far": (
        "%0 = arith.addi %row, %row : i64  %r = arith.cmpi slt, %column, %0 : i64",
        True,
        None,
        "d0*2 + 14",
    ),
    "every second column": (
        "%0 = arith.addi %column, %column : i64  %r = arith.cmpi sle, %0, %row : i64",
        True,
        None,
        "(d0 + 7) floordiv 2 + 1",
    ),
    "from blocks of rows on": (
        '%0 = tk.index "(d0 floordiv 16)*16" : i64  %r = arith.cmpi sge, %column, %0 : i64',
        True,
        "(d0 floordiv 16)*16",
        None,
    ),
    "what rows change to and fro": (
        '%0 = tk.index "d0 mod 3" : i64  %r = arith.cmpi sle, %column, %0 : i64',
        True,
        None,
        None,
    ),
    "by the head": ("%r = arith.cmpi sle, %column, %head : i64", True, None, "d2 + 1"),
    "by what programs do not share": ("%r = arith.cmpi sle, %column, %other : i64", True, None, None),
    "by what is loaded": (
        "%0 = tk.load %x[d0] : memref<64xi64> -> i64  %r = arith.cmpi sle, %column, %0 : i64",
        True,
        None,
        None,
    ),
}


@pytest.mark.parametrize(("body", "wanted", "first", "end"), SPANS.values(), ids=SPANS)
def test_spans(body: str, wanted: bool, first: str | None, end: str | None) -> None:
    text = f"""
    tk.func @f [64, 64, 4, 4] (%x: memref<64xi64>, %o: memref<64xi64>) {{
      %row = tk.index "d0" : i64  %column = tk.index "d1" : i64
      %head = tk.index "d2" : i64  %other = tk.index "d3" : i64
      %forty = arith.constant 40 : i64  %true = arith.constant true
      {body}
    }}"""
    module = parse(text)
    (func,) = (op for op in module.ops if isinstance(op, FuncOp))
    asked = func.body.block.last_op
    assert asked is not None
    span = View(0, ROWS, 1, frozenset({2}), Positions(func.space)).span(asked.results[0], wanted)
    assert span.first == (None if first is None else parse_expr(first))
    assert span.end == (None if end is None else parse_expr(end))


def _condition(random: Random) -> str:
    """The body of a function that stores a condition on row d0, column d1 and head d2."""
    lines: list[str] = []

    def add(text: str) -> str:
        lines.append(f"%v{len(lines)} = {text}")
        return f"%v{len(lines) - 1}"

    def place() -> str:
        axes = ("d0", "d1", "d2", "(d0 floordiv 3)*3", str(random.randrange(4, 20)))
        one, other = (
            add(f'tk.index "{parse_expr(random.choice(axes)) * random.choice((-2, -1, 1, 1, 3))}" : i64')
            for _ in range(2)
        )
        value = add(f"arith.{random.choice(('addi', 'subi'))} {one}, {other} : i64")
        return add(f"math.absi {value} : i64") if random.random() < 0.2 else value

    def test(depth: int) -> str:
        if depth == 0 or random.random() < 0.2:
            predicate = random.choice(("eq", "ne", "slt", "sle", "sgt", "sge"))
            return add(f"arith.cmpi {predicate}, {place()}, {place()} : i64")
        if random.random() < 0.2:
            return add(f"arith.xori {test(depth - 1)}, {add('arith.constant true')} : i1")
        kind = random.choice(("andi", "ori"))
        return add(f"arith.{kind} {test(depth - 1)}, {test(depth - 1)} : i1")

    condition = test(2)
    return "\n".join([*lines, f"tk.store {condition}, %o[d0*48 + d1*2 + d2] : i1, memref<960xi1>"])


def test_spans_hold_all_that_is_visible() -> None:
    """Of random conditions, evaluated everywhere."""
    random, limited = Random(0), 0
    for _ in range(80):
        module = parse(f"tk.func @f [20, 24, 2] (%o: memref<960xi1>) {{ {_condition(random)} }}")
        (found,) = run(module, [np.zeros(960, np.bool_)], {})
        (func,) = (op for op in module.ops if isinstance(op, FuncOp))
        store = func.body.block.last_op
        assert isinstance(store, StoreOp)
        view = View(0, ROWS, 1, frozenset({2}), Positions(func.space))
        for wanted in (False, True):
            span = view.span(store.value, wanted)
            limited += span != Span()
            for row, head in product((0, 5, 12), (0, 1)):
                columns = (found.reshape(20, 24, 2)[row : row + ROWS, :, head] == wanted).any(axis=0)
                seen = np.flatnonzero(columns)
                at = {Var("d", 0): row, Var("d", 2): head}
                assert span.first is None or (seen >= span.first.evaluate(at)).all(), module
                assert span.end is None or (seen < span.end.evaluate(at)).all(), module
    assert limited > 40
