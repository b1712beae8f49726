"""What lies between products is found from the first of them on, and what else reads it is said."""

from __future__ import annotations

import pytest
from kernels_harness import Kernel, kernels_of, module_of

from tilewright.dialects.index_expr import Var, dim
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.products.product_region import Region, find_region

TENSORS = {
    **{"q": "f32 6, 4", "k": "f32 7, 4", "v": "f32 7, 5", "g": "f32 6, 5", "l": "f32 6", "t": "f32 6"},
    **dict.fromkeys(("s", "p", "d", "h", "w", "m", "n", "o"), "f32 6, 7"),
    **{"dv": "f32 7, 5", "dq": "f32 6, 4", "dk": "f32 7, 4", "rows": "f32 6", "cols": "f32 7"},
    "c": "f32 6, 7, 3",
}


def product(made: str, sizes: str, left: str, right: str) -> Kernel:
    """A sum over d2 of `left` and `right`, for d0 and d1."""
    return (
        sizes,
        f"""%0 = load {left}
        %1 = load {right}
        %2 = arith.mulf %0, %1 : f32
        %3 = tk.reduce add %2 over [2] : f32
        store %3, {made}[d0, d1]""",
    )


def pairs(made: str, op: str, *read: str) -> Kernel:
    """Of each row and column, what `op` makes of `%0` and what else is read."""
    loads = "\n".join(f"%{n} = load {place}" for n, place in enumerate(read))
    return "6, 7", f"{loads}\n%z = {op} : f32\nstore %z, {made}[d0, d1]"


SUB, MUL, EXP = "arith.subf %0, %1", "arith.mulf %0, %1", "math.exp %0"
SCORES = product("s", "6, 7, 4", "q[d0, d2]", "k[d1, d2]")
WEIGHTS = pairs("p", SUB, "s[d0, d1]", "l[d0]")
GRAD_V = product("dv", "7, 5, 6", "p[d2, d0]", "g[d2, d1]")
OTHER = product("h", "6, 7, 5", "g[d0, d2]", "v[d1, d2]")
GRAD_S = pairs("d", MUL, "p[d0, d1]", "h[d0, d1]")
GRAD_Q = product("dq", "6, 4, 7", "d[d0, d2]", "k[d2, d1]")
GRAD_K = product("dk", "7, 4, 6", "d[d2, d0]", "q[d2, d1]")
ALL = (SCORES, WEIGHTS, GRAD_V, OTHER, GRAD_S, GRAD_Q, GRAD_K)


def names(kernels: list[KernelOp] | frozenset[KernelOp]) -> set[str]:
    return {kernel.results[0].name_hint or "" for kernel in kernels}


def region_of(*kernels: Kernel, returned: str, **tensors: str) -> Region:
    """The region of the first kernel that makes `%s`."""
    found = kernels_of(module_of({**TENSORS, **tensors}, kernels, returned))
    (scores,) = (kernel for kernel in found if kernel.results[0].name_hint == "s")
    region = find_region(scores)
    assert region is not None
    return region


def test_gradients_of_attention() -> None:
    region = region_of(*ALL, returned="dv dq dk")
    assert (region.row, region.column) == (0, 1)
    assert names(region.between) == {"s", "p", "h", "d"}
    assert names(region.products()) == {"s", "h"}
    assert not region.copied
    assert not region.read_elsewhere
    last = {kernel.results[0].name_hint: axis for kernel, axis in region.last.items()}
    assert last == {"dv": region.row, "dq": region.column, "dk": region.row}


def test_where_kernels_run_in_the_frame() -> None:
    region = region_of(*ALL, returned="dv dq dk")
    places = {kernel.results[0].name_hint: at for kernel, at in region.frame.at.items()}
    row, column = dim(region.row), dim(region.column)
    assert places["p"] == {Var("d", 0): row, Var("d", 1): column}
    assert [places["dv"][Var("d", axis)] for axis in (0, 2)] == [column, row]
    assert [places["h"][Var("d", axis)] for axis in (0, 1)] == [row, column]
    assert places["h"][Var("d", 2)] not in (row, column)


def test_what_kernels_need_of_the_region() -> None:
    region = region_of(*ALL, returned="dv dq dk")
    last = {kernel.results[0].name_hint: kernel for kernel in region.last}
    assert names(region.needed_by([last["dv"]])) == {"dv", "p", "s"}
    assert names(region.needed_by([last["dq"]])) == {"dq", "d", "p", "s", "h"}
    assert names(region.needed_by([])) == set()
    of_last = product("o", "7, 4, 6", "d[d2, d0]", "dq[d2, d1]")
    region = region_of(*ALL, of_last, returned="dv dk o", o="f32 7, 4")
    (last_one,) = (kernel for kernel in region.last if kernel.results[0].name_hint == "o")
    assert names(region.needed_by([last_one])) == {"o", "d", "p", "s", "h"}


MASK = pairs("m", EXP, "n[d0, d1]")


def test_what_is_computed_number_by_number_is_copied() -> None:
    """Of what is no product; what factors are made of is not."""
    masked = pairs("p", MUL, "s[d0, d1]", "m[d0, d1]")
    scaled: Kernel = ("6, 4", "%0 = load dq[d0, d1]\n%1 = math.exp %0 : f32\nstore %1, q[d0, d1]")
    projected = product("k", "7, 4, 3", "x[d0, d2]", "y[d2, d1]")
    made = (scaled, projected, SCORES, MASK, masked, GRAD_V)
    region = region_of(*made, returned="dv", x="f32 7, 3", y="f32 3, 4")
    assert names(region.copied) == {"m"}
    assert names(region.between) == {"s", "p"}
    assert names(list(region.last)) == {"dv"}


