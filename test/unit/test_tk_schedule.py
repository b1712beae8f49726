"""Schedules keep the meaning: functions before and after, executed loop by loop."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from tk_cases import CASES
from tk_harness import SCHEDULE, Case, buffers_of, check, parse, run, scheduled

from tilewright.passes.schedule.errors import NoLoopOrder

NARROW = "coalesce-axes,schedule-cpu{vector-bits=128},apply-schedule"

GPU = "coalesce-axes,flatten-axes,schedule-gpu,apply-schedule"

LARGE = ("large_transpose", "sums_over_batch_and_rows", "long_sum")


@pytest.mark.parametrize("pipeline", [SCHEDULE, NARROW, "coalesce-axes"])
@pytest.mark.parametrize("name", CASES)
def test_schedules_keep_the_meaning(name: str, pipeline: str) -> None:
    check(CASES[name], pipeline)


@pytest.mark.parametrize("name", [name for name in CASES if name not in LARGE])
def test_plain_loops_keep_the_meaning(name: str) -> None:
    check(CASES[name], "apply-schedule")


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 16, 31, 64, 65, 1024, 1100])
@pytest.mark.parametrize("name", ["row_sum", "softmax"])
def test_symbolic_sizes_need_no_multiple(name: str, size: int) -> None:
    case = CASES[name]
    if size or name == "row_sum":
        check(Case(case.text, case.buffers, {"s0": size}, 1e-4), NARROW)


@pytest.mark.parametrize("name", ["layer_norm", "softmax", "rows_and_columns", "column_sum", "masked_pad"])
def test_every_plan_keeps_the_meaning(name: str) -> None:
    case = CASES[name]
    buffers = buffers_of(case, np.random.default_rng(1))
    expected = run(parse(case.text), buffers, case.symbols)
    for order, vector, unroll in itertools.product(("0, 1", "1, 0"), (0, 1, None), (1, 2)):
        lanes = f"tk.vector = array<i64: {vector}, 4>, " if vector is not None else ""
        plan = f"attributes {{{lanes}tk.order = array<i64: {order}>, tk.unroll = array<i64: {unroll}>}} {{\n"
        head, _, body = case.text.partition("{\n")
        module = scheduled(head + plan + body, "apply-schedule")
        for want, got in zip(expected, run(module, buffers, case.symbols), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_parts_of_a_full_reduction_join() -> None:
    case = CASES["sums_in_parts"]
    plan = """attributes {tk.order = array<i64: 2, 0, 1>, tk.tiles = array<i64: 0, 50>,
        tk.vector = array<i64: 1, 2>, tk.parallel = array<i64: 1>} {\n"""
    head, _, body = case.text.partition("{\n")
    buffers = buffers_of(case, np.random.default_rng(1))
    expected = run(parse(case.text), buffers, case.symbols)
    module = scheduled(head + plan + body, "apply-schedule")
    for want, got in zip(expected, run(module, buffers, case.symbols), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4)


@pytest.mark.parametrize("size", [1031, 1024])
def test_long_products_end_where_their_factors_do(size: int) -> None:
    """Sums of so many products are taken in blocks, which 1031 is no multiple of."""
    text = f"""tk.func @f [2, 16, {size}] (%a: memref<{2 * size}xf32>, %b: memref<{16 * size}xf32>,
                                           %o: memref<32xf32>) {{
      %0 = tk.load %a[d0*{size} + d2] : memref<{2 * size}xf32> -> f32
      %1 = tk.load %b[d2*16 + d1] : memref<{16 * size}xf32> -> f32
      %2 = arith.mulf %0, %1 : f32
      %3 = tk.reduce add %2 over [2] : f32
      tk.store %3, %o[d0*16 + d1] : f32, memref<32xf32>
    }}"""
    check(Case(text, (f"f32 {2 * size}", f"f32 {16 * size}", "f32 32 = 0"), tolerance=1e-3))


def test_argmax_takes_nan_and_the_first_of_equals() -> None:
    text = """tk.func @f [4, 9] (%x: memref<36xf32>, %o: memref<4xi64>) {
      %0 = tk.load %x[d0*9 + d1] : memref<36xf32> -> f32
      %1 = tk.index "d1" : i64
      %2, %3 = tk.argreduce max %0 at %1 over [1] : f32
      tk.store %3, %o[d0] : i64, memref<4xi64>
    }"""
    x = np.zeros((4, 9), np.float32)
    x[0, 5] = x[0, 7] = 2
    x[1, 6] = x[1, 8] = np.nan
    x[2] = -np.inf
    for pipeline in (SCHEDULE, NARROW, "apply-schedule"):
        (_, found) = run(scheduled(text, pipeline), [x.reshape(-1), np.zeros(4, np.int64)], {})
        assert found.tolist() == [5, 6, 0, 0]


def test_argmax_over_two_axes_takes_the_first_position_of_equals() -> None:
    """Which is not the first in the order of any loops: lanes and steps are told apart by their positions."""
    text = """tk.func @f [5, 36] (%x: memref<180xf32>, %o: memref<1xi64>) {
      %0 = tk.load %x[d0*36 + d1] : memref<180xf32> -> f32
      %1 = tk.index "-d0*36 - d1 + 179" : i64
      %2, %3 = tk.argreduce max %0 at %1 over [0, 1] : f32
      tk.store %3, %o[0] : i64, memref<1xi64>
    }"""
    for equals in ([7, 43, 60], [3, 19, 20, 179], [35, 36]):
        x = np.zeros(180, np.float32)
        x[equals] = 2
        for pipeline in (SCHEDULE, NARROW, "apply-schedule", GPU):
            (_, found) = run(scheduled(text, pipeline), [x, np.zeros(1, np.int64)], {})
            assert found.tolist() == [179 - max(equals)]


def test_max_propagates_nan_through_a_tail() -> None:
    text = CASES["softmax"].text
    x = np.zeros(3 * 21, np.float32)
    x[20] = np.nan
    (_, found) = run(scheduled(text, NARROW), [x, np.zeros_like(x)], {"s0": 21})
    assert np.isnan(found[:21]).all()
    assert not np.isnan(found[21:]).any()


def _random_kernel(seed: int) -> Case:
    """A chain of random scalar ops and reductions over up to three axes."""
    rng = random.Random(seed)
    rank = rng.randint(1, 3)
    sizes = [rng.choice([1, 2, 3, 5, 17, 20]) for _ in range(rank)]
    strides = [int(np.prod(sizes[i + 1 :])) for i in range(rank)]
    numel = int(np.prod(sizes))
    lines: list[str] = []
    axes_of: dict[str, frozenset[int]] = {}

    def subscript(axes: list[int]) -> str:
        return " + ".join(f"d{a}*{strides[a]}" if strides[a] != 1 else f"d{a}" for a in axes) or "0"

    def emit(text: str, axes: frozenset[int]) -> str:
        name = f"%v{len(lines)}"
        lines.append(f"{name} = {text}")
        axes_of[name] = axes
        return name

    for buffer in ("%x", "%y"):
        axes = sorted(rng.sample(range(rank), rng.randint(1, rank)))
        emit(f"tk.load {buffer}[{subscript(axes)}] : memref<{numel}xf32> -> f32", frozenset(axes))
    for _ in range(rng.randint(2, 7)):
        value = rng.choice(list(axes_of))
        reducible = sorted(axes_of[value])
        match rng.choice(["tanh", "add", "mul", "reduce"]):
            case "tanh":
                emit(f"math.tanh {value} : f32", axes_of[value])
            case "reduce" if reducible:
                over = sorted(rng.sample(reducible, rng.randint(1, len(reducible))))
                kind = rng.choice(["add", "max", "min"])
                emit(f"tk.reduce {kind} {value} over {over} : f32", axes_of[value] - set(over))
            case "mul":
                other = rng.choice(list(axes_of))
                emit(f"arith.mulf {value}, {other} : f32", axes_of[value] | axes_of[other])
            case _:
                other = rng.choice(list(axes_of))
                emit(f"arith.addf {value}, {other} : f32", axes_of[value] | axes_of[other])
    stored = rng.sample(list(axes_of), 2)
    for value, buffer in zip(stored, ("%o", "%p"), strict=True):
        lines.append(
            f"tk.store {value}, {buffer}[{subscript(sorted(axes_of[value]))}] : f32, memref<{numel}xf32>"
        )
    args = ", ".join(f"{b}: memref<{numel}xf32>" for b in ("%x", "%y", "%o", "%p"))
    text = f"tk.func @f {sizes} ({args}) {{\n" + "\n".join(lines) + "\n}"
    return Case(text, (f"f32 {numel}",) * 2 + (f"f32 {numel} = 0",) * 2, tolerance=1e-3)


@pytest.mark.parametrize("seed", range(80))
def test_random_kernels_keep_their_meaning(seed: int) -> None:
    case = _random_kernel(seed)
    try:
        check(case, NARROW, seed)
    except NoLoopOrder:
        assert case.text.count("tk.reduce") > 1
