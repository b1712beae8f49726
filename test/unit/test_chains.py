"""Which kernel bodies are chained products: those that programs can walk, one tile at a time.

Axis 0 has rows, 1 columns of the result, 2 what scores sum over, 3 is the chain, 4 heads that share keys.
"""

from __future__ import annotations

import pytest
from xdsl.parser import Parser

from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.passes.kernels.chains import Chain, find_chain

SCORES = """
  %q = tk.load %0[d0*8 + d2] : memref<96xf32> -> f32
  %k = tk.load %1[d3*8 + d2] : memref<96xf32> -> f32
  %qk = arith.mulf %q, %k : f32
  %x = tk.reduce add %qk over [2] : f32
"""
VALUES = "  %v = tk.load %1[d3*8 + d1] : memref<96xf32> -> f32\n"
PLAIN = """
  %xv = arith.mulf %x, %v : f32
  %r = tk.reduce add %xv over [3] : f32
  tk.store %r, %o[d0*8 + d1] : f32, memref<96xf32>
"""
SUM = "  %t = arith.addf %x, %v : f32\n"
PEAK = "  %m = tk.reduce max %x over [3] : f32\n"
SOFTMAX = f"""{PEAK}
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %none = arith.cmpf oeq, %m, %low : f32
  %g = arith.select %none, %zero, %m : f32
  %d = arith.subf %x, %g : f32
  %e = math.exp %d : f32
  %s = tk.reduce add %e over [3] : f32
  %ev = arith.mulf %e, %v : f32
  %r = tk.reduce add %ev over [3] : f32
  %w = arith.divf %r, %s : f32
  tk.store %w, %o[d0*8 + d1] : f32, memref<96xf32>
"""


def chain_of(body: str) -> Chain | None:
    buffers = ", ".join(f"%{name}: memref<96xf32>" for name in "01o")
    text = f"tk.func @k [12, 8, 8, 12, 2] ({buffers}) {{{body}}}"
    func = Parser(new_context(), text).parse_module().body.block.first_op
    assert isinstance(func, FuncOp)
    return find_chain(func.body.block)


def stored(what: str, where: str) -> str:
    return f"  tk.store %{what}, %o[{where}] : f32, memref<96xf32>\n"


@pytest.mark.parametrize("body", [PLAIN, SOFTMAX])
def test_products_of_scores_are_chained(body: str) -> None:
    chain = chain_of(SCORES + VALUES + body)
    assert chain is not None
    assert (chain.row, chain.along, chain.around, chain.held) == (0, 3, (), (1, 2))
    assert [o.factors is not None for o in chain.outer][-1]


def test_sums_of_exponentials_are_kept_for_the_largest_so_far() -> None:
    chain = chain_of(SCORES + VALUES + SOFTMAX)
    assert chain is not None
    peak, *sums = chain.outer
    assert peak.shift is None
    assert [o.shift.peak for o in sums if o.shift is not None] == [peak.reduce, peak.reduce]


@pytest.mark.parametrize(
    ("beside", "chained"),
    [
        (PEAK + stored("m", "d0"), True),
        (stored("x", "d0*12 + d3"), True),
        ("  %n = tk.reduce max %v over [3] : f32\n" + stored("n", "d1"), False),
        (PEAK + "  %t = arith.subf %x, %m : f32\n" + stored("t", "d0*12 + d3"), False),
        (stored("v", "d3*8 + d1"), False),
        (SUM + "  %n = tk.reduce max %t over [3] : f32\n" + stored("n", "d0"), False),
        (stored("q", "d0*8 + d2"), False),
    ],
    ids=[
        "a result of rows",
        "scores",
        "a maximum that has no rows",
        "scores below a maximum that is not there yet",
        "what the chain has of columns",
        "a maximum of what rows, the chain and columns make",
        "an axis that is no column",
    ],
)
def test_what_else_a_chain_does_needs_one_tile(beside: str, *, chained: bool) -> None:
    assert (chain_of(SCORES + VALUES + beside + PLAIN) is not None) == chained


def test_factors_have_no_columns_of_each_other() -> None:
    """The first sum is of numbers of rows, the chain and what scores sum over."""
    first = """
  %xk = arith.mulf %x, %q : f32
  %z = tk.load %1[d3*8 + d4] : memref<96xf32> -> f32
  %xkz = arith.mulf %xk, %z : f32
  %y = tk.reduce add %xkz over [3] : f32
"""
    assert chain_of(SCORES + VALUES + first.replace("%xk = arith.mulf %x, %q", "%xk = arith.negf %x") + PLAIN)
    assert chain_of(SCORES + VALUES + first + PLAIN) is None


def test_sums_that_are_no_exponentials_below_the_maximum_are_not_chained() -> None:
    """Nor are those below a maximum so far that may be -inf: from there nothing can be counted."""
    for old, new in (
        ("%x, %g", "%v, %g"),
        ("%x, %g", "%x, %m"),
        ("math.exp %d", "math.log %d"),
        ("max %x", "min %x"),
    ):
        assert old in SOFTMAX
        assert chain_of(SCORES + VALUES + SOFTMAX.replace(old, new)) is None


PARTS = """
  %q0 = tk.load %0[d0*12 + d2] : memref<144xf32> -> f32
  %k0 = tk.load %1[d3*12 + d2] : memref<144xf32> -> f32
  %qk0 = arith.mulf %q0, %k0 : f32
  %x0 = tk.reduce add %qk0 over [2] : f32
  %q1 = tk.load %0[d0*12 + d5 + 8] : memref<144xf32> -> f32
  %k1 = tk.load %1[d3*12 + d5 + 8] : memref<144xf32> -> f32
  %qk1 = arith.mulf %q1, %k1 : f32
  %x1 = tk.reduce add %qk1 over [5] : f32
  %x = {scores}
  %v0 = tk.load %1[d3*12 + d1] : memref<144xf32> -> f32
  %xv0 = arith.mulf {left}, %v0 : f32
  %r0 = tk.reduce add %xv0 over [3] : f32
  %v1 = tk.load %1[d3*12 + d4 + 8] : memref<144xf32> -> f32
  %xv1 = arith.mulf %x, %v1 : f32
  %r1 = tk.reduce add %xv1 over [3] : f32
  tk.store %r0, %o[d0*12 + d1] : f32, memref<144xf32>
  tk.store %r1, %o[d0*12 + d4 + 8] : f32, memref<144xf32>
"""
"""Heads of 12 elements, cut into 8 and 4: axes 1 and 4 have columns, 2 and 5 what scores sum over."""


@pytest.mark.parametrize(
    ("scores", "left", "sides"),
    [
        ("arith.addf %x0, %x1 : f32", "%x", [{2, 5}, {1, 4}]),
        ("arith.mulf %x0, %x1 : f32", "%x", [{2}, {5}, {1, 4}]),
        ("arith.addf %x0, %x1 : f32", "%x0", [{2}, {5}, {1}, {4}]),
    ],
    ids=["parts", "two products", "a part that is read by itself"],
)
def test_parts_of_a_head_are_one_side(scores: str, left: str, sides: list[set[int]]) -> None:
    buffers = ", ".join(f"%{name}: memref<144xf32>" for name in "01o")
    text = f"tk.func @k [12, 8, 8, 12, 4, 4] ({buffers}) {{{PARTS.format(scores=scores, left=left)}}}"
    func = Parser(new_context(), text).parse_module().body.block.first_op
    assert isinstance(func, FuncOp)
    chain = find_chain(func.body.block)
    assert chain is not None
    assert [*chain.sides] == sides
