"""A store is done by the last loops that read there; only then may they write where they read."""

from __future__ import annotations

import pytest
from kernels_harness import changes, kernels_of, module_of
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.passes.host.stored_last import Loops

TENSORS = {
    **{"x": "f32 3, 5", "y": "f32 3, 5", "z": "f32 5", "one": "f32 3, 1", "c": "f32 3", "k": "f32 3, 2"},
    **{"p": "f32 3, 5", "q": "f32 3, 5", "s": "f32 3", "t": "f32 3"},
    **{"u": "f32 5", "o": "f32 5", "r": "f32 3, 1", "l": "f32 3, 2"},
}
X = "%0 = load x[d0, d1]\n"
SUM = "%1 = tk.reduce add %0 over [1] : f32\nstore %1, s[d0]\n"
NEGATED = "%2 = arith.negf %0 : f32\nstore %2, p[d0, d1]\n"
BELOW = "%3 = tk.reduce max %0 over [1] : f32\n%4 = arith.subf %0, %3 : f32\n"
LAST = {
    # body, the input and the result
    "an element is added, then stored": (X + SUM + NEGATED, "x p"),
    "stored, then added": (X + NEGATED + SUM, "x p"),
    "it waits for all sums of the row": (
        f"""{X}{SUM}{BELOW}%5 = math.exp %4 : f32
        %6 = tk.reduce add %5 over [1] : f32
        %7 = arith.divf %5, %6 : f32
        store %7, p[d0, d1]""",
        "x p",
    ),
    "beside what is made of less": (
        f"{X}{NEGATED.replace('p[', 'q[')}{BELOW}store %4, p[d0, d1]",
        "x p",
    ),
    "others are read later": (
        f"""{X}{BELOW}store %0, p[d0, d1]
        %5 = load y[d0, d1]
        %6 = arith.mulf %5, %3 : f32
        %7 = tk.reduce add %6 over [1] : f32
        store %7, s[d0]""",
        "x p",
    ),
    "what is read only through sums": (
        f"{X}{SUM}{NEGATED}%5 = math.exp %1 : f32\nstore %5, t[d0]",
        "x p",
    ),
}
EARLIER = {
    "a sum is made of another": (
        f"{X}{BELOW}%5 = tk.reduce add %4 over [1] : f32\nstore %5, s[d0]\n{NEGATED}",
        "x p",
    ),
    "another is stored after a sum": (f"{X}{BELOW}store %4, q[d0, d1]\n{NEGATED}", "x p"),
    "rows and columns are summed": (
        f"{X}{SUM}%5 = tk.reduce add %0 over [0] : f32\nstore %5, u[d1]\n{NEGATED}",
        "x p",
    ),
    "it is read again along another axis": (
        f"""{X}%1 = load z[d1]
        %3 = arith.mulf %0, %1 : f32
        %4 = tk.reduce add %3 over [0] : f32
        store %4, u[d1]
        %5 = tk.reduce add %3 over [1] : f32
        store %5, s[d0]
        %6 = arith.negf %1 : f32
        store %6, o[d1]""",
        "z o",
    ),
}


ONCE = {
    # body and the pair: of a row, read before the loop along it, or by another loop of the row
    "of a row, behind the sum": (
        f"{X}%1 = load c[d0]\n%3 = tk.reduce add %0 over [1] : f32\n%4 = arith.addf %1, %3 : f32\n"
        "store %4, s[d0]\n%5 = arith.mulf %0, %4 : f32\nstore %5, p[d0, d1]",
        True,
    ),
    "of a row, before the sum": (
        f"{X}%1 = load c[d0]\n%3 = tk.reduce add %0 over [1] : f32\n%4 = arith.addf %1, %3 : f32\n"
        "store %1, s[d0]\n%5 = arith.mulf %0, %4 : f32\nstore %5, p[d0, d1]",
        False,
    ),
    "of a row, which nothing sums": (
        f"{X}%1 = load c[d0]\n%4 = arith.negf %1 : f32\n"
        "store %4, s[d0]\n%5 = arith.mulf %0, %4 : f32\nstore %5, p[d0, d1]",
        False,
    ),
    "of a row, in loops along another axis": (
        f"{X}%1 = load c[d0]\n%3 = tk.reduce add %0 over [1] : f32\n%4 = arith.addf %1, %3 : f32\n"
        "store %4, s[d0]\n%5 = load k[d0, d2]\n%6 = arith.mulf %5, %4 : f32\nstore %6, l[d0, d2]",
        False,
    ),
}


def asked(body: str, pair: str, sizes: str = "3, 5", *, once: bool = False) -> tuple[ModuleOp, bool]:
    """The module of such a kernel, and whether the result is stored last of what reads the input."""
    module = module_of(TENSORS, [(sizes, body)], " ".join(name for name in TENSORS if f", {name}[" in body))
    (kernel,) = kernels_of(module)
    read, made = pair.split()
    ops = list(kernel.body.block.ops)
    loads = [op for op in ops if isinstance(op, LoadOp) and op.buffer.name_hint == f"{read}_"]
    (store,) = (op for op in ops if isinstance(op, StoreOp) and op.buffer.name_hint == f"{made}_")
    return module, Loops(ops, kernel.space, once).store_last(store, loads)


@pytest.mark.parametrize(("body", "pair"), LAST.values(), ids=LAST)
def test_stored_last(body: str, pair: str) -> None:
    module, last = asked(body, pair)
    assert last
    assert not changes(module, pair)


@pytest.mark.parametrize(("body", "pair"), EARLIER.values(), ids=EARLIER)
def test_read_after_it_is_stored(body: str, pair: str) -> None:
    module, last = asked(body, pair)
    assert not last
    assert changes(module, pair)


@pytest.mark.parametrize(("body", "last"), ONCE.values(), ids=ONCE)
def test_numbers_of_rows(body: str, last: bool) -> None:
    """Only where loops along a row need not read them again."""
    assert not asked(body, "c s", "3, 5, 2")[1]
    assert asked(body, "c s", "3, 5, 2" if "d2" in body else "3, 5", once=True)[1] == last


def test_a_sum_of_one_element_may_be_a_product() -> None:
    body = """%0 = load one[d0, 0]
      %1 = tk.index "d1" : i64
      %2 = arith.sitofp %1 : i64 to f32
      %3 = arith.addf %0, %2 : f32
      %4 = tk.reduce add %3 over [1] : f32
      store %4, s[d0]
      store %0, r[{}]"""
    assert not asked(body.format("d0, 0"), "one r", "3, 1")[1]
    assert asked(body.format("d0, d1"), "one r", "3, 1")[1]
