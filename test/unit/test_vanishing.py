"""Kernels need not run where each of their readers computes what they make while it waits for memory."""

from __future__ import annotations

from itertools import pairwise

import pytest
from kernels_harness import Kernel, differences, kernels_of, module_of

from tilewright.passes.fusion.contents import Bodies
from tilewright.passes.fusion.vanishing import enlarges, vanishes

EXP = "%1 = math.exp %0 : f32"
SQUARE = "f32 6, 6"


def works(ops: int) -> str:
    """So many exponentials, one of the other, to `%1`: 15 each."""
    names = ["%0", *(f"%w{i}" for i in range(1, ops)), "%1"]
    return "\n".join(f"{new} = math.exp {old} : f32" for old, new in pairwise(names))


def maker(ops: str = EXP, at: str = "d0, d1", sizes: str = "6, 6") -> Kernel:
    return sizes, f"%0 = load x[d0, d1]\n{ops}\nstore %1, p[{at}]"


def reader(name: str, read: str = "p[d0, d1]", sizes: str = "6, 6") -> Kernel:
    return sizes, f"%0 = load {read}\nstore %0, {name}[d0, d1]"


def vanishing(kernels: list[Kernel], returned: str, **tensors: str) -> bool:
    types = {**dict.fromkeys(("x", "p", "r", "t"), SQUARE), **tensors}
    first, *_ = kernels_of(module_of(types, kernels, returned))
    return vanishes(first, Bodies(), 128)


def test_each_reader_computes_it() -> None:
    assert vanishing([maker(), reader("r")], "r")
    assert vanishing([maker(), reader("r"), reader("t", "p[d1, d0]")], "r t")


def test_nobody_else_may_need_it_in_memory() -> None:
    assert not vanishing([maker(), reader("r")], "r p")
    assert not vanishing([maker()], "p")


PRODUCT: Kernel = (
    "6, 6, 6",
    """%0 = load p[d0, d2]
    %1 = load x[d2, d1]
    %2 = arith.mulf %0, %1 : f32
    %3 = tk.reduce add %2 over [2] : f32
    store %3, t[d0, d1]""",
)


def test_products_do_not_wait_for_memory() -> None:
    assert not vanishing([maker(), PRODUCT], "t")
    assert not vanishing([maker(), reader("r"), PRODUCT], "r t")


REFUSED = {
    "its rows are summed": maker("%1 = tk.reduce add %0 over [1] : f32"),
    "it has gaps": maker(at="d0*2, d1", sizes="3, 6"),
    "it is stored in part": ("6, 6", f"%0 = load x[d0, d1]\n%m = arith.constant true\n{EXP}\n"
                             "store %1, p[d0, d1] if %m"),
}  # fmt: skip


@pytest.mark.parametrize("kernel", REFUSED.values(), ids=REFUSED)
def test_it_must_be_known_what_makes_an_element(kernel: Kernel) -> None:
    assert not vanishing([kernel, reader("r")], "r")


LOOKED_UP = """%i = load n[d0, d1]
    %j = arith.index_cast %i : i64 to index
    %0 = load p[i0, d1](%j)
    %1 = load p[d0, d1]
    %2 = arith.addf %0, %1 : f32
    store %2, r[d0, d1]"""


@pytest.mark.parametrize(("place", "done"), [("d0*3", True), ("d0 mod 3", False)])
def test_it_must_be_known_where_it_is_read(place: str, done: bool) -> None:
    """What is made of its position may only be multiplied where that stands in memory."""
    index = f'%2 = tk.index "{place}" : i64\n%1 = arith.sitofp %2 : i64 to f32'
    assert vanishing([maker(index), ("6, 6", LOOKED_UP)], "r", n="i64 6, 6") == done


def test_readers_compute_no_more_than_hides_behind_memory() -> None:
    """Half of 16 for each of 8 bytes that a reader moves: four exponentials of 15 for each element."""
    assert vanishing([maker(works(4)), reader("r")], "r")
    assert not vanishing([maker(works(5)), reader("r")], "r")
    assert vanishing([maker(works(4)), reader("r"), reader("t")], "r t"), (
        "each has its own memory to wait for"
    )
    assert vanishing([maker(works(25)), reader("r", "p[d0, 0]")], "r"), "a column is computed once per row"
    assert not vanishing([maker(works(26)), reader("r", "p[d0, 0]")], "r")


@pytest.mark.parametrize(("ops", "done"), [(2, True), (3, False)])
def test_each_load_is_computed(ops: int, done: bool) -> None:
    twice = (
        "6, 6",
        "%0 = load p[d0, d1]\n%1 = load p[d1, d0]\n%2 = arith.addf %0, %1 : f32\nstore %2, r[d0, d1]",
    )
    assert vanishing([maker(works(ops)), twice], "r") == done


