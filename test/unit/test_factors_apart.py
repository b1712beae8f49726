"""Factors of products of halves whose tiles load element by element, and what that or a copy costs."""

from __future__ import annotations

from math import inf

import pytest
from kernels_harness import kernels_of, module_of

from tilewright.dialects.tk.contraction import FACTORS
from tilewright.passes.products.factors_apart import APART, Side, factors_apart, in_reach

M, N, K = 64, 96, 128
BODY = """%0 = load x[{left}]
%1 = load w[{right}]
%2 = arith.extf %0 : {half} to f32
%3 = arith.extf %1 : {half} to f32
%4 = arith.mulf %2, %3 : f32
%5 = tk.reduce add %4 over [2] {marked}: f32
store %5, r[d0, d1]"""


def sides(
    left: tuple[str, str], right: tuple[str, str], *, half: str = "bf16", marked: bool = True, more: str = ""
) -> list[Side]:
    """The factors of such a product; sizes and subscripts of both tensors. `more` leads the space."""
    body = BODY.format(left=left[1], right=right[1], half=half, marked=f"{{{FACTORS}}} " if marked else "")
    tensors = {"x": f"{half} {left[0]}", "w": f"{half} {right[0]}", "r": f"f32 {M}, {N}"}
    (kernel,) = kernels_of(module_of(tensors, [(f"{M}, {N}, {K}{more}", body)], "r"))
    return list(factors_apart(kernel))


ROWS, COLUMNS = (f"{M}, {K}", "d0, d2"), (f"{K}, {N}", "d2, d1")
TURNED = (f"{K}, {M}", "d2, d0")
PIECES = (f"{K}, 2, {M}", "d2, 1, d0")
EVERY_OTHER = (f"{M}, {K}, 2", "d0, d2, 1")
NESTED = (f"{M}, {K // 4}, 2, 4, 2", "d0, d2 floordiv 4, 0, d2 mod 4, 0")


@pytest.mark.parametrize("left", [ROWS, TURNED, PIECES], ids=["rows", "turned", "rows of one of two"])
def test_neighbours_along_rows_or_the_sum_lie_together(left: tuple[str, str]) -> None:
    assert sides(left, COLUMNS) == []


def test_every_other_element_is_loaded_by_itself() -> None:
    (side,) = sides(EVERY_OTHER, COLUMNS)
    assert side.tensor.name_hint == "x"
    assert (side.own, side.over, dict(side.steps)) == ({0}, {2}, {0: 2 * K, 2: 2})
    assert side.order == (0, 2)
    assert side.results == M * N
    assert side.loaded(32) == APART * M * K * (N // 32)
    assert side.loaded(N + 1) == APART * M * K
    assert side.places is None
    assert side.copied == inf


def test_the_other_factor_is_asked_too() -> None:
    (side,) = sides(ROWS, (f"{K}, {N}, 2", "d2, d1, 0"))
    assert side.tensor.name_hint == "w"
    assert (side.own, side.order) == ({1}, (1, 2))


@pytest.mark.parametrize("left", [NESTED], ids=["steps that change on the way"])
def test_what_has_no_steps_is_none(left: tuple[str, str]) -> None:
    assert sides(left, COLUMNS) == []


def test_only_marked_products_of_halves_are_asked() -> None:
    assert sides(EVERY_OTHER, COLUMNS, marked=False) == []
    assert len(sides(EVERY_OTHER, COLUMNS, half="f16")) == 1


def test_vectors_of_a_tile() -> None:
    (kernel,) = kernels_of(module_of({"x": "f32 4, 16", "p": "f32 4, 16"}, [("4, 16", COPY)], "p"))
    assert in_reach(kernel, [1], {0: 16, 1: 1})
    assert in_reach(kernel, [0, 1], {0: 16, 1: 1})
    assert not in_reach(kernel, [0], {0: 16, 1: 1})
    assert in_reach(kernel, [0], {0: 1, 1: 4})  # all four of them
    assert not in_reach(kernel, [1], {0: 1, 1: 4})
    assert not in_reach(kernel, [1, 0], {0: 2, 1: 8})


COPY = "%0 = load x[d0, d1]\nstore %0, p[d0, d1]"
