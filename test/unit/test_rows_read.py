"""What is made with the result of a reduction, and which slices of those rows are read."""

from __future__ import annotations

import pytest
from kernels_harness import Kernel, kernels_of, module_of

from tilewright.passes.reductions.rows_read import RowsRead, reduced_axis

SUM: Kernel = ("4, 32", "%0 = load x[d0, d1]\n%1 = tk.reduce add %0 over [1] : f32\nstore %1, m[d0]")
LESS: Kernel = (
    "4, 32",
    "%0 = load x[d0, d1]\n%1 = load m[d0]\n%2 = arith.subf %0, %1 : f32\nstore %2, p[d0, d1]",
)
TURNED: Kernel = (
    "32, 4",
    "%0 = load x[d1, d0]\n%1 = load m[d1]\n%2 = arith.subf %0, %1 : f32\nstore %2, q[d0, d1]",
)
SQUARES: Kernel = (
    "4, 32",
    "%0 = load p[d0, d1]\n%1 = math.absf %0 : f32\n%2 = tk.reduce add %1 over [1] : f32\nstore %2, s[d0]",
)
FLAT: Kernel = ("128", "%0 = load p[d0 floordiv 32, d0 mod 32]\nstore %0, f[d0]")


def part(start: str, to: str, count: int = 16) -> Kernel:
    return f"4, {count}", f"%0 = load p[d0, {start}]\n%1 = math.exp %0 : f32\nstore %1, {to}[d0, d1]"


FIRST, SECOND = part("d1", "a"), part("d1 + 16", "b")
EVEN, ODD = part("d1*2", "a"), part("d1*2 + 1", "b")
BACKWARDS = part("-d1 + 15", "a")
SHORT = part("d1", "e", 4)
TENSORS = {name: "f32 4, 16" for name in "ab"} | {
    "x": "f32 4, 32",
    "m": "f32 4",
    "s": "f32 4",
    "p": "f32 4, 32",
    "q": "f32 32, 4",
    "f": "f32 128",
    "e": "f32 4, 4",
}


def followed(*bodies: Kernel, returned: str) -> tuple[RowsRead, str | None]:
    """What is made with the sum of each row, found in the kernels that follow."""
    first, *_ = kernels_of(module_of(TENSORS, [SUM, *bodies], returned))
    read = RowsRead(32, most=4)
    return read, read.follow(first.results)


@pytest.mark.parametrize(
    ("parts", "places"),
    [((FIRST, SECOND), ["d1", "d1 + 16"]), ((EVEN, ODD), ["d1*2", "d1*2 + 1"])],
    ids=["halves", "every second"],
)
def test_slices_that_make_up_rows(parts: tuple[Kernel, Kernel], places: list[str]) -> None:
    read, why = followed(LESS, *parts, returned="a b")
    assert why is None
    assert [axis for axis in read.walked.values()] == [1]
    assert {(s.count, s.start) for s in read.slices} == {(16, 0), (16, 16 if parts[1] is SECOND else 1)}
    assert [str(place) for place in read.places(1) or ()] == places


def test_half_of_the_rows_makes_up_none() -> None:
    read, why = followed(LESS, FIRST, returned="a")
    assert (why, read.places(1)) == (None, None)


def test_a_tensor_may_lie_turned() -> None:
    read, why = followed(TURNED, returned="q")
    assert why is not None  # the program returns whole rows
    assert read.along == {v: d for v, d in zip(read.along, (None, 0), strict=True)}
    assert [*read.walked.values()] == [0]


def test_a_reduction_of_whole_rows_is_noted_and_followed() -> None:
    read, why = followed(LESS, SQUARES, FIRST, SECOND, returned="s a b")
    assert why is None
    assert [*read.reducers.values()] == [1]
    assert len(read.slices) == 2
    assert len(read.along) == 3


@pytest.mark.parametrize(
    ("bodies", "returned", "why"),
    [
        ((LESS,), "p", "func.return reads whole rows"),
        ((LESS, BACKWARDS), "a", "elements of rows are read in another order"),
        ((LESS, SHORT), "e", "elements of rows are read in another order"),
        ((LESS, FLAT), "f", "elements of rows are read in another order"),
    ],
    ids=["returned", "backwards", "no vector", "merged with rows"],
)
def test_what_is_read_otherwise(bodies: tuple[Kernel, ...], returned: str, why: str) -> None:
    assert followed(*bodies, returned=returned)[1] == why


def test_no_further_than_so_many_kernels() -> None:
    chain = [
        ("4, 32", f"%0 = load {a}[d0, d1]\n%1 = math.exp %0 : f32\nstore %1, {b}[d0, d1]")
        for a, b in zip("pghij", "ghijk", strict=True)
    ]
    tensors = TENSORS | {name: "f32 4, 32" for name in "ghijk"}
    first, *_ = kernels_of(module_of(tensors, [SUM, LESS, *chain], "k"))
    assert RowsRead(32, most=4).follow(first.results) == "more than 4 kernels make rows with it"


@pytest.mark.parametrize(
    ("body", "returned", "axis"),
    [(SUM, "m", 1), (SQUARES, "s", 1), (LESS, "p", None)],
    ids=["sum", "of squares", "none"],
)
def test_the_axis_that_a_kernel_reduces(body: Kernel, returned: str, axis: int | None) -> None:
    (kernel,) = kernels_of(module_of(TENSORS, [body], returned))
    assert reduced_axis(kernel) == axis


def test_two_reductions_or_a_store_along_one_are_none() -> None:
    twice = (SUM[0], SUM[1] + "\n%2 = tk.reduce max %0 over [1] : f32\nstore %2, s[d0]")
    beside = (SUM[0], SUM[1] + "\nstore %0, p[d0, d1]")
    for body, returned in ((twice, "m s"), (beside, "m p")):
        (kernel,) = kernels_of(module_of(TENSORS, [body], returned))
        assert reduced_axis(kernel) is None
