"""Inputs that share memory with a result: the loops of a CPU then store the same numbers as without."""

from __future__ import annotations

import pytest
from kernels_harness import changes, kernels_of, module_of
from tk_harness import parse
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tk.inplace import attach, attached
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.host.inplace import inplace_pairs

TENSORS = {
    **{
        "x": "f32 3, 5",
        "y": "f32 3, 5",
        "z": "f32 5",
        "c": "f32 3",
        "w": "f32 8",
        "i": "i64 3",
        "j": "i64 3, 5",
    },
    **{"p": "f32 3, 5", "q": "f32 3, 5", "s": "f32 3", "t": "f32 5", "o": "f32 5", "m": "f32 8"},
    **{"one": "f32 3, 1", "r": "f32 3, 1"},
}
X, Y = "%0 = load x[d0, d1]\n", "%1 = load y[d0, d1]\n"
NEGATED, SUM = "%2 = arith.negf %0 : f32\n", "%3 = tk.reduce add %0 over [1] : f32\nstore %3, s[d0]\n"
EXTREME = "%3 = tk.reduce max %0 over [1] : f32\n%4 = arith.subf %0, %3 : f32\n"
MASK = """%5 = tk.index "d1" : i64
  %6 = arith.constant 3 : i64
  %7 = arith.cmpi slt, %5, %6 : i64
  %8 = arith.constant 0.0 : f32
"""
PLACES = "%10 = load i[d0]\n%6 = arith.index_cast %10 : i64 to index\n"
UPDATE = f"{X}store %0, p[d0, d1]\n{PLACES}"
PAIRS = {
    # sizes, body, the inputs and results that may be one
    "elements": ("3, 5", f"{X}{NEGATED}store %2, p[d0, d1]", ["x p"]),
    "of two": ("3, 5", f"{X}{Y}%2 = arith.subf %0, %1 : f32\nstore %2, p[d0, d1]", ["x p", "y p"]),
    "in any order": ("5, 3", "%0 = load x[2 - d1, d0]\nstore %0, p[2 - d1, d0]", ["x p"]),
    "read twice": (
        "3, 5",
        f"{X}%1 = load x[d0, d1]\n%2 = arith.mulf %0, %1 : f32\nstore %2, p[d0, d1]",
        ["x p"],
    ),
    "after their sum": (
        "3, 5",
        f"{X}%3 = tk.reduce add %0 over [1] : f32\n%4 = arith.divf %0, %3 : f32\nstore %4, p[d0, d1]",
        ["x p"],
    ),
    "for two results": ("3, 5", f"{X}{NEGATED}store %2, p[d0, d1]\nstore %0, q[d0, d1]", ["x p", "x q"]),
    "before another is stored": (
        "3, 5",
        f"{X}{NEGATED}store %2, p[d0, d1]\n{Y}store %1, q[d0, d1]",
        ["x p", "x q", "y q"],
    ),
    "beside their sum": ("3, 5", f"{X}{SUM}{NEGATED}store %2, p[d0, d1]", ["x p"]),
    "read under the mask of the store": (
        "2, 4",
        f"{MASK}%9 = load w[d0*3 + d1] if %7 else %8\n%2 = arith.negf %9 : f32\nstore %2, m[d0*3 + d1] if %7",
        ["w m"],
    ),
    "checked elsewhere": (
        "3, 5",
        f'{X}{Y}%2 = arith.cmpf oge, %1, %1 : f32\ntk.assert %2 "no number" : i1\nstore %0, p[d0, d1]',
        ["x p"],
    ),
    "of a row, for its only store": (
        "3, 5",
        f"{X}%1 = load c[d0]\n%2 = arith.mulf %0, %1 : f32\n%3 = tk.reduce add %2 over [1] : f32\n"
        "%4 = arith.addf %1, %3 : f32\nstore %4, s[d0]",
        ["c s"],
    ),
    "stored without the mask under which it is read": (
        "2, 4",
        f"{MASK}%9 = load w[d0*4 + d1] if %7 else %8\nstore %9, m[d0*4 + d1]",
        ["w m"],
    ),
    "updated": (
        "3, 5",
        f"{UPDATE}%7 = load y[d0, d1]\nstore %7, p[i0, d1](%6) combine add",
        ["x p"],
    ),
    "beside where they are largest": (
        "3, 5",
        f'{X}{NEGATED}store %2, p[d0, d1]\n%3 = tk.index "d1" : i64\n'
        "%4, %5 = tk.argreduce max %2 at %3 over [1] : f32\nstore %4, s[d0]",
        ["x p"],
    ),
    "beside where they are largest in a column": (
        "3, 5",
        f'{X}%3 = tk.index "d0" : i64\n%4, %5 = tk.argreduce max %0 at %3 over [0] : f32\nstore %4, t[d1]\n'
        f"{NEGATED}store %2, p[d0, d1]",
        ["x p"],
    ),
    "read elsewhere than they are stored": (
        "2, 3",
        "%0 = load w[d0*4 + d1]\n%1 = load w[7 - d0*4]\n%2 = arith.subf %0, %1 : f32\nstore %2, m[d0*4 + d1]",
        ["w m"],
    ),
    "stored behind what they are divided by": (
        "3, 5",
        f"{X}%3 = tk.reduce add %0 over [1] : f32\n%4 = arith.divf %0, %3 : f32\nstore %4, q[d0, d1]\n"
        f"{NEGATED}store %2, p[d0, d1] after (%3)",
        ["x q", "x p"],
    ),
    "summed along a row": (
        "3, 5",
        f"{X}%2 = tk.scan add %0 along 1 : f32\nstore %2, p[d0, d1]\nstore %0, q[d0, d1]",
        ["x p", "x q"],
    ),
    "summed along a row, behind the sum": (
        "3, 5",
        f"{X}%2 = tk.scan add %0 along 1 : f32\n%3 = tk.reduce add %2 over [1] : f32\n"
        "%4 = arith.divf %2, %3 : f32\nstore %4, q[d0, d1]\nstore %2, p[d0, d1] after (%3)",
        ["x q", "x p"],
    ),
    "of which one axis has one element": (
        "3, 1",
        "%0 = load one[d0, 0]\n%1 = arith.negf %0 : f32\nstore %1, r[d0, 0]\nstore %0, s[d0]",
        ["one r"],
    ),
}


