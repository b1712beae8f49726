"""Kernels that could share their loops stay apart where too few rows, or strides, would cost more."""

from __future__ import annotations

import pytest
from kernels_harness import Kernel, kernels_of, module_of

from tilewright.passes.fusion.contents import Bodies
from tilewright.passes.fusion.drawback import drawback
from tilewright.passes.fusion.match import Match, match

Case = tuple[dict[str, str], Kernel, Kernel]


def case(shape: tuple[int, int], producer: str, consumer: str) -> Case:
    """`p` is made of `x`; `r` of both. Both have the same space."""
    rows, columns = shape
    space = f"{rows}, {columns}"
    sizes = {"[d0, d1]": space, "[d0]": str(rows), "[d1]": str(columns), "[]": ""}
    tensors = {"x": f"f32 {space}"}
    for name, body in (("p", producer), ("r", consumer)):
        place = body.rpartition(f", {name}")[2].strip()
        tensors[name] = f"f32 {sizes[place]}".strip()
    return tensors, (space, producer), (space, consumer)


SQUARE = "%0 = load x[d0, d1]\n%1 = arith.mulf %0, %0 : f32\n"
ROWS, COLUMNS, ALL = (f"%2 = tk.reduce add %1 over [{axes}] : f32\n" for axes in ("1", "0", "0, 1"))
LESS = "%0 = load x[d0, d1]\n%1 = load p{place}\n%3 = arith.subf %0, %1 : f32\n"
SUM = "%0 = load p[d0, d1]\n%1 = math.exp %0 : f32\n"
STORE_P = "store %1, p[d0, d1]"
WIDE = (1, 1 << 16)
LONG = (1 << 16, 8)

MERGED: dict[str, Case] = {
    "rows, and each of their elements": case(
        (64, 4096), f"{SQUARE}{ROWS}store %2, p[d0]", f"{LESS.format(place='[d0]')}store %3, r[d0, d1]"
    ),
    "what reduces nothing": case(WIDE, f"{SQUARE}{STORE_P}", f"{SUM}store %1, r[d0, d1]"),
    "little work, however few rows": case(
        (1, 64), f"{SQUARE}{ROWS}store %2, p[d0]", f"{LESS.format(place='[d0]')}store %3, r[d0, d1]"
    ),
    "long columns that are walked once": case(
        LONG,
        f"{SQUARE}{COLUMNS}store %2, p[d1]",
        "%0 = load x[d0, d1]\n%1 = math.absf %0 : f32\n%2 = tk.reduce max %1 over [0] : f32\n"
        "%3 = load p[d1]\n%4 = arith.divf %2, %3 : f32\nstore %4, r[d1]",
    ),
    "columns that are short": case(
        (32, 4096), f"{SQUARE}{COLUMNS}store %2, p[d1]", f"{LESS.format(place='[d1]')}store %3, r[d0, d1]"
    ),
}
APART: dict[str, tuple[Case, str]] = {
    "one row of much work, where elements are alone": (
        case(WIDE, f"{SQUARE}{STORE_P}", f"{SUM}{ROWS}store %2, r[d0]"),
        "the merged kernel would have only 1 independent rows",
    ),
    "long columns that are summed when their largest is known": (
        case(
            LONG,
            f"{SQUARE}{COLUMNS}store %2, p[d1]",
            f"{LESS.format(place='[d1]')}%4 = tk.reduce add %3 over [0] : f32\nstore %4, r[d1]",
        ),
        "its reduction runs across rows, which would be walked twice with a stride",
    ),
    "long columns that are walked twice": (
        case(LONG, f"{SQUARE}{COLUMNS}store %2, p[d1]", f"{LESS.format(place='[d1]')}store %3, r[d0, d1]"),
        "its reduction runs across rows, which would be walked twice with a stride",
    ),
}


def found(which: Case, *, parts: bool = False, column: int = 64) -> str | None:
    tensors, *kernels = which
    producer, consumer = kernels_of(module_of(tensors, kernels, "r"))
    bodies = Bodies(parts=parts, column=column)
    matched = match(producer, consumer, bodies, {})
    assert isinstance(matched, Match), matched
    return drawback(producer, consumer, bodies, matched)


@pytest.mark.parametrize("which", MERGED.values(), ids=MERGED)
def test_nothing_speaks_against_it(which: Case) -> None:
    assert found(which) is None


@pytest.mark.parametrize(("which", "why"), APART.values(), ids=APART)
def test_it_would_be_slower(which: Case, why: str) -> None:
    assert found(which) == why


def test_one_row_is_summed_in_parts_where_the_target_splits_sums() -> None:
    which, why = APART["one row of much work, where elements are alone"]
    assert found(which, parts=True) == why  # it is too short to be split
    longer = case((1, 1 << 18), f"{SQUARE}{STORE_P}", f"{SUM}{ROWS}store %2, r[d0]")
    assert found(longer, parts=True) is None
    assert found(longer) == why
    position = '%i = tk.index "d1" : i64\n%2, %3 = tk.argreduce max %1 at %i over [1] : f32\n'
    largest = case((1, 1 << 18), f"{SQUARE}{STORE_P}", f"{SUM}{position}store %2, r[d0]")
    assert found(largest, parts=True) == why


def test_long_columns_are_near_where_a_program_holds_them() -> None:
    which, why = APART["long columns that are walked twice"]
    assert found(which, column=1 << 16) is None
    assert found(which, column=(1 << 16) - 1) == why
