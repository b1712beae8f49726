"""benchmarks/gpu_issue.py: how many instructions a warp runs, by machine code and the loops of the text."""

from __future__ import annotations

import pytest

from benchmarks.gpu_issue import Row, instructions_run, trips_of

STRAIGHT = """
        .section        .text.kernel,"ax",@progbits
.text.kernel:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/               @P0 EXIT ;
        /*0020*/                   EXIT ;
.L_x_9:
        /*0030*/                   BRA `(.L_x_9);
        /*0040*/                   NOP ;
"""
LOOP = """
        /*0000*/                   MOV R1, RZ ;
.L_x_2:
        /*0010*/                   FADD R2, R2, R3 ;
        /*0020*/                   IADD R1, R1, 0x1 ;
.L_x_1:
        /*0030*/                   SYNCS.PHASECHK P1, [R4] ;
        /*0040*/              @!P1 BRA `(.L_x_1) ;
        /*0050*/              @!P0 BRA `(.L_x_2) ;
        /*0060*/                   EXIT ;
"""


def test_straight_code_runs_once_and_padding_not() -> None:
    assert instructions_run(STRAIGHT, []) == 4


@pytest.mark.parametrize(("trips", "run"), [([], 7), ([1], 7), ([10], 2 + 5 * 10)])
def test_the_longest_loop_is_the_texts_and_the_shorter_one_waits(trips: list[int], run: int) -> None:
    assert instructions_run(LOOP, trips) == run


def test_loops_in_loops_multiply() -> None:
    assert instructions_run(LOOP, [10, 3]) == 2 + 10 * (3 + 2 * 3)


def test_loops_behind_each_other_have_their_own_lengths() -> None:
    first, second = LOOP.replace("EXIT", "MOV R1, RZ"), LOOP.replace("_1", "_3").replace("_2", "_4")
    assert instructions_run(first + second, [10, 100]) == 4 + 5 * 110


def test_waiting_beside_the_way_is_no_loop() -> None:
    """Behind the end, from where code jumps back: that is not where it came from."""
    waited = """
.L_x_8:
        /*0070*/                   SYNCS.PHASECHK P0, [R4] ;
        /*0080*/              @!P0 BRA `(.L_x_8) ;
        /*0090*/                   BRA `(.L_x_5) ;
"""
    checked = """
        /*0010*/                   SYNCS.PHASECHK P0, [R4] ;
        /*0020*/              @!P0 BRA `(.L_x_8) ;
.L_x_5:
        /*0030*/                   FADD R2, R2, R3 ;
        /*0040*/{0}EXIT ;
"""
    assert instructions_run(LOOP.replace("EXIT", "NOP") + checked.format(" ") + waited, [10]) == 58
    again = checked.format("               BRA.U !UP0, `(.L_x_4) ;\n        /*0050*/  ")
    assert instructions_run(".L_x_4:" + again + waited, [10]) == 4 * 10 + 1 + 3 * 10


def test_a_loop_that_was_unrolled_is_none() -> None:
    assert instructions_run(STRAIGHT, [10]) == 4


@pytest.mark.parametrize(
    ("text", "trips"),
    [
        ("for d4 in range(0, 81, 64):", [2]),
        ("for d1 in range(0, 64, 64):\n  for d2 in range(32, 128, 8):", [1, 12]),
        ("for d1 in range(0, s0, 64):", []),
    ],
)
def test_lengths_of_loops(text: str, trips: list[int]) -> None:
    assert trips_of(text) == trips


def test_lost_is_what_issue_takes_longer_in_all_launches() -> None:
    assert Row("m", "k", 3, 1, 4, 100, 5.0, 2.0).lost == 9.0
    assert Row("m", "k", 3, 1, 4, 100, 2.0, 5.0).lost == 0.0
