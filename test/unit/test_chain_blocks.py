"""How many programs chained products have, as far as that is known before there are blocks."""

from __future__ import annotations

import pytest

from tilewright.dialects.index_expr import parse_expr
from tilewright.passes.schedule.tiles.chain_blocks import PROGRAMS, keep_busy


@pytest.mark.parametrize(
    ("batches", "rows", "busy"),
    [
        (PROGRAMS, "1", True),
        (PROGRAMS - 1, "64", False),
        (PROGRAMS // 2, "64", False),
        (PROGRAMS // 2, "65", True),
        (1, str(64 * (PROGRAMS - 1) + 1), True),
        (1, str(64 * (PROGRAMS - 1)), False),
        (0, "4096", False),
    ],
)
def test_begun_blocks_of_rows_are_programs(batches: int, rows: str, busy: bool) -> None:
    assert keep_busy(batches, parse_expr(rows)) == busy


def test_rows_that_only_the_run_knows_are_guessed() -> None:
    """As many as make a batch a few programs: with as many batches as programs are wanted it is busy."""
    assert keep_busy(PROGRAMS, parse_expr("s0"))
    assert not keep_busy(1, parse_expr("s0"))
