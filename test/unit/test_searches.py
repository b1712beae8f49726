"""Tables that look for a column in lists are recognised, and nothing that only resembles them is."""

from __future__ import annotations

import pytest
from tk_harness import parse

from tilewright.dialects.index_expr import parse_exprs
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.fusion.searches import Table, find_table

INPUTS = "tensor<4x8xi32>, tensor<4xi64>, tensor<4x8xi16>, tensor<8x8xi64>, tensor<4x8xi1>"
MODULE = f"""func.func @main(%x: tensor<4x8xi32>, %y: tensor<4xi64>, %s: tensor<4x8xi16>, %q: tensor<8x8xi64>,
  %b: tensor<4x8xi1>) -> MADE {{
  %r = tk.kernel [4, 8, 8] ins(%x, %y, %s, %q, %b : {INPUTS}) -> (MADE) {{
  ^bb0(%list: tensor<4x8xi32>, %number: tensor<4xi64>, %short: tensor<4x8xi16>, %wide: tensor<8x8xi64>,
       %mask: tensor<4x8xi1>, %o: MADE):
    %none = arith.constant 0 : i32 %column = tk.index "d1" : i64 %at = tk.index "d2" : i64
    %on = tk.load %mask[d0, d2] : tensor<4x8xi1> -> i1 %count = tk.load %number[d0] : tensor<4xi64> -> i64
    %narrow = tk.load %list[d0, d2] : tensor<4x8xi32> -> i32 %entry = arith.extsi %narrow : i32 to i64
    %same = arith.cmpi eq, %entry, %column : i64 %valid = arith.cmpi slt, %at, %count : i64
    %both = arith.andi %same, %valid : i1 %any = tk.reduce or %both over [2] : i1
    %other = tk.load %wide[d0 + 1, d2] : tensor<8x8xi64> -> i64
    %same2 = arith.cmpi eq, %column, %other : i64 %both2 = arith.andi %valid, %same2 : i1
    %any2 = tk.reduce or %both2 over [2] : i1 %either = arith.ori %any, %any2 : i1
    tk.store %any, %o[d0, d1] : i1, MADE
  }}
  func.return %r : MADE }}"""
STORE, GRID = "tk.store %any, %o[d0, d1]", "tensor<4x8xi1>"


def found(old: str, new: str, made: str = GRID) -> Table | None:
    """What is found of the table, with some of its text replaced."""
    assert MODULE.count(old) == 1, old
    text = MODULE.replace(old, new).replace("MADE", made)
    (kernel,) = (op for op in parse(text).walk() if isinstance(op, KernelOp))
    assert all(find_table(value) is None for value in (*kernel.operands, *kernel.body.block.args))
    return find_table(kernel.results[0])


COUNT = parse_exprs("d0")
FIRST, SECOND = ((2, parse_exprs(place), COUNT) for place in ("d0, d2", "d0 + 1, d2"))
TABLES = {
    "one list": (STORE, STORE, GRID, (0, 1), [FIRST]),
    "column in front": (STORE, "tk.store %any2, %o[d0, d1]", GRID, (0, 1), [SECOND]),
    "two lists": (STORE, "tk.store %either, %o[d0, d1]", GRID, (0, 1), [FIRST, SECOND]),
    "transposed": (STORE, "tk.store %any, %o[d1, d0]", "tensor<8x4xi1>", (1, 0), [FIRST]),
    "single dimension": (STORE, "tk.store %any, %o[d0, 0, d1]", "tensor<4x1x8xi1>", (0, None, 1), [FIRST]),
}


@pytest.mark.parametrize(("old", "new", "made", "stored", "searches"), TABLES.values(), ids=TABLES)
def test_searches_are_found(old: str, new: str, made: str, stored: object, searches: object) -> None:
    table = found(old, new, made)
    assert table is not None
    lists = [(s.axis, s.entry.subscripts, s.count.subscripts) for s in table.searches]
    assert (table.column, table.stored, lists) == (1, stored, searches)


REFUSED = {
    "not equal": ("eq, %entry", "ne, %entry"), "one more": ("cmpi slt, %at", "cmpi sle, %at"),
    "no count": ("%same, %valid", "%same, %same"), "either": ("%both = arith.andi", "%both = arith.ori"),
    "anything beside": (STORE, "%w = arith.ori %any, %on : i1 tk.store %w, %o[d0, d1]"),
    "both": (STORE, "%w = arith.andi %any, %any2 : i1 tk.store %w, %o[d0, d1]"),
    "column counted": ("slt, %at", "slt, %column"), "list by column": ("%list[d0, d2]", "%list[0, d1]"),
    "column moved": ('tk.index "d1"', 'tk.index "d1 + 1"'), "computed entry": ("eq, %entry", "eq, %at"),
    "other reduction": ("reduce or %both over", "reduce and %both over"),
    "count by column": ("%number[d0]", "%number[d1]"), "count by entry": ("%number[d0]", "%number[d2]"),
    "entry of 16 bits": ("%list[d0, d2] : tensor<4x8xi32> -> i32 %entry = arith.extsi %narrow : i32",
                         "%short[d0, d2] : tensor<4x8xi16> -> i16 %entry = arith.extsi %narrow : i16"),
    "masked entry": ("%list[d0, d2] :", "%list[d0, d2] if %on else %none :"),
    "row moved": (STORE, "tk.store %any, %o[d0 + 1, d1]"),
    "stored under a mask": (STORE, "tk.store %any, %o[d0, d1] if %on"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_search_is_refused(old: str, new: str) -> None:
    assert found(old, new) is None