@pytest.mark.parametrize("order", [("p", "d"), ("d", "p")])
def test_what_reads_the_region_is_of_it(order: tuple[str, str]) -> None:
    """However it was found first: `w` makes of `p` what `d` reads."""
    shifted, weights = pairs("h", EXP, "s[d0, d1]"), pairs("p", EXP, "h[d0, d1]")
    of_weights = pairs("w", EXP, "p[d0, d1]")
    first = pairs("d", MUL, *(("s[d0, d1]", "w[d0, d1]") if order[0] == "p" else ("w[d0, d1]", "s[d0, d1]")))
    also = product("dk", "7, 4, 6", "w[d2, d0]", "q[d2, d1]")
    region = region_of(SCORES, shifted, weights, of_weights, first, GRAD_Q, also, returned="dq dk")
    assert names(region.between) == {"s", "h", "p", "w", "d"}
    assert names(list(region.last)) == {"dq", "dk"}
    assert not region.copied


def test_axes_of_one_point_do_not_matter() -> None:
    weights: Kernel = ("6, 1, 7", "%0 = load s[d0, d2]\n%1 = math.exp %0 : f32\nstore %1, p[d0, d2]")
    region = region_of(SCORES, weights, GRAD_V, returned="dv")
    assert names(region.between) == {"s", "p"}
    assert not region.read_elsewhere


ROWS: Kernel = ("6, 7", "%0 = load p[d0, d1]\n%1 = tk.reduce add %0 over [1] : f32\nstore %1, rows[d0]")
COLUMNS: Kernel = ("6, 7", "%0 = load p[d0, d1]\n%1 = tk.reduce add %0 over [0] : f32\nstore %1, cols[d1]")
ELSEWHERE = {
    # who reads `p` as well, and what is returned
    "a caller": ((), "dv p"),
    "sums of columns": ((COLUMNS,), "dv cols"),
    "both of them": ((COLUMNS,), "dv cols p"),
    "copies beside each other": ((("6, 7, 3", "%0 = load p[d0, d1]\nstore %0, c[d0, d1, d2]"),), "dv c"),
    "what stores one of two in part": (
        (
            (
                "6, 7",
                """%0 = load p[d0, d1]
                %y = arith.constant true
                store %0, o[d0, d1] if %y
                store %0, w[d0, d1]""",
            ),
        ),
        "dv o w",
    ),
    "one column": ((pairs("o", SUB, "p[d0, 3]", "n[d0, d1]"),), "dv o"),
    "the last six columns": (
        (("6, 6", "%0 = load p[d0, d1 + 1]\nstore %0, o[d0, d1]"),),
        "dv o",
    ),
    "what stores in part": (
        (("6, 7", "%0 = load p[d0, d1]\n%y = arith.constant true\nstore %0, o[d0, d1] if %y"),),
        "dv o",
    ),
    "what reads it twice": ((pairs("o", MUL, "p[d0, d1]", "p[d0, 6 - d1]"),), "dv o"),
}  # fmt: skip


@pytest.mark.parametrize(("more", "returned"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_who_else_reads_it(more: tuple[Kernel, ...], returned: str) -> None:
    region = region_of(SCORES, WEIGHTS, GRAD_V, *more, returned=returned)
    assert [value.name_hint for value in region.read_elsewhere] == ["p"]
    assert names(region.between) == {"s", "p"}
    assert names(list(region.last)) == {"dv"}
    assert set(region.frame.at) == {*region.between, *region.last}


@pytest.mark.parametrize(("returned", "elsewhere"), [("dv rows", ["rows"]), ("dv rows p", ["p", "rows"])])
def test_sums_of_rows_belong_to_it(returned: str, elsewhere: list[str]) -> None:
    region = region_of(SCORES, WEIGHTS, GRAD_V, ROWS, returned=returned)
    assert sorted(str(value.name_hint) for value in region.read_elsewhere) == elsewhere
    assert names(region.between) == {"s", "p", "rows"}
    assert names(list(region.last)) == {"dv"}


def test_products_of_other_axes_are_no_last_ones() -> None:
    """A batch of scores that is added up is neither their rows nor their columns."""
    batched = (
        "3, 6, 7, 4",
        """%0 = load q[d0, d1, d3]
        %1 = load k[d0, d2, d3]
        %2 = arith.mulf %0, %1 : f32
        %3 = tk.reduce add %2 over [3] : f32
        store %3, s[d0, d1, d2]""",
    )
    across = (
        "6, 7, 5, 3",
        """%0 = load s[d3, d0, d1]
        %1 = load g[d3, d2]
        %2 = arith.mulf %0, %1 : f32
        %3 = tk.reduce add %2 over [3] : f32
        store %3, o[d0, d1, d2]""",
    )
    sizes = {"q": "f32 3, 6, 4", "k": "f32 3, 7, 4", "s": "f32 3, 6, 7", "g": "f32 3, 5", "o": "f32 6, 7, 5"}
    region = region_of(batched, across, returned="o", **sizes)
    assert (region.row, region.column) == (1, 2)
    assert not region.last
    assert names(list(region.frame.at)) == {"s"}
    assert [value.name_hint for value in region.read_elsewhere] == ["s"]


def test_a_region_begins_with_a_product() -> None:
    first, second = kernels_of(module_of(TENSORS, [SCORES, WEIGHTS], "p"))
    assert find_region(first) is not None
    assert find_region(second) is None
    body = SCORES[1].replace("d2]", "d2, d3]").replace("over [2]", "over [2, 3]")
    two_axes = {"q": "f32 6, 4, 3", "k": "f32 7, 4, 3"}
    (of_two_axes,) = kernels_of(module_of({**TENSORS, **two_axes}, [("6, 7, 4, 3", body)], "s"))
    assert find_region(of_two_axes) is None