@pytest.mark.parametrize(("ops", "done"), [(4, True), (5, False)])
def test_all_results_that_a_reader_computes_count(ops: int, done: bool) -> None:
    name, body = maker(works(ops))
    both = name, f"{body}\n%z = arith.negf %1 : f32\nstore %z, q[d0, d1]"
    reads = "6, 6", "%0 = load p[d0, d1]\n%1 = load q[d0, d1]\nstore %0, r[d0, d1]\nstore %1, t[d0, d1]"
    assert vanishing([both, reads], "r t", q=SQUARE) == done


def test_results_that_nobody_reads_do_not_count() -> None:
    beside = maker(f"{EXP}\n%2 = tk.reduce add %0 over [1] : f32\nstore %2, q[d0]")
    assert vanishing([beside, reader("r")], "r", q="f32 6")


@pytest.mark.parametrize(("size", "ops", "done"), [(4096, 1, True), (8192, 1, False), (4096, 4, False)])
def test_programs_compute_it_for_themselves(size: int, ops: int, done: bool) -> None:
    """Each row of a sum of differences has its own negated numbers: 60 million take the time of a launch."""
    steps = "\n".join(f"%{n} = arith.negf %{n - 1} : f32" for n in range(1, ops + 1))
    negated = f"{size}", f"%0 = load x[d0]\n{steps}\nstore %{ops}, p[d0]"
    assert vanishing([negated, differences(size)], "r", **dict.fromkeys("xypr", f"f32 {size}")) == done


@pytest.mark.parametrize(("rows", "done"), [(256, True), (257, False)])
def test_what_is_large_stays(rows: int, done: bool) -> None:
    """More than a megabyte."""
    sizes = f"{rows}, 1024"
    large = dict.fromkeys("xpr", f"f32 {sizes}")
    assert vanishing([maker(sizes=sizes), reader("r", sizes=sizes)], "r", **large) == done


PAIRS = "512, 1024"
DIFFERENCES: Kernel = (
    PAIRS,
    "%0 = load x[d0]\n%1 = load y[d1]\n%2 = arith.subf %0, %1 : f32\nstore %2, p[d0, d1]",
)
LARGE = {"x": "f32 512", "y": "f32 1024", **dict.fromkeys("pr", f"f32 {PAIRS}")}


def test_what_is_large_and_enlarges_what_it_reads_need_not() -> None:
    assert vanishing([DIFFERENCES, reader("r", sizes=PAIRS)], "r", **LARGE)


@pytest.mark.parametrize(("also", "done"), [("", False), ("%z = load x[d0, d1 floordiv 2]\n", True)])
def test_but_its_readers_read_no_more_for_it(also: str, done: bool) -> None:
    """Half as many numbers of f64 as it has of f32 are more bytes, but for those who have them anyway."""
    cast = PAIRS, "%0 = load x[d0, d1 floordiv 2]\n%1 = arith.truncf %0 : f64 to f32\nstore %1, p[d0, d1]"
    space, body = reader("r", sizes=PAIRS)
    large = {**LARGE, "x": "f64 512, 600"}
    assert vanishing([cast, (space, also + body)], "r", **large) == done


@pytest.mark.parametrize(("times", "done"), [(1, True), (2, True), (3, False), (4, False)])
def test_enlarging_is_to_make_more_than_any_input_has(times: int, done: bool) -> None:
    types = {"x": "f32 18", "p": "f32 3, 18"}
    (kernel,) = kernels_of(module_of(types, [("3, 18", "%0 = load x[d1]\nstore %0, p[d0, d1]")], "p"))
    assert enlarges(kernel, times) == done


def test_all_results_are_more_than_each_input() -> None:
    types = {"x": "f32 8", "y": "f32 20", "p": "f32 3, 8", "q": "f32 8"}
    of_x, of_y = "%0 = load x[d1]\nstore %0, p[d0, d1]", "%1 = load y[d0]\nstore %1, p[d0, d1]"
    both = f"{of_x}\nstore %0, q[d1]"
    (one,) = kernels_of(module_of(types, [("3, 8", of_x)], "p"))
    (two,) = kernels_of(module_of({**types, "y": "f32 24"}, [("3, 8", f"{of_x}\n{of_y}")], "p"))
    (less,) = kernels_of(module_of(types, [("3, 8", both)], "p q"))
    (nothing,) = kernels_of(
        module_of(types, [("3, 8", "%0 = arith.constant 1.0 : f32\nstore %0, p[d0, d1]")], "p")
    )
    assert [enlarges(kernel) for kernel in (one, two, less, nothing)] == [True, False, False, True]
