"""The contents of kernels: what one walk finds, what is remembered of it, and what two have together."""

from __future__ import annotations

import pytest
from xdsl.parser import Parser

from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.fusion.contents import Bodies, Contents

SQUARE = "tensor<4x6xf32>"


def kernel_of(ops: str, sizes: str = "4, 6") -> KernelOp:
    """A kernel of `%a` and `%b` that stores to `%o`."""
    text = f"""func.func @main(%x: {SQUARE}, %y: {SQUARE}) -> {SQUARE} {{
      %r = tk.kernel [{sizes}] ins(%x, %y : {SQUARE}, {SQUARE}) -> ({SQUARE}) {{
      ^bb0(%a: {SQUARE}, %b: {SQUARE}, %o: {SQUARE}):
        {ops}
      }}
      func.return %r : {SQUARE}
    }}"""
    module = Parser(new_context(), text).parse_module()
    return next(op for op in module.walk() if isinstance(op, KernelOp))


def load(name: str, place: str, source: str = "a") -> str:
    return f"%{name} = tk.load %{source}[{place}] : {SQUARE} -> f32\n"


def store(name: str, place: str = "d0, d1", how: str = "") -> str:
    return f"tk.store %{name}, %o[{place}]{how} : f32, {SQUARE}\n"


LOAD = load("0", "d0, d1")
SUM, SCAN = "%1 = tk.reduce add %0 over [0, 1] : f32\n", "%2 = tk.scan add %0 along 1 : f32\n"
SORT = "%3, %4 = tk.sort %0 along 0 : f32\n"
LAST = '%i = tk.index "d1" : i64\n%5, %6 = tk.argreduce max %0 at %i over [1] : f32\n'
WALKED = {
    # ops, their axes, and whether some scan, sort and fold
    "a load": ("", "", (False, False, False)),
    "a store that adds": (store("0", "0, 0", " over [0] combine add"), "", (False, False, False)),
    "a search": (LAST, "1", (False, False, True)),
    "a scan": (SCAN, "1", (True, False, False)),
    "a sort": (SORT, "0", (False, True, False)),
    "a scan and a sort": (SCAN + SORT, "1 0", (True, True, False)),
    "all": (SCAN + LAST + SORT + SUM, "1 0 01", (True, True, True)),
}


@pytest.mark.parametrize("case", WALKED.values(), ids=WALKED)
def test_one_walk_finds(case: tuple[str, str, tuple[bool, ...]]) -> None:
    ops, axes, flags = case
    over = {tuple(map(int, each)) for each in axes.split()}
    kernel = kernel_of(LOAD + ops)
    found = Bodies().of(kernel)
    assert (found.block, found.ops) == (kernel.body.block, len(list(kernel.body.block.ops)))
    assert (found.over, found.reduced) == (over, {int(axis) for axis in axes.replace(" ", "")})
    assert (found.scans, found.sorts, found.folds, found.uniform) == (*flags, len(over) < 2)


def test_a_walk_is_remembered_until_the_body_changes() -> None:
    bodies, kernel = Bodies(), kernel_of(LOAD + load("1", "d0, 0", "b") + store("0") + store("1", "d0, 1"))
    first, second, *stores = kernel.body.block.ops
    known = bodies.of(kernel)
    assert bodies.of(kernel) is known
    assert (known.loads, known.stores) == ((first, second), tuple(stores))
    kernel.body.block.erase_op(stores[0])
    assert len(bodies.of(kernel).stores) == 2  # nobody said so
    bodies.changed(kernel)
    bodies.changed(kernel_of(LOAD))  # which was never asked for
    assert bodies.of(kernel).stores == (stores[1],)


def test_two_have_together_what_is_left_of_both() -> None:
    bodies, first = Bodies(), kernel_of(LOAD + SORT + store("0") + store("3"))
    second, made, nothing = kernel_of(LOAD + SCAN + store("2")), kernel_of(LOAD), kernel_of("")
    of_first, of_second = bodies.of(first), bodies.of(second)
    bodies.merged((first, second), made, (of_first.stores[0], of_second.loads[0]), frozenset({8, 1}))
    kept = 5, of_first.loads, (of_first.stores[1], *of_second.stores), frozenset({(1, 8)})
    assert bodies.of(made) == Contents(made.body.block, *kept, scans=True, sorts=True, folds=False)
    assert bodies.of(first) is not of_first  # it is walked again
    assert bodies.of(nothing).ops == 0
    bodies.merged((made, nothing), second, (), frozenset())
    assert (bodies.of(second).ops, bodies.of(second).over) == (5, frozenset())


def test_scans_join_others_where_lanes_scan_together() -> None:
    plain, scans = Bodies().of(kernel_of(LOAD)), Bodies().of(kernel_of(LOAD + SCAN))
    pairs = (plain, plain), (plain, scans), (scans, plain)
    assert [Bodies().may_scan(*pair) for pair in pairs] == [True, False, False]
    assert Bodies(scans_join=True).may_scan(scans, scans)


PRODUCTS = {
    # sizes, where the factors and the sum are; whether it is a contraction, and tiled
    "of matrices": ("4, 6, 5", "d0, d2", "d2, d1", "d0, d1", True, True),
    "of images, tap by tap": ("4, 6, 3", "d0 + d2, d1", "d2, d1", "d0, d1", False, True),
    "of a vector and a matrix": ("4, 6, 6", "0, d2", "d0, d2", "d0, 0", False, False),
    "of a vector and groups": ("4, 2, 3", "d1, d2", "d0, d1*3 + d2", "d0, 0", False, True),
    "that is walked again": ("4, 6, 5", "d0, d2", "d2, d1", "d0, d1 + d2", False, False),
}


@pytest.mark.parametrize("case", PRODUCTS.values(), ids=PRODUCTS)
def test_what_tiles_sum(case: tuple[str, str, str, str, bool, bool]) -> None:
    sizes, left, right, place, product, tiled = case
    over = "1, 2" if left == "d1, d2" else "2"
    summed = f"%2 = arith.mulf %0, %1 : f32\n%3 = tk.reduce add %2 over [{over}] : f32\n"
    kernel = kernel_of(load("0", left) + load("1", right, "b") + summed + store("3", place), sizes)
    found = Bodies().of(kernel)
    assert (found.contraction is not None, found.tiled) == (product, tiled)
