"""Whether to make a result again where it is read: what is moved, and what is computed once more."""

from __future__ import annotations

import pytest
from kernels_harness import Kernel, kernels_of, module_of

from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.kernels.body import store_to
from tilewright.passes.kernels.facts import Body
from tilewright.passes.reductions.statistics_cost import costs_more, places
from tilewright.passes.reductions.statistics_of_rows import statistics_of

SHAPE = "64, 1024"


def normed(made: str) -> Kernel:
    """Rows less their sum; `made` is made of them, and of `x` and the sum."""
    return (
        SHAPE,
        f"""%0 = load x[d0, d1]
      %1 = tk.reduce add %0 over [1] : f32
      %2 = arith.subf %0, %1 : f32
      {made}
      store %3, p[d0, d1]""",
    )


CHEAP = normed("%3 = arith.mulf %2, %2 : f32")
DEAR = normed(
    "\n".join(f"%{i} = math.sin %{i - 1 if i > 4 else 2} : f32" for i in range(4, 30))
    + "\n%3 = math.sin %29 : f32"
)
OF_MORE = normed(
    "\n".join(f"%l{name} = load {name}[d0, d1]\n" for name in "uvw")
    + """%4 = arith.mulf %2, %lu : f32
      %5 = arith.mulf %4, %lv : f32
      %3 = arith.mulf %5, %lw : f32"""
)
STILL_READ: Kernel = (
    SHAPE,
    OF_MORE[1] + "\n%6 = arith.addf %lu, %lv : f32\n%7 = arith.addf %6, %lw : f32\nstore %7, q[d0, d1]",
)
"""Its maker stores something else that is made of these three."""
READER: Kernel = (
    SHAPE,
    "%0 = load p[d0, d1]\n%1 = load x[d0, d1]\n%2 = arith.addf %0, %1 : f32\nstore %2, r[d0, d1]",
)
ALONE: Kernel = (SHAPE, "%0 = load p[d0, d1]\n%1 = math.exp %0 : f32\nstore %1, r[d0, d1]")
AGAIN: Kernel = (
    f"{SHAPE}, 16",
    """%0 = load p[d0, (d1 + d2) mod 1024]
      %1 = load y[d2]
      %2 = arith.mulf %0, %1 : f32
      %3 = tk.reduce max %2 over [2] : f32
      store %3, r[d0, d1]""",
)
TENSORS = {name: f"f32 {SHAPE}" for name in "xuvwpqr"} | {"y": "f32 16"}


def judged(maker: Kernel, reader: Kernel) -> str | None:
    returned = "r q" if maker is STILL_READ else "r"
    kernel, other = kernels_of(module_of(TENSORS, [maker, reader], returned))
    body = Body.of(kernel.body.block)
    store = store_to(kernel.destinations[0])
    assert store is not None
    wide = {kernel.results[0]: store}
    found = statistics_of(body, [store])
    assert not isinstance(found, str)
    return costs_more(kernel, wide, other, body, found)


def test_what_is_read_anyway_makes_it_again() -> None:
    assert judged(CHEAP, READER) is None


@pytest.mark.parametrize(
    ("maker", "reader", "why"),
    [
        (OF_MORE, READER, None),
        (STILL_READ, READER, "to make it again would move 786944 bytes of 524288"),
        (CHEAP, ALONE, None),
        (DEAR, AGAIN, "making it again costs"),
    ],
    ids=["reads move", "three are read twice", "no more than it is itself", "sines for each of sixteen"],
)
def test_what_it_would_take(maker: Kernel, reader: Kernel, why: str | None) -> None:
    found = judged(maker, reader)
    assert (found is None) if why is None else (found is not None and found.startswith(why)), found


def test_one_load_for_each_place() -> None:
    twice: Kernel = (
        SHAPE,
        """%0 = load p[d0, d1]
      %1 = load p[d0, d1]
      %2 = load p[d0, -d1 + 1023]
      %3 = arith.addf %0, %1 : f32
      %4 = arith.addf %3, %2 : f32
      store %4, r[d0, d1]""",
    )
    kernel, reader = kernels_of(module_of(TENSORS, [CHEAP, twice], "r"))
    assert isinstance(reader, KernelOp)
    assert {str(load.subscripts[1]) for load in places(kernel.results[0], reader)} == {"d1", "-d1 + 1023"}
