"""Which elements of a buffer a kernel may touch, against all of them written down."""

from __future__ import annotations

from itertools import product
from random import Random

from tk_harness import parse
from xdsl.dialects.builtin import f32
from xdsl.ir import Block

from tilewright.dialects.index_expr import as_expr, sym
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import flat_memref
from tilewright.passes.host.launch_order import Stretch, extents

MEMORY = Block(arg_types=[flat_memref(f32, 4096)]).args[0]


def stretch(sizes: list[int], factors: list[int], offset: int) -> Stretch:
    """Of a function that stores at a sum of its axes."""
    terms = " + ".join([*(f"d{axis}*{factor}" for axis, factor in enumerate(factors)), str(offset)])
    (func,) = parse(f"""
        tk.func @kernel {sizes} (%o: memref<4096xf32>) {{
          %0 = arith.constant 1.0 : f32
          tk.store %0, %o[{terms}] : f32, memref<4096xf32>
        }}""").body.block.ops
    assert isinstance(func, FuncOp)
    (extent,) = extents(func)
    return Stretch(MEMORY, extent)


def elements(sizes: list[int], factors: list[int], offset: int) -> set[int]:
    return {
        sum(f * at for f, at in zip(factors, place, strict=True)) + offset
        for place in product(*map(range, sizes))
    }


def test_values_of_symbols_are_known() -> None:
    (func,) = parse("""
        tk.func @kernel [4] (%o: memref<4096xf32>) symbols [s0] {
          %0 = arith.constant 1.0 : f32
          tk.store %0, %o[d0 + s0*16] : f32, memref<4096xf32>
        }""").body.block.ops
    assert isinstance(func, FuncOp)
    first, second, unknown = (
        Stretch(MEMORY, extents(func, [e])[0]) for e in (as_expr(0), as_expr(1), sym(3))
    )
    assert not first.meets(second)
    assert first.meets(unknown)


def test_what_does_not_meet_is_apart() -> None:
    random, apart = Random(0), 0
    for _ in range(300):
        row = random.choice([6, 8, 12])
        given = [
            (
                [random.randint(1, 4), random.randint(1, 4)],
                [row, random.choice([1, 2, -1])],
                random.randint(3, 20),
            )
            for _ in "ab"
        ]
        (one, other), (first, second) = ([f(*g) for g in given] for f in (stretch, elements))
        assert one.meets(other) == other.meets(one)
        if not one.meets(other):
            assert first.isdisjoint(second)
            apart += max(first) >= min(second) and max(second) >= min(first)
    assert apart > 30, "parts of rows, one between the others"
