"""How far programs of chained products go: no further than a mask on positions lets them see."""

from __future__ import annotations

import pytest
from attention_text import attention
from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import Expr, Var, parse_expr
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.passes.kernels.chains import Chain, find_chain
from tilewright.passes.schedule.blocks import Blocks
from tilewright.passes.schedule.chain_reach import Clear, clear_steps, reach, required, split_at

ROWS, STEP = 16, 8
SIZES = (64, 8, 8, 128)
"""Rows (axis 0), columns of the result, of the scores, and keys (axis 3)."""
CAUSAL = "%seen = arith.cmpi sge, %row, %key : i64"
BEHIND = "%seen = arith.cmpi sge, %key, %row : i64"
WINDOW = """%c = arith.cmpi sge, %row, %key : i64
  %d = arith.subi %row, %key : i64
  %e = arith.cmpi slt, %d, %twenty : i64
  %seen = arith.andi %c, %e : i1"""
PREFIX = """%c = arith.cmpi sge, %row, %key : i64
  %d = arith.cmpi slt, %key, %twenty : i64
  %seen = arith.ori %c, %d : i1"""
LOADED = "%seen = tk.load %m[d0*128 + d3] : memref<8192xi1> -> i1"
BOTH = (
    f"{LOADED.replace('%seen', '%l')}\n%c = arith.cmpi sge, %row, %key : i64\n%seen = arith.andi %l, %c : i1"
)


def chain_of(mask: str, sizes: tuple[int, ...] = SIZES) -> tuple[FuncOp, Chain]:
    """Attention whose scores are -inf where `%seen` is false."""
    func = attention(mask, sizes[0], sizes[3])
    chain = find_chain(func.body.block)
    assert chain is not None
    return func, chain


def blocks(step: int = STEP) -> Blocks:
    """One program has 16 rows, and walks the keys."""
    return Blocks(((0, ROWS), (1, 8), (2, 8), (3, step)), grid=1)


def at(expr: Expr, program: int) -> int:
    """What it is for one program: `d0` is its first row."""
    return expr.evaluate({Var("d", 0): program * ROWS})


def sees(row: int, key: int, mask: str) -> bool:
    return {
        CAUSAL: row >= key,
        BEHIND: key >= row,
        WINDOW: 0 <= row - key < 20,
        PREFIX: row >= key or key < 20,
    }.get(mask, True)


@pytest.mark.parametrize(
    "mask", [CAUSAL, BEHIND, WINDOW, PREFIX, LOADED], ids=["causal", "behind", "window", "prefix", "loaded"]
)
def test_a_program_walks_what_its_rows_see(mask: str) -> None:
    func, chain = chain_of(mask)
    first, end = reach(chain, blocks(), func.space)
    for program in range(SIZES[0] // ROWS):
        rows = range(program * ROWS, (program + 1) * ROWS)
        seen = [key for key in range(SIZES[3]) if any(sees(row, key, mask) for row in rows)]
        begins, ends = at(first, program), at(end, program)
        assert begins % STEP == 0
        assert begins <= seen[0] < begins + STEP
        assert seen[-1] < ends <= seen[-1] + 1


@pytest.mark.parametrize(("mask", "first"), [(CAUSAL, True), (BEHIND, False)], ids=["causal", "behind"])
def test_steps_that_a_mask_leaves_whole(mask: str, first: bool) -> None:
    func, chain = chain_of(mask)
    found = clear_steps(chain, blocks(), func.space)
    assert isinstance(found, Clear)
    assert found.first == first
    assert len(found.conditions) == 1
    for program in range(SIZES[0] // ROWS):
        place = at(found.at, program)
        assert place % STEP == 0
        keys = range(place) if first else range(place, SIZES[3])
        assert all(
            sees(row, key, mask) for row in range(program * ROWS, (program + 1) * ROWS) for key in keys
        )


@pytest.mark.parametrize("mask", [WINDOW, LOADED], ids=["between", "unknown"])
def test_no_steps_are_known_to_be_whole(mask: str) -> None:
    func, chain = chain_of(mask)
    assert clear_steps(chain, blocks(), func.space) is None


def test_few_steps_are_not_worth_it() -> None:
    func, chain = chain_of(CAUSAL)
    assert clear_steps(chain, blocks(step=32), func.space) is None


def named(value: SSAValue) -> str | None:
    return value.name_hint


@pytest.mark.parametrize(
    ("mask", "names"),
    [(CAUSAL, ["seen"]), (LOADED, ["seen"]), (BOTH, ["l", "c"]), (WINDOW, ["c", "e"]), (PREFIX, ["seen"])],
    ids=["causal", "loaded", "both", "window", "either"],
)
def test_what_must_be_true_for_a_step_to_change_something(mask: str, names: list[str]) -> None:
    _, chain = chain_of(mask)
    assert [named(value) for value in required(chain)] == names


@pytest.mark.parametrize(
    ("place", "bounds", "split"),
    [
        ("16", ("0", "64"), "16"),
        ("80", ("0", "64"), "64"),
        ("16", ("32", "64"), "32"),
        ("d0*16", ("0", "min(128, d0*16 + 16)"), "min(d0*16, 128)"),
        ("d0*16 - 8", ("0", "64"), "min(max(0, d0*16 - 8), 64)"),
    ],
)
def test_the_place_of_a_split_lies_within_bounds(place: str, bounds: tuple[str, str], split: str) -> None:
    first, end = map(parse_expr, bounds)
    space = [parse_expr(str(n)) for n in SIZES]
    assert split_at(parse_expr(place), (first, end), space) == parse_expr(split)
