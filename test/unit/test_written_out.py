"""Reductions of few elements as sums of terms: the same numbers, without an axis to walk along."""

from __future__ import annotations

import numpy as np
import pytest
from kernels_harness import kernels_of, module_of, run
from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.index_expr import format_exprs
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.passes.fusion.written_out import use_results, written_out
from tilewright.passes.kernels.body import combined_axes

TENSORS = {
    **{
        "x": "f32 3, 8",
        "y": "f32 3, 2, 4",
        "z": "f32 s0, 8",
        "v": "f32 8",
        "w": "f32 3, 10",
        "n": "f32 3, s0",
    },
    **{"e": "f32 3, 0", "k": "f32 5, 8", "c": "f32 3", "a": "f32 8, 8", "b": "f32 8, 8"},
    **{
        "p": "f32 3",
        "q": "f32 3",
        "r": "f32 s0",
        "m": "f32 3, 8",
        "o": "f32 3, 5",
        "i": "i64 3",
        "g": "f32 8, 8",
    },
}
X = "%0 = load x[d0, d1]\n"
SUM = f"{X}%1 = tk.reduce add %0 over [1] : f32\nstore %1, p[d0]"
WRITTEN = {
    # sizes, body, sizes afterwards
    "a sum": ("3, 8", SUM, "3, 1"),
    "a largest element": ("3, 8", SUM.replace("add", "max"), "3, 1"),
    "a smallest element": ("3, 8", SUM.replace("add", "min"), "3, 1"),
    "a product": ("3, 8", SUM.replace("add", "mul"), "3, 1"),
    "of two axes": (
        "3, 2, 4",
        "%0 = load y[d0, d1, d2]\n%1 = tk.reduce add %0 over [1, 2] : f32\nstore %1, p[d0]",
        "3, 1, 1",
    ),
    "of the axis outside": (
        "8, 3",
        "%0 = load x[d1, 7 - d0]\n%1 = tk.reduce add %0 over [0] : f32\nstore %1, p[d1]",
        "1, 3",
    ),
    "beside a size that only the run knows": (
        "s0, 8",
        "%0 = load z[d0, d1]\n%1 = tk.reduce add %0 over [1] : f32\nstore %1, r[d0]",
        "s0, 1",
    ),
    "of places": (
        "3, 8",
        f"""{X}%2 = tk.index "d1*3 + d0" : i64
        %3 = arith.sitofp %2 : i64 to f32
        %4 = arith.mulf %0, %3 : f32
        %1 = tk.reduce add %4 over [1] : f32
        store %1, p[d0]""",
        "3, 1",
    ),
    "of what is one number": (
        "3, 8",
        "%0 = load c[d0]\n%1 = tk.reduce add %0 over [1] : f32\nstore %1, p[d0]",
        "3, 1",
    ),
    "one after the other": (
        "3, 8",
        f"""{X}%1 = tk.reduce max %0 over [1] : f32
        %2 = arith.subf %0, %1 : f32
        %3 = math.exp %2 : f32
        %4 = tk.reduce add %3 over [1] : f32
        %5 = math.log %4 : f32
        %6 = arith.addf %1, %5 : f32
        store %6, p[d0]
        store %1, q[d0]""",
        "3, 1",
    ),
    "of one element": ("3, 1", SUM.replace("x[d0, d1]", "x[d0, d1 + 7]"), "3, 1"),
}
OTHER = {
    # sizes, body
    "no reduction": ("3, 8", f"{X}store %0, m[d0, d1]"),
    "of ten": ("3, 10", SUM.replace("x[", "w[")),
    "of twelve": (
        "3, 3, 4",
        "%0 = load v[d1 + d2]\n%1 = tk.reduce add %0 over [1, 2] : f32\nstore %1, p[d0]",
    ),
    "of none": ("3, 0", SUM.replace("x[", "e[")),
    "of as many as only the run knows": ("3, s0", SUM.replace("x[", "n[")),
    "along one axis, then along another": (
        "3, 2, 4",
        """%0 = load y[d0, d1, d2]
        %1 = tk.reduce max %0 over [2] : f32
        %2 = tk.reduce add %1 over [1] : f32
        store %2, p[d0]""",
    ),
    "a product of matrices": (
        "8, 8, 8",
        """%0 = load a[d0, d2]
        %1 = load b[d2, d1]
        %2 = arith.mulf %0, %1 : f32
        %3 = tk.reduce add %2 over [2] : f32
        store %3, g[d0, d1]""",
    ),
    "of what is stored, too": ("3, 8", f"{SUM}\nstore %0, m[d0, d1]"),
    "for each element": ("3, 8", f"{X}%1 = tk.reduce add %0 over [1] : f32\nstore %1, p[d0] over [1]"),
    "the place of the largest": (
        "3, 8",
        f"""{X}%2 = tk.index "d1" : i64
        %1, %3 = tk.argreduce max %0 at %2 over [1] : f32
        store %1, p[d0]
        store %3, i[d0]""",
    ),
    "a sum of exponentials": (
        "3, 8",
        f"{X}%1, %2 = tk.sumexp %0, %0 over [1] : f32\nstore %1, p[d0]\nstore %2, q[d0]",
    ),
    "a running sum": (
        "3, 8",
        f"{X}%2 = tk.scan add %0 along 1 : f32\n%1 = tk.reduce max %2 over [1] : f32\nstore %1, p[d0]",
    ),
}


