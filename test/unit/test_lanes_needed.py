"""What is the same for all of a tile is a scalar; what changes inside of one has lanes."""

from __future__ import annotations

import pytest
from tk_harness import parse

from tilewright.dialects.tk.kernels import FuncOp
from tilewright.passes.kernels.facts import Body
from tilewright.passes.schedule.tiles.lanes_needed import lanes_needed

BUFFER = "memref<4096xf32>"


def lanes(ops: str, blocks: dict[int, int]) -> list[set[int]]:
    """Of each op of a function of three axes that has a result, and of its store."""
    module = parse(f"""tk.func @k [512, 512, 512] (%a: {BUFFER}, %o: {BUFFER}) {{
      {ops}
    }}""")
    func = module.body.block.first_op
    assert isinstance(func, FuncOp)
    body = Body.of(func.body.block)
    return [{*axes} for axes in lanes_needed(body, blocks, func.space).values()]


@pytest.mark.parametrize(
    ("at", "block", "needed"),
    [
        ("d1 floordiv 128", 128, set[int]()),
        ("d1 floordiv 128", 64, set[int]()),
        ("d1 floordiv 128", 256, {1}),
        ("d1 floordiv 96", 64, {1}),
        ("d1 floordiv 128", 1, {1}),
        ("d1", 64, {1}),
        ("d1 mod 128", 64, {1}),
        ("d1 floordiv 128 + (d1 floordiv 64)*8", 64, set[int]()),
        ("d1 floordiv 128 + (d1 floordiv 64)*8", 128, {1}),
        ("d1 floordiv 128 + d1", 64, {1}),
        ("(d1 + 64) floordiv 128", 64, set[int]()),
        ("(d1 + 32) floordiv 128", 64, {1}),
        ("(d1 floordiv 128) mod 2", 64, set[int]()),
        ("(d1 mod 128) floordiv 64", 64, set[int]()),
        ("(d1 mod 96) floordiv 64", 64, {1}),
        ("d0 + d1 floordiv 128", 64, {0}),
        ("d0*8 + 3", 64, {0}),
    ],
)
def test_blocks_of_a_table_are_one_value(at: str, block: int, needed: set[int]) -> None:
    (found,) = lanes(f"%0 = tk.load %a[{at}] : {BUFFER} -> f32", {0: 1, 1: block})
    assert found == needed


def test_values_have_the_lanes_of_what_they_are_made_of() -> None:
    ops = f"""%0 = tk.load %a[d1 floordiv 128] : {BUFFER} -> f32
      %1 = tk.load %a[d0] : {BUFFER} -> f32
      %2 = arith.addf %0, %1 : f32
      %3 = tk.reduce add %2 over [0] : f32
      %4 = tk.reduce add %0 over [2] : f32
      %5 = arith.negf %3 : f32
      tk.store %4, %o[0] over [1] : f32, {BUFFER}"""
    assert lanes(ops, {0: 64, 1: 64, 2: 64}) == [set(), {0}, {0}, {0}, {2}, set(), {1}]


def test_masks_and_positions_count() -> None:
    ops = f"""%0 = tk.index "d1" : index
      %1 = tk.load %a[i0](%0) : {BUFFER} -> f32
      %2 = arith.constant true
      %3 = arith.constant 0.0 : f32
      %4 = tk.load %a[d2 floordiv 64] if %2 else %3 : {BUFFER} -> f32"""
    assert lanes(ops, {1: 64, 2: 64}) == [{1}, {1}, set(), set(), set()]
