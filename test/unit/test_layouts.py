"""Layouts say where elements lie: what views do to them is what views of NumPy do to places."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from layout_text import layout_of, text_of

from tilewright.dialects.index_expr import Expr, Var, as_expr, format_exprs, parse_exprs
from tilewright.passes.memory.layouts import (
    Layout,
    broadcast,
    coalesced,
    dense,
    dense_order,
    inverse,
    last_dims,
    overlaps_itself,
    reshaped,
    reversed_,
    same_place,
    same_strides,
    sliced,
    transposed,
    windows,
)

BASES = {
    "dense": "3, 4, 5 at 0 by 20, 5, 1",
    "in columns": "3, 4, 5 at 0 by 1, 3, 12",
    "with gaps": "3, 4, 5 at 7 by 100, 8, 1",
    "repeated": "3, 4, 5 at 2 by 0, 5, 1",
    "backwards": "3, 4, 5 at 59 by -20, -5, -1",
    "in part backwards": "3, 4, 5 at 15 by 20, -5, 1",
    "one number": "1, 1, 1 at 3 by 1, 1, 1",
    "one in between": "3, 1, 20 at 0 by 20, 7, 1",
    "one row": "1, 4, 5 at 0 by 7, 5, 1",
}


def places(layout: Layout) -> np.ndarray:
    """Of each element."""
    sizes, strides = (numbers(exprs) for exprs in (layout.sizes, layout.strides))
    (offset,) = numbers([layout.offset])
    where = np.full(sizes, offset)
    for step, index in zip(strides, np.indices(sizes), strict=True):
        where = where + step * index
    return where


def numbers(exprs: Sequence[Expr], s0: int = 3) -> list[int]:
    return [expr.evaluate({Var("s", 0): s0, Var("s", 1): 4}) for expr in exprs]


def exprs(*values: int) -> tuple[Expr, ...]:
    return tuple(map(as_expr, values))


VIEWS: dict[str, tuple[Callable[[Layout], Layout | None], Callable[[np.ndarray], np.ndarray]]] = {
    "transposed": (lambda x: transposed(x, (2, 0, 1)), lambda x: x.transpose(2, 0, 1)),
    "transposed back": (lambda x: transposed(x, inverse((2, 0, 1))), lambda x: x.transpose(1, 2, 0)),
    "its last rows": (lambda x: last_dims(x, 2), lambda x: x[0]),
    "reversed": (lambda x: reversed_(x, (0, 2)), lambda x: x[::-1, :, ::-1]),
    "reversed twice": (lambda x: reversed_(reversed_(x, (0, 2)), (2, 1)), lambda x: x[::-1, ::-1]),
    "in rows": (lambda x: transposed(reversed_(x, (1,)), (1, 0, 2)), lambda x: x[:, ::-1].transpose(1, 0, 2)),
}


def strides_say(layout: Layout) -> None:
    """What is said to go backwards does."""
    assert layout.backwards == {d for d, step in enumerate(numbers(layout.strides)) if step < 0}


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@pytest.mark.parametrize(("view", "expected"), VIEWS.values(), ids=VIEWS)
def test_views(
    view: Callable[[Layout], Layout | None], expected: Callable[[np.ndarray], np.ndarray], base: str
) -> None:
    layout = layout_of(base)
    found = view(layout)
    assert found is not None
    np.testing.assert_array_equal(places(found), expected(places(layout)))
    strides_say(found)


@pytest.mark.parametrize("base", [text for name, text in BASES.items() if "one" not in name])
def test_parts(base: str) -> None:
    layout = layout_of(base)
    found = sliced(layout, exprs(1, 0, 2), exprs(1, 2, 2), exprs(2, 2, 2))
    np.testing.assert_array_equal(places(found), places(layout)[1:, ::2, 2::2])
    strides_say(found)


@pytest.mark.parametrize("base", [text for name, text in BASES.items() if "one" not in name])
def test_windows(base: str) -> None:
    layout = layout_of(base)
    found = windows(layout, (1, 2), (2, 2), (2, 1), (1, 2), exprs(3, 2, 3, 2, 2))
    all_windows = np.lib.stride_tricks.sliding_window_view(places(layout), (2, 3), (1, 2))
    np.testing.assert_array_equal(places(found), all_windows[:, ::2, :, :, ::2])
    strides_say(found)


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_broadcasts(base: str) -> None:
    layout = layout_of(base)
    sizes = (2, *(max(n, 3) for n in numbers(layout.sizes)))
    found = broadcast(layout, (1, 2, 3), exprs(*sizes))
    np.testing.assert_array_equal(places(found), np.broadcast_to(places(layout), sizes))
    strides_say(found)


def shapes_of(count: int) -> list[tuple[int, ...]]:
    """Sizes of up to three dims with so many elements, and some of more that have one element."""
    pairs = [(a, count // a) for a in range(1, count + 1) if count % a == 0]
    triples = [(a, *pair) for a, b in pairs for pair in [(n, b // n) for n in range(1, b + 1) if b % n == 0]]
    return [(count,), *pairs, *triples, (1, count, 1, 1), *((1, *triple, 1) for triple in triples[::7])]


def viewed(layout: Layout, shape: tuple[int, ...]) -> np.ndarray | None:
    """The places of the elements in another shape, None where NumPy would have to copy."""
    memory = np.arange(1000)
    sizes, strides = (numbers(values) for values in (layout.sizes, layout.strides))
    (offset,) = numbers([layout.offset])
    view = np.lib.stride_tricks.as_strided(memory[offset:], sizes, [8 * step for step in strides])
    try:
        return np.reshape(view, shape, copy=False)
    except ValueError:
        return None


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_reshapes_are_views_where_strides_can_say_so(base: str) -> None:
    layout = layout_of(base)
    for shape in shapes_of(int(np.prod(numbers(layout.sizes)))):
        found, expected = reshaped(layout, exprs(*shape)), viewed(layout, shape)
        assert (found is None) == (expected is None), shape
        if found is not None:
            np.testing.assert_array_equal(places(found), places(layout).reshape(shape), str(shape))
            strides_say(found)


@pytest.mark.parametrize(
    ("base", "sizes", "expected"),
    [
        ("s0, 4 at s1 by 4, 1", "s0*4", "s0*4 at s1 by 1"),
        ("s0, 4 at 0 by 4, 1", "s0*2, 2", "s0*2, 2 at 0 by 2, 1"),
        ("s0, 4 at 0 by 4, 1", "1, s0*4", "1, s0*4 at 0 by s0*4, 1"),
        ("s0*2, 3 at 0 by 8, 1", "s0, 2, 3", "s0, 2, 3 at 0 by 16, 8, 1"),
        ("s0, s1 at 0 by s1, 1", "s0*s1", "s0*s1 at 0 by 1"),
        ("s0, s1 at 0 by 1, s0", "s0*s1", None),
        ("s0, 4 at 0 by 8, 1", "s0*4", None),
        ("s0, 4 at 0 by 4, 1", "s1, 4", None),
        ("s0, 4 at 0 by 4, 1", "s0", None),
        ("4 at 0 by 1", "s0, 4", None),
        ("0, 4 at 5 by 1, 9", "2, 0, 3", "2, 0, 3 at 5 by 3, 3, 1"),
    ],
)
def test_reshapes_of_sizes_that_only_the_run_knows(base: str, sizes: str, expected: str | None) -> None:
    found = reshaped(layout_of(base), parse_exprs(sizes))
    assert (found and text_of(found)) == expected


@pytest.mark.parametrize(
    ("base", "sizes", "dims", "strides"),
    [
        ("s0, 1, 4 at 0 by 4, 4, 1", "s1, s0, 3, 4", (1, 2, 3), "0, 4, 0, 1"),
        ("s0, 4 at 0 by 4, -1", "s0, 2, 4", (0, 2), "4, 0, -1"),
    ],
)
def test_what_grows_repeats(base: str, sizes: str, dims: tuple[int, ...], strides: str) -> None:
    found = broadcast(layout_of(base), dims, parse_exprs(sizes))
    assert format_exprs(found.strides) == strides
    strides_say(found)


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ("3, 5 at 0 by 5, 1", (0, 1)),
        ("3, 5 at 9 by 1, 3", (1, 0)),
        ("2, 1, 4, 3 at 0 by 12, 7, 1, 4", (1, 0, 3, 2)),
        ("s0, s1, 2 at 0 by 2, s0*2, 1", (1, 0, 2)),
        ("1, 1 at 0 by 9, 9", (0, 1)),
        ("3, 5 at 0 by 6, 1", None),
        ("3, 5 at 0 by 0, 1", None),
        ("3, 5 at 0 by 4, 1", None),
        ("3, 5 at 14 by -5, -1", None),
        ("3, 5 at 0 by 10, 2", None),
        ("s0, 5 at 0 by s1, 1", None),
    ],
)
def test_order_of_dims_without_gaps(layout: str, expected: tuple[int, ...] | None) -> None:
    assert dense_order(layout_of(layout)) == expected


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ("3, 5 at 0 by 5, 1", True),
        ("3, 1 at 0 by 1, 9", True),
        ("0, 5 at 0 by 9, 9", True),
        ("3, 5 at 2 by 5, 1", False),
        ("3, 5 at 0 by 1, 3", False),
    ],
)
def test_dense(layout: str, expected: bool) -> None:
    found = layout_of(layout)
    assert found.is_dense == expected
    assert dense(found.sizes).is_dense
    assert same_place(found, dense(found.sizes)) == expected


def test_only_the_same_sizes_are_the_same_place() -> None:
    assert not same_place(layout_of("3, 5 at 0 by 5, 1"), layout_of("3, 4 at 0 by 5, 1"))


@pytest.mark.parametrize(
    ("sizes", "one", "other", "expected"),
    [
        ("3, 5", "5, 1", "5, 1", True),
        ("3, 5", "5, 1", "5, 2", False),
        ("1, 5", "5, 1", "7, 1", True),
        ("s0, 5", "5, 1", "7, 1", False),
        ("s0, 0", "5, 1", "7, 1", True),
    ],
)
def test_strides_matter_where_there_are_steps(sizes: str, one: str, other: str, expected: bool) -> None:
    assert same_strides(*map(parse_exprs, (sizes, one, other))) == expected


@pytest.mark.parametrize(
    ("sizes", "strides", "expected"),
    [("3, 5", "0, 1", True), ("3, 1", "1, 0", False), ("3, 5", "5, 1", False), ("s0, 5", "0, 1", True)],
)
def test_what_overlaps_itself(sizes: str, strides: str, expected: bool) -> None:
    assert overlaps_itself(parse_exprs(sizes), parse_exprs(strides)) == expected


@pytest.mark.parametrize(
    ("layouts", "expected"),
    [
        (["3, 4, 5 at 0 by 20, 5, 1", "3, 4, 5 at 2 by 20, 5, 1"], ["60 at 0 by 1", "60 at 2 by 1"]),
        (
            ["3, 4, 5 at 0 by 20, 5, 1", "3, 4, 5 at 2 by 40, 5, 1"],
            ["3, 20 at 0 by 20, 1", "3, 20 at 2 by 40, 1"],
        ),
        (
            ["3, 4, 5 at 0 by 20, 5, 1", "3, 4, 5 at 0 by 1, 3, 12"],
            ["3, 4, 5 at 0 by 20, 5, 1", "3, 4, 5 at 0 by 1, 3, 12"],
        ),
        (["3, 1, 5 at 0 by 5, 9, 1", "3, 1, 5 at 4 by 5, 1, 1"], ["15 at 0 by 1", "15 at 4 by 1"]),
        (["s0, 4 at 0 by 4, 1"], ["s0*4 at 0 by 1"]),
        (["1, 1 at 3 by 4, 1"], [" at 3 by "]),
    ],
)
def test_dims_that_are_one_in_all_layouts(layouts: list[str], expected: list[str]) -> None:
    found = coalesced(tuple(map(layout_of, layouts)))
    assert list(map(text_of, found)) == expected
    for old, new in zip(layouts, found, strict=True):
        np.testing.assert_array_equal(places(new).ravel(), places(layout_of(old)).ravel())


def test_where_an_element_lies() -> None:
    layout = layout_of("3, 5 at s0 by 5, 1")
    assert numbers([layout.flat(exprs(2, 3))]) == [16]
    assert str(layout.flat(parse_exprs("d0, 0"))) == str(parse_exprs("d0*5 + s0")[0])