def parsed(sizes: str, body: str) -> tuple[ModuleOp, KernelOp]:
    made = [name for name in TENSORS if f", {name}[" in body]
    module = module_of(TENSORS, [(sizes, body)], " ".join(made))
    (kernel,) = kernels_of(module)
    return module, kernel


@pytest.mark.parametrize(("sizes", "body", "expected"), WRITTEN.values(), ids=WRITTEN)
def test_terms_are_written_out(sizes: str, body: str, expected: str) -> None:
    module, kernel = parsed(sizes, body)
    text, before = str(kernel), run(module)
    copy = written_out(kernel)
    assert copy is not None
    assert kernels_of(module) == [copy, kernel]
    assert str(kernel) == text
    assert not any(combined_axes(op) for op in copy.body.block.ops)
    assert format_exprs(copy.space) == expected
    use_results(copy, kernel)
    kernel.detach()
    module.verify()
    for old, new in zip(before, run(module), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-5)


@pytest.mark.parametrize(("sizes", "body"), OTHER.values(), ids=OTHER)
def test_kernels_that_stay(sizes: str, body: str) -> None:
    module, kernel = parsed(sizes, body)
    text = str(module)
    assert written_out(kernel) is None
    assert str(module) == text


@pytest.mark.parametrize(("steps", "done"), [(22, True), (23, False)])
def test_few_ops_are_written_out(steps: int, done: bool) -> None:
    ops = "".join(f"%{i + 10} = math.exp %{i + 9 if i else 0} : f32\n" for i in range(steps))
    body = f"{X}{ops}%1 = tk.reduce add %{steps + 9} over [1] : f32\nstore %1, p[d0]"
    assert (written_out(parsed("3, 8", body)[1]) is not None) == done


@pytest.mark.parametrize(("steps", "done"), [(83, True), (84, False)])
def test_what_varies_along_one_of_two_axes_is_fewer_ops(steps: int, done: bool) -> None:
    """Two of each of these, not eight: 192 with the loads and two sums of eight terms."""
    ops = "".join(f"%{i + 10} = math.exp %{i + 9 if i else 8} : f32\n" for i in range(steps))
    body = f"""%8 = load a[d0, d1]
    {ops}%0 = load y[d0, d1, d2]
    %1 = tk.reduce add %0 over [1, 2] : f32
    %2 = tk.reduce add %{steps + 9} over [1, 2] : f32
    %3 = arith.addf %1, %2 : f32
    store %3, p[d0]"""
    assert (written_out(parsed("3, 2, 4", body)[1]) is not None) == done


def test_readers_read_the_copy() -> None:
    _, kernel = parsed(*WRITTEN["one after the other"][:2])
    copy = written_out(kernel)
    assert copy is not None
    use_results(copy, kernel)
    assert all(result.first_use is None for result in kernel.results)
    assert [result.name_hint for result in copy.results] == ["p", "q"]
    use_results(kernel, copy)
    assert all(result.first_use is None for result in copy.results)
