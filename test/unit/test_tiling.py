"""passes/schedule/loops/tiling.py: which loops of a CPU are cut into tiles, and how large these are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from tk_harness import parse

from tilewright.dialects.index_expr import Expr, as_expr, parse_expr
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.passes.kernels.facts import Body
from tilewright.passes.schedule.loops.tiling import (
    tile_size,
    with_array_sums,
    with_columns,
    with_parts,
    with_rows_of_scans,
    with_square_tiles,
)
from tilewright.passes.schedule.plan import Plan

LANES = 16
Tiling = Callable[[Plan, Body, Sequence[Expr], int], Plan]


@pytest.mark.parametrize(
    ("size", "wanted", "lanes", "tile"),
    [
        (40, 32, 16, None),  # half as many again are one tile
        (64, 32, 16, 32),
        (72, 32, 4, 24),  # a divisor
        (74, 32, 4, 32),  # there is none: the last tile is shorter
    ],
)
def test_size_of_a_tile(size: int, wanted: int, lanes: int, tile: int | None) -> None:
    assert tile_size(as_expr(size), wanted, lanes) == tile


def test_a_symbolic_size_is_cut_as_wanted() -> None:
    assert tile_size(parse_expr("s0"), 32, 16) == 32


BUFFERS = "%x: memref<67108864xf32>, %i: memref<4096xi64>, %o: memref<67108864xf32>"


def tiled(tiling: Tiling, space: str, ops: str, plan: Plan) -> Plan:
    func = parse(f"tk.func @f [{space}] ({BUFFERS}) {{\n{ops}\n}}").body.block.first_op
    assert isinstance(func, FuncOp)
    return tiling(plan, Body.of(func.body.block), func.space, LANES)


LOAD = "%0 = tk.load %x[d0*{columns} + d1] : memref<67108864xf32> -> f32\n"
STORE = "tk.store {value}, %o[{at}] : f32, memref<67108864xf32>"
ROWS = Plan((0, 1), vector=1, lanes=LANES, parallel=1)


def test_a_transpose_goes_by_squares() -> None:
    ops = LOAD.format(columns=512) + STORE.format(value="%0", at="d0 + d1*512")
    plan = tiled(with_square_tiles, "512, 512", ops, ROWS)
    assert (plan.order, plan.tiles, plan.turn, plan.parallel) == ((2, 3, 0, 1), ((0, 32), (1, 32)), 0, 1)


@pytest.mark.parametrize(
    ("space", "ops"),
    [
        ("512, 512", LOAD.format(columns=512) + STORE.format(value="%0", at="d0*512 + d1")),  # a copy
        ("16, 16", LOAD.format(columns=16) + STORE.format(value="%0", at="d0 + d1*16")),  # small
        (
            "512, 512",
            LOAD.format(columns=512)
            + "%1 = tk.reduce add %0 over [1] : f32\n"
            + STORE.format(value="%1", at="d0"),
        ),
    ],
    ids=["copy", "small", "sum"],
)
def test_what_does_not_go_by_squares(space: str, ops: str) -> None:
    assert tiled(with_square_tiles, space, ops, ROWS) == ROWS


COLUMN_SUMS = LOAD.format(columns=1024) + "%1 = tk.reduce add %0 over [0] : f32\n"


def test_sums_of_columns_are_kept_in_an_array() -> None:
    """Blocks of columns, in them blocks of rows, in which each row is read as it lies."""
    plan = Plan((1, 0), vector=1, lanes=LANES, parallel=1)
    found = tiled(with_array_sums, "4096, 1024", COLUMN_SUMS + STORE.format(value="%1", at="d1"), plan)
    assert (found.order, found.tiles, found.arrays) == ((2, 3, 0, 1), ((1, 128), (0, 256)), True)


@pytest.mark.parametrize("space", ["8, 1024", "4096, 32"], ids=["few rows", "few columns"])
def test_sums_of_columns_that_stay_in_registers(space: str) -> None:
    plan = Plan((1, 0), vector=1, lanes=LANES, parallel=1)
    assert tiled(with_array_sums, space, COLUMN_SUMS + STORE.format(value="%1", at="d1"), plan) == plan


TOTAL = LOAD.format(columns=1024) + "%1 = tk.reduce add %0 over [0, 1] : f32\n"


def test_one_sum_is_cut_into_parts_that_threads_take() -> None:
    plan = tiled(with_parts, "4096, 1024", TOTAL + STORE.format(value="%1", at="0"), Plan((0, 1), 1, LANES))
    assert (plan.order, plan.tiles, plan.parallel) == ((2, 0, 1), ((0, 32),), 1)


def test_a_short_sum_and_sums_of_rows_are_not() -> None:
    plan = Plan((0, 1), 1, LANES)
    assert tiled(with_parts, "16, 1024", TOTAL + STORE.format(value="%1", at="0"), plan) == plan
    rows = LOAD.format(columns=1024) + "%1 = tk.reduce add %0 over [1] : f32\n"
    assert tiled(with_parts, "4096, 1024", rows + STORE.format(value="%1", at="d0"), plan) == plan


ADDED = (
    "%2 = tk.load %i[d0] : memref<4096xi64> -> i64\n"
    "%3 = arith.index_cast %2 : i64 to index\n"
    "tk.store %0, %o[{at}](%3) combine add : f32, memref<67108864xf32>"
)


def test_threads_scatter_columns_of_their_own() -> None:
    """Of a copy, whose rows may be taken in parallel, and of what is added to these, whose rows may meet."""
    copy = LOAD.format(columns=1024) + STORE.format(value="%0", at="d0*1024 + d1") + "\n"
    row = "%1 = tk.load %x[d2*1024 + d1] : memref<67108864xf32> -> f32\n"
    added = ADDED.replace("%i[d0]", "%i[d2]").replace("%0", "%1").format(at="d1 + i0*1024")
    before = Plan((0, 2, 1), vector=1, lanes=LANES, parallel=1)
    plan = tiled(with_columns, "4096, 1024, 4096", copy + row + added, before)
    assert (plan.order, plan.tiles, plan.parallel) == ((3, 0, 2, 1), ((1, 128),), 1)


def test_rows_that_meet_nowhere_are_not_cut() -> None:
    """Each batch has places of its own, which a thread takes whole."""
    load = "%0 = tk.load %x[d0*1048576 + d1*1024 + d2] : memref<67108864xf32> -> f32\n"
    added = ADDED.replace("%i[d0]", "%i[d1]").format(at="d0*1048576 + d2 + i0*1024")
    plan = Plan((0, 1, 2), vector=2, lanes=LANES, parallel=1)
    assert tiled(with_columns, "64, 1024, 1024", load + added, plan) == plan


def test_lanes_of_a_scan_have_a_row_each() -> None:
    ops = (
        LOAD.format(columns=128)
        + "%1 = tk.scan add %0 along 1 : f32\n"
        + STORE.format(value="%1", at="d0*128 + d1")
    )

    def scanned(plan: Plan, body: Body, space: Sequence[Expr], _: int) -> Plan:
        return with_rows_of_scans(plan, body, space, 1)

    plan = tiled(scanned, "512, 128", ops, Plan((0, 1), vector=0, lanes=LANES, parallel=1))
    assert (plan.order, plan.tiles, plan.turn, plan.parallel) == ((2, 0, 1), ((0, LANES),), 1, 1)
    alone = Plan((0, 1), vector=1, lanes=LANES)
    assert tiled(scanned, "512, 128", ops, alone) == alone
