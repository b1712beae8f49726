"""Two axes that a store joins become one, and the kernel computes what it did; others stay two."""

from __future__ import annotations

import numpy as np
import pytest
from kernels_harness import one_kernel
from xdsl.dialects.builtin import ModuleOp, f32

from tilewright.dialects.index_expr import Var, format_exprs, parse_exprs
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import tensor_type
from tilewright.passes.products.whole_axes import join_axes


def module_of(sizes: str, body: str, result: str) -> tuple[ModuleOp, KernelOp]:
    """A kernel of `body`, in which `%a` is given and `%o` made."""
    x, out = (str(tensor_type(f32, parse_exprs(text))) for text in ("4, 6, 5", result))
    return one_kernel(sizes, body, x, out)


def run(module: ModuleOp) -> np.ndarray:
    x = np.linspace(-1, 1, 120, dtype=np.float32).reshape(4, 6, 5)
    (found,) = interpret(module, [4, x], np, symbols={Var("s", 0): 4})
    return found


LOAD = "%0 = tk.load %a[d0, d1, d2] : {x} -> f32"
JOINED = {
    # sizes, body, result, sizes of the joined axes
    "two of three": ("4, 6, 5", f"{LOAD} tk.store %0, %o[d0*6 + d1, d2] : f32, {{o}}", "24, 5", "24, 5"),
    "the last two": ("4, 6, 5", f"{LOAD} tk.store %0, %o[d0, d1*5 + d2] : f32, {{o}}", "4, 30", "4, 30"),
    "three": ("4, 6, 5", f"{LOAD} tk.store %0, %o[d0*30 + d1*5 + d2] : f32, {{o}}", "120", "120"),
    "not beside each other": (
        "4, 6, 5",
        f"{LOAD} tk.store %0, %o[d0*5 + d2, d1] : f32, {{o}}",
        "20, 6",
        "20, 6",
    ),
    "the later one outside": (
        "6, 4, 5",
        "%0 = tk.load %a[d1, d0, d2] : {x} -> f32 tk.store %0, %o[d1*6 + d0, d2] : f32, {o}",
        "24, 5",
        "24, 5",
    ),
    "rows whose number only the run knows": (
        "s0, 6, 5",
        f"{LOAD} tk.store %0, %o[d0*6 + d1, d2] : f32, {{o}}",
        "s0*6, 5",
        "s0*6, 5",
    ),
    "before what is summed": (
        "4, 6, 5",
        f"{LOAD} %1 = tk.reduce add %0 over [2] : f32 tk.store %1, %o[d0*6 + d1] : f32, {{o}}",
        "24",
        "24, 5",
    ),
    "before a scan": (
        "4, 6, 5",
        f"{LOAD} %1 = tk.scan add %0 along 2 : f32 tk.store %1, %o[d0*6 + d1, d2] : f32, {{o}}",
        "24, 5",
        "24, 5",
    ),
    "summed together": (
        "4, 6, 5",
        f"""{LOAD} %1 = tk.reduce add %0 over [0, 1] : f32 %2 = arith.addf %0, %1 : f32
        tk.store %2, %o[d0*6 + d1, d2] : f32, {{o}}""",
        "24, 5",
        "24, 5",
    ),
}


@pytest.mark.parametrize(("sizes", "body", "result", "left"), JOINED.values(), ids=JOINED)
def test_what_a_store_joins_is_one_axis(sizes: str, body: str, result: str, left: str) -> None:
    module, kernel = module_of(sizes, body, result)
    before = run(module)
    join_axes(kernel)
    module.verify()
    assert format_exprs(kernel.space) == left
    np.testing.assert_allclose(run(module), before, rtol=1e-6)


def test_stores_do_not_divide() -> None:
    body = "%0 = tk.load %a[d0, d1, d2] : {x} -> f32 tk.store %0, %o[d0*6 + d1, d2 + d0*6 + d1] : f32, {o}"
    module, kernel = module_of("4, 6, 5", body, "24, 28")
    join_axes(kernel)
    assert "[d0, d0 + d1]" in str(module)


KEPT = {
    "two subscripts": ("4, 6, 5", f"{LOAD} tk.store %0, %o[d0, d1, d2] : f32, {{o}}", "4, 6, 5"),
    "gaps": ("4, 6, 5", f"{LOAD} tk.store %0, %o[d0*8 + d1, d2] : f32, {{o}}", "32, 5"),
    "steps of two": ("4, 6, 5", f"{LOAD} tk.store %0, %o[d0*12 + d1*2, d2] : f32, {{o}}", "48, 5"),
    "steps of two that meet": (
        "4, 6, 5",
        f"{LOAD} tk.store %0, %o[d0*6 + d1*2, d2] combine add : f32, {{o}}",
        "29, 5",
    ),
    "places that meet": (
        "4, 6, 5",
        f"{LOAD} tk.store %0, %o[d0 + d1, d2] combine add : f32, {{o}}",
        "9, 5",
    ),
    "only a load joins them": (
        "2, 2, 5",
        "%0 = tk.load %a[d0*2 + d1, 0, d2] : {x} -> f32 tk.store %0, %o[d0, d1, d2] : f32, {o}",
        "2, 2, 5",
    ),
    "one is summed": (
        "4, 6, 5",
        f"""{LOAD} %1 = tk.reduce add %0 over [1] : f32 %2 = arith.addf %0, %1 : f32
        tk.store %2, %o[d0*6 + d1, d2] : f32, {{o}}""",
        "24, 5",
    ),
    "one is scanned": (
        "4, 6, 5",
        f"{LOAD} %1 = tk.scan add %0 along 1 : f32 tk.store %1, %o[d0*6 + d1, d2] : f32, {{o}}",
        "24, 5",
    ),
    "one is stored over": (
        "4, 6, 5",
        f"{LOAD} tk.store %0, %o[d0*6 + d1, d2] over [0] combine add : f32, {{o}}",
        "24, 5",
    ),
    "one point": ("4, 1, 5", f"{LOAD} tk.store %0, %o[d0 + d1, d2] : f32, {{o}}", "4, 5"),
}


@pytest.mark.parametrize(("sizes", "body", "result"), KEPT.values(), ids=KEPT)
def test_these_stay_two(sizes: str, body: str, result: str) -> None:
    module, kernel = module_of(sizes, body, result)
    text = str(module)
    join_axes(kernel)
    assert str(module) == text
