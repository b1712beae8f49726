"""Offsets have 32 bits only where nothing that is computed for them can leave these."""

from __future__ import annotations

import pytest
from tk_harness import parse

from tilewright.dialects.index_expr import as_expr, sym
from tilewright.dialects.tk.attributes import int64
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.passes.schedule.offsets import LIMIT, MOST, index_bits, known_space


def function(space: str, *, length: int | str = 8, at: str = "d0") -> FuncOp:
    buffer = f"memref<{length}xf32>"
    module = parse(f"""tk.func @k [{space}] (%a: {buffer}, %o: {buffer}) symbols [s0] {{
      %0 = tk.load %a[{at}] : {buffer} -> f32
      tk.store %0, %o[d0] : f32, {buffer}
    }}""")
    func = module.body.block.first_op
    assert isinstance(func, FuncOp)
    return func


@pytest.mark.parametrize(
    ("space", "length", "bits"),
    [
        ("8", 8, 32),
        ("0", 0, 32),
        (str(LIMIT - 1), 8, 32),
        (str(LIMIT), 8, 64),
        ("8", LIMIT - 1, 32),
        ("8", LIMIT, 64),
        ("s0", 8, 64),
        ("8", "?", 64),
    ],
)
def test_axes_and_buffers_are_below_the_limit(space: str, length: int | str, bits: int) -> None:
    assert index_bits(function(space, length=length)) == bits


@pytest.mark.parametrize(
    ("space", "at", "bits"),
    [
        ("8", "(d0*268435456 + 1) floordiv 3", 32),
        ("9", "(d0*268435456 + 1) floordiv 3", 64),
        ("9", "(d0*268435456 + 1) mod 7", 64),
        ("9", "(d0 + (d0*268435456 + 1) floordiv 3) mod 7", 64),
        ("8", "(d0*3 + 1) floordiv 2", 32),
        ("8", "(d0*s0) floordiv 2", 64),
        ("9", "d0*268435456", 32),
    ],
)
def test_what_is_divided_is_below_the_limit(space: str, at: str, bits: int) -> None:
    """The rest is a place in a buffer, whose size says enough."""
    assert index_bits(function(space, at=at)) == bits


def test_a_symbol_may_be_known_to_be_small() -> None:
    func = function("s0", length="?")
    assert known_space(func) == (sym(0),)
    func.attributes[MOST] = int64(1000)
    assert known_space(func) == (as_expr(1000),)
    assert index_bits(func) == 32
    large = function("s0", length=LIMIT)
    large.attributes[MOST] = int64(1000)
    assert index_bits(large) == 64
