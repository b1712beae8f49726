"""Axes of one point go where nothing names them, and the kernel computes what it did; others stay."""

from __future__ import annotations

import numpy as np
import pytest
from kernels_harness import one_kernel
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.index_expr import Var, format_exprs
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.fusion.unit_axes import drop_unit_axes
from tilewright.passes.rewrite import counting_rewrites

X = "tensor<4x6xf32>"


def module_of(sizes: str, body: str, result: str = "4x6", x: str = X) -> tuple[ModuleOp, KernelOp]:
    """A kernel of `body`, in which `%a` is given and `%o` made."""
    out = f"tensor<{result}xf32>" if result[0] != "?" else f'tensor<{result}xf32, #tw.shape<"s0, 6">>'
    return one_kernel(sizes, body, x, out)


def run(module: ModuleOp) -> np.ndarray:
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6)
    (found,) = interpret(module, [4, x], np, symbols={Var("s", 0): 4})
    return found


LOAD, STORE = "%0 = tk.load %a[d0, d2] : {x} -> f32", "tk.store %1, %o[d0, d2] : f32, {o}"
ROWS = 'tensor<?x6xf32, #tw.shape<"s0, 6">>'
DROPPED = {
    # sizes, body, sizes without them, result, input
    "between": ("4, 1, 6", f"{LOAD} %1 = math.exp %0 : f32 {STORE}", "4, 6", "4x6", X),
    "two, and in sums": (
        "1, 4, 1, 6",
        "%1 = tk.load %a[d1 + d0, d2*5 + d3] : {x} -> f32 tk.store %1, %o[d1, d3] : f32, {o}",
        "4, 6",
        "4x6",
        X,
    ),
    "all": ("1, 1", "%1 = tk.load %a[d0, d1] : {x} -> f32 tk.store %1, %o[d0, d1] : f32, {o}", "", "1x1", X),
    "before what is summed": (
        "4, 1, 6",
        f"{LOAD} %1 = tk.reduce add %0 over [2] : f32 tk.store %1, %o[d0] : f32, {{o}}",
        "4, 6",
        "4",
        X,
    ),
    "before a scan": ("4, 1, 6", f"{LOAD} %1 = tk.scan add %0 along 2 : f32 {STORE}", "4, 6", "4x6", X),
    "one of two": (
        "4, 1, 6, 1",
        f"{LOAD} %1 = tk.reduce add %0 over [1] : f32 {STORE}",
        "4, 1, 6",
        "4x6",
        X,
    ),
    "of symbols": ("s0, 1, 6", f"{LOAD} %1 = math.exp %0 : f32 {STORE}", "s0, 6", "?x6", ROWS),
    "what is stored over": (
        "1, 4, 6",
        """%0 = tk.load %a[d1, d2] : {x} -> f32
        tk.store %0, %o[d1] over [2] combine add : f32, {o}""",
        "4, 6",
        "4",
        X,
    ),
}


@pytest.mark.parametrize(("sizes", "body", "left", "result", "x"), DROPPED.values(), ids=DROPPED)
def test_axes_of_one_point_go(sizes: str, body: str, left: str, result: str, x: str) -> None:
    module, kernel = module_of(sizes, body, result, x)
    before = run(module)
    with counting_rewrites() as count:
        drop_unit_axes(kernel)
    module.verify()
    assert format_exprs(kernel.space) == left
    np.testing.assert_array_equal(run(module), before)
    assert count.done == 1


PRODUCT = """%0 = tk.load %a[d0, d2] : {x} -> f32 %1 = tk.load %a[d1, d2] : {x} -> f32
    %2 = arith.mulf %0, %1 : f32 %3 = tk.reduce add %2 over [2] : f32 tk.store %3, %o[d0, d1] : f32, {o}"""
KEPT = {
    "none of one point": ("4, 1 + s0, 6", f"{LOAD} %1 = math.exp %0 : f32 {STORE}", "4x6"),
    "summed over": ("4, 1, 6", f"{LOAD} %1 = tk.reduce add %0 over [1] : f32 {STORE}", "4x6"),
    "scanned along": ("4, 1, 6", f"{LOAD} %1 = tk.scan add %0 along 1 : f32 {STORE}", "4x6"),
    "stored over": (
        "4, 1, 6",
        "%0 = tk.load %a[d0, d2] : {x} -> f32 tk.store %0, %o[d0, d2] over [1] combine add : f32, {o}",
        "4x6",
    ),
    "of a product": ("4, 1, 6", PRODUCT, "4x1"),
    "of what reduces over several": (
        "4, 1, 6, 5",
        f"""{LOAD} %2 = tk.reduce max %0 over [2] : f32 %3 = tk.load %a[d0, d3] : {{x}} -> f32
        %4 = arith.subf %3, %2 : f32 %1 = tk.reduce add %4 over [3] : f32
        tk.store %1, %o[d0, d1] : f32, {{o}}""",
        "4x1",
    ),
}


@pytest.mark.parametrize(("sizes", "body", "result"), KEPT.values(), ids=KEPT)
def test_these_stay(sizes: str, body: str, result: str) -> None:
    module, kernel = module_of(sizes, body, result)
    text = str(module)
    with counting_rewrites() as count:
        drop_unit_axes(kernel)
    assert str(module) == text
    assert not count.done


def test_no_rewrite_is_done_beyond_the_last_one() -> None:
    module, kernel = module_of(*DROPPED["between"][:2])
    text = str(module)
    with counting_rewrites(0):
        drop_unit_axes(kernel)
    assert str(module) == text