def parsed(sizes: str, body: str) -> tuple[ModuleOp, KernelOp]:
    made = [name for name in TENSORS if f", {name}[" in body]
    module = module_of(TENSORS, [(sizes, body)], " ".join(made))
    (kernel,) = kernels_of(module)
    return module, kernel


def pairs_of(kernel: KernelOp) -> list[str]:
    """By name."""
    pairs = inplace_pairs(list(kernel.body.block.ops), kernel.space, kernel.sources, kernel.destinations)
    return [f"{kernel.inputs[i].name_hint} {kernel.results[o].name_hint}" for i, o in pairs]


@pytest.mark.parametrize(("sizes", "body", "expected"), PAIRS.values(), ids=PAIRS)
def test_an_input_may_be_where_a_result_is(sizes: str, body: str, expected: list[str]) -> None:
    module, kernel = parsed(sizes, body)
    assert pairs_of(kernel) == expected
    assert not any(changes(module, pair) for pair in expected)


NONE = {
    # sizes, body, the input and the result that must not be one
    "backwards": ("3, 5", f"%0 = load x[2 - d0, d1]\n{NEGATED}store %2, p[d0, d1]", "x p"),
    "elsewhere, too": (
        "3, 5",
        f"{X}%1 = load x[2 - d0, d1]\n%2 = arith.subf %0, %1 : f32\nstore %2, p[d0, d1]",
        "x p",
    ),
    "at loaded places": (
        "3, 5",
        f"{PLACES}%0 = load x[i0, d1](%6)\n{NEGATED}store %2, p[d0, d1]",
        "x p",
    ),
    "stored twice": (
        "3, 5",
        f"{X}{NEGATED}store %2, p[d0, d1]\nstore %0, p[2 - d0, d1]",
        "x p",
    ),
    "stored elsewhere before": (
        "3, 5",
        f"{X}{NEGATED}store %0, p[2 - d0, d1]\nstore %2, p[d0, d1]",
        "x p",
    ),
    "updated backwards": (
        "3, 5",
        f"%0 = load x[2 - d0, d1]\nstore %0, p[d0, d1]\n{PLACES}{Y}store %1, p[i0, d1](%6) combine add",
        "x p",
    ),
    "stored twice, then updated": (
        "3, 5",
        f"{X}store %0, p[d0, d1]\n{PLACES}{Y}store %1, p[2 - d0, d1]\nstore %1, p[i0, d1](%6) combine add",
        "x p",
    ),
    "by a later loop": (
        "3, 5",
        f"{X}{EXTREME}%5 = tk.reduce add %4 over [1] : f32\nstore %5, s[d0]\n{NEGATED}store %2, p[d0, d1]",
        "x p",
    ),
    "read where others are stored": (
        "2, 3",
        "%0 = load w[d0*4 + d1]\n%1 = load w[6 - d0*4]\n%2 = arith.subf %0, %1 : f32\nstore %2, m[d0*4 + d1]",
        "w m",
    ),
    "before they are divided by their sum": (
        "3, 5",
        f"{X}%3 = tk.reduce add %0 over [1] : f32\n%4 = arith.divf %0, %3 : f32\nstore %4, q[d0, d1]\n"
        f"{NEGATED}store %2, p[d0, d1]",
        "x p",
    ),
    "summed along a row, before the sum": (
        "3, 5",
        f"{X}%2 = tk.scan add %0 along 1 : f32\n%3 = tk.reduce add %2 over [1] : f32\n"
        "%4 = arith.divf %2, %3 : f32\nstore %4, q[d0, d1]\nstore %2, p[d0, d1]",
        "x p",
    ),
    "summed along rows and along columns": (
        "3, 5",
        f"{X}%2 = tk.scan add %0 along 1 : f32\n%3 = tk.scan add %0 along 0 : f32\n"
        "store %3, q[d0, d1]\nstore %2, p[d0, d1]",
        "x q",
    ),
    "along rows and columns": (
        "3, 5",
        f"{X}{SUM}%4 = tk.reduce add %0 over [0] : f32\nstore %4, t[d1]\n{NEGATED}store %2, p[d0, d1]",
        "x p",
    ),
    "for each row": (
        "3, 5",
        f"{X}%1 = load z[d1]\n%2 = arith.mulf %0, %1 : f32\n%3 = tk.reduce add %2 over [1] : f32\n"
        "store %3, s[d0]\n%4 = arith.negf %1 : f32\nstore %4, o[d1]",
        "z o",
    ),
    "not under the mask of the store": (
        "2, 4",
        f"{MASK}%9 = load w[3 - d0*3 + d1]\n%1 = tk.reduce add %9 over [1] : f32\n"
        "%2 = arith.subf %9, %1 : f32\nstore %2, m[3 - d0*3 + d1] if %7",
        "w m",
    ),
    "scattered": ("3, 5", f"{PLACES}{X}store %0, p[i0, d1](%6) combine add", "x p"),
    "scattered, too": ("3, 5", f"{UPDATE}store %0, p[i0, d1](%6) combine add", "x p"),
    "updated after another update": (
        "3, 5",
        f"{PLACES}{Y}store %1, p[i0, d1](%6) combine add\n{X}store %0, p[d0, d1]",
        "x p",
    ),
}
NONE_ELSEWHERE = {
    # on a GPU, or as far as one knows
    "combined with what was there": ("3, 5", f"{X}store %0, p[d0, d1] combine add", "x p"),
    "of another type, updated": (
        "3, 5",
        "%0 = load j[d0, d1]\n%2 = arith.sitofp %0 : i64 to f32\nstore %2, p[d0, d1]\n"
        f"{PLACES}{Y}store %1, p[i0, d1](%6) combine add",
        "j p",
    ),
    "after another is stored": (
        "3, 5",
        f"{X}{NEGATED}store %2, p[d0, d1]\n%1 = load x[d0, d1]\nstore %1, q[d0, d1]",
        "x p",
    ),
    "of another type": (
        "3, 5",
        "%0 = load j[d0, d1]\n%1 = arith.sitofp %0 : i64 to f32\nstore %1, p[d0, d1]",
        "j p",
    ),
    "checked": (
        "3, 5",
        f'{X}%2 = arith.cmpf oge, %0, %0 : f32\ntk.assert %2 "no number" : i1\nstore %0, p[d0, d1]',
        "x p",
    ),
    "updated where a mask is": (
        "2, 4",
        f"{MASK}%9 = load w[d0*3 + d1]\nstore %9, m[d0*3 + d1] if %7\n"
        "%1 = arith.index_cast %5 : i64 to index\nstore %8, m[i0](%1) combine add",
        "w m",
    ),
    "updated after their sum": (
        "3, 5",
        f"{X}{EXTREME}store %4, p[d0, d1]\n{PLACES}{Y}store %1, p[i0, d1](%6) combine add",
        "x p",
    ),
    "updated and checked": (
        "3, 5",
        f'{UPDATE}{Y}%2 = arith.cmpf oge, %0, %0 : f32\ntk.assert %2 "no number" : i1\n'
        "store %1, p[i0, d1](%6) combine add",
        "x p",
    ),
}


@pytest.mark.parametrize(("sizes", "body", "pair"), NONE.values(), ids=NONE)
def test_where_numbers_would_change_it_must_not(sizes: str, body: str, pair: str) -> None:
    module, kernel = parsed(sizes, body)
    assert pair not in pairs_of(kernel)
    assert changes(module, pair)


@pytest.mark.parametrize(("sizes", "body", "pair"), NONE_ELSEWHERE.values(), ids=NONE_ELSEWHERE)
def test_nor_where_they_would_for_others(sizes: str, body: str, pair: str) -> None:
    _, kernel = parsed(sizes, body)
    assert pair not in pairs_of(kernel)


@pytest.mark.parametrize("pairs", [[], [(0, 1)], [(2, 0), (1, 3)]])
def test_pairs_are_noted(pairs: list[tuple[int, int]]) -> None:
    module = parse("""tk.func @f [3] (%o: memref<3xf32>) {
      %0 = arith.constant 3.0 : f32
      tk.store %0, %o[d0] : f32, memref<3xf32>
    }""")
    (function,) = module.ops
    attach(function, pairs)
    (function,) = parse(str(module)).ops
    assert attached(function) == pairs
    assert bool(function.attributes) == bool(pairs)
