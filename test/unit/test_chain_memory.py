"""passes/schedule/tiles/chain_memory.py: what chained products keep in shared memory."""

from __future__ import annotations

import pytest
from attention_text import attention

from tilewright.passes.kernels.chains import find_chain
from tilewright.passes.schedule.tiles.chain_memory import MOST_STAGES, in_shared, stages_in_shared
from tilewright.passes.schedule.tiles.limits import Limits

TILE = (64, 32)
"""Rows of a program, and keys of a step; all 8 elements of heads are held."""
HELD = {1: 8, 2: 8}
ROWS, STEP = 2 * 64 * 8, 2 * 32 * 8 * 4
"""Bytes that are kept of the rows of queries, as halves, and of a step of keys and values, f32 here."""


def limits(kibibytes: int, lanes: int = 32) -> Limits:
    return Limits(tf32=False, shared=kibibytes, cores=132, lanes=lanes)


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_rows_once_and_factors_for_each_step(stages: int) -> None:
    func = attention("%seen = arith.constant true", 128, 128)
    chain = find_chain(func.body.block)
    assert chain is not None
    assert in_shared(func, chain, HELD, TILE, stages, limits(227)) == ROWS + stages * STEP


@pytest.mark.parametrize(
    ("shared", "lanes", "stages"), [(227, 32, MOST_STAGES), (5, 32, 2), (1, 32, 1), (227, 64, 2)]
)
def test_as_many_steps_as_there_is_room_for(shared: int, lanes: int, stages: int) -> None:
    func = attention("%seen = arith.constant true", 128, 128)
    chain = find_chain(func.body.block)
    assert chain is not None
    assert stages_in_shared(func, chain, HELD, TILE, limits(shared, lanes)) == stages
