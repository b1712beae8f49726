"""Stores that wait for what is reduced: an input may then be where the result is."""

from __future__ import annotations

import pytest
from kernels_harness import changes, kernels_of, module_of
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tk.access import StoreOp
from tilewright.passes.host.inplace import inplace_pairs
from tilewright.passes.host.store_last import store_after
from tilewright.passes.kernels.body import loads_of, store_to

TENSORS = {
    **{"x": "f32 3, 5", "y": "f32 3, 5", "c": "f32 3", "w": "f32 3, 5, 2"},
    **{"p": "f32 3, 5", "q": "f32 3, 5", "s": "f32 3", "t": "f32 3", "u": "f32 5", "v": "f32 3, 2"},
}
X = "%0 = load x[d0, d1]\n"
NEGATED = "%2 = arith.negf %0 : f32\nstore %2, p[d0, d1]\n"
BELOW = "%3 = tk.reduce max %0 over [1] : f32\n%4 = arith.subf %0, %3 : f32\n"
WAITS = {
    # body, and for how many values the store to `p` waits, that `x` may be there
    "read by a later loop": (f"{X}{NEGATED}{BELOW}store %4, q[d0, d1]", 1),
    "summed by a later loop": (
        f"{X}{NEGATED}{BELOW}%5 = tk.reduce add %4 over [1] : f32\nstore %5, s[d0]",
        1,
    ),
    "by the last of several": (
        f"{X}{NEGATED}{BELOW}%5 = tk.reduce add %4 over [1] : f32\n"
        "%6 = arith.mulf %4, %5 : f32\nstore %6, q[d0, d1]",
        1,
    ),
    "behind sums beside each other": (
        f"{X}{NEGATED}{BELOW}%5 = tk.reduce min %0 over [1] : f32\n"
        "%6 = arith.mulf %4, %5 : f32\nstore %6, q[d0, d1]",
        2,
    ),
    "behind a sum of others": (
        f"{X}{NEGATED}%1 = load y[d0, d1]\n%3 = tk.reduce add %1 over [1] : f32\n"
        "%4 = arith.mulf %0, %3 : f32\nstore %4, q[d0, d1]",
        1,
    ),
    "behind columns": (
        f"{X}{NEGATED}%3 = tk.reduce add %0 over [0] : f32\n"
        "%4 = arith.subf %0, %3 : f32\nstore %4, q[d0, d1]",
        1,
    ),
}
AS_IT_IS = {
    "all waits already": f"{X}{BELOW}store %4, p[d0, d1]\nstore %3, s[d0]",
    "nothing is reduced": f"{X}{NEGATED}store %0, q[d0, d1]",
    "by rows and by columns": f"{X}{NEGATED}{BELOW}%5 = tk.reduce add %4 over [0] : f32\nstore %5, u[d1]",
}


def waiting(body: str, read: str, made: str, sizes: str = "3, 5") -> tuple[ModuleOp, StoreOp, bool]:
    """The kernel, its store to `made`, and whether `read` may be there."""
    module = module_of(TENSORS, [(sizes, body)], " ".join(name for name in TENSORS if f", {name}[" in body))
    (kernel,) = kernels_of(module)
    names = [value.name_hint for value in kernel.inputs], [value.name_hint for value in kernel.results]
    i, o = names[0].index(read), names[1].index(made)
    store = store_to(kernel.destinations[o])
    assert store is not None
    store_after(kernel, store, loads_of(kernel.sources[i]))
    module.verify()
    pairs = inplace_pairs(list(kernel.body.block.ops), kernel.space, kernel.sources, kernel.destinations)
    after = store_to(kernel.destinations[o])
    assert after is not None
    return module, after, (i, o) in pairs


@pytest.mark.parametrize(("body", "count"), WAITS.values(), ids=WAITS)
def test_a_store_waits(body: str, count: int) -> None:
    module, store, in_place = waiting(body, "x", "p")
    assert len(store.after) == count
    assert in_place
    assert not changes(module, "x p")


@pytest.mark.parametrize("body", AS_IT_IS.values(), ids=AS_IT_IS)
def test_a_store_stays(body: str) -> None:
    _, store, _ = waiting(body, "x", "p")
    assert not store.after


def test_it_waits_for_nothing_that_varies_more_than_it_does() -> None:
    """It would be stored once for each of the sums."""
    body = """%0 = load c[d0]
      %1 = load w[d0, d1, d2]
      %2 = arith.mulf %0, %1 : f32
      %3 = tk.reduce add %2 over [1] : f32
      store %3, v[d0, d2]
      %4 = tk.reduce add %1 over [1, 2] : f32
      %5 = arith.addf %0, %4 : f32
      store %5, s[d0]
      %6 = arith.mulf %2, %3 : f32
      %7 = tk.reduce max %6 over [1, 2] : f32
      store %7, t[d0]"""
    _, store, _ = waiting(body, "c", "s", "3, 5, 2")
    assert not store.after
