"""passes/schedule/loops/row_chain.py: how many rows go along chained products together, on a CPU."""

from __future__ import annotations

import pytest
from attention_text import attention
from tk_harness import parse

from tilewright.dialects.index_expr import Var
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.passes.schedule.loops.row_chain import NAME, RowChain, chain_bounds, choose_chain, take_chain

ROWS, KEYS = 96, 112


ALL, CAUSAL = "%seen = arith.constant true", "%seen = arith.cmpi sge, %row, %key : i64"


@pytest.mark.parametrize(
    ("bits", "keys", "chosen"),
    [
        (512, KEYS, RowChain(64, 64)),  # four vectors of 32 registers
        (256, KEYS, RowChain(16, 64)),  # two of 16
        (512, 24, RowChain(64, 24)),  # all keys in one step
    ],
)
def test_choice(bits: int, keys: int, chosen: RowChain) -> None:
    found = choose_chain(attention(ALL, ROWS, keys), bits)
    assert found is not None
    chain, rows = found
    assert (chain.row, chain.along) == (0, 3)
    assert rows == chosen


def test_other_functions_have_none() -> None:
    func = parse("""tk.func @f [4, 8] (%x: memref<32xf32>, %o: memref<4xf32>) {
      %0 = tk.load %x[d0*8 + d1] : memref<32xf32> -> f32
      %1 = tk.reduce add %0 over [1] : f32
      tk.store %1, %o[d0] : f32, memref<4xf32>
    }""").body.block.first_op
    assert isinstance(func, FuncOp)
    assert choose_chain(func, 512) is None


@pytest.mark.parametrize("causal", [False, True])
def test_rows_go_as_far_as_they_see(causal: bool) -> None:
    """By whole steps; the last one ends with the keys."""
    func, rows, step = attention(CAUSAL if causal else ALL, ROWS, KEYS), 32, 16
    found = choose_chain(func, 512)
    assert found is not None
    first, end = chain_bounds(found[0], func.space, rows, step)
    assert first.constant == 0
    for row in range(0, ROWS, rows):
        seen = min(row + rows, KEYS) if causal else KEYS
        assert end.evaluate({Var("d", 0): row}) == min(-(-seen // step) * step, KEYS)


def test_the_attribute_is_read_once() -> None:
    func = attention(ALL, ROWS, KEYS)
    func.attributes[NAME] = RowChain(64, 32).attribute()
    assert take_chain(func) == RowChain(64, 32)
    assert take_chain(func) is None
