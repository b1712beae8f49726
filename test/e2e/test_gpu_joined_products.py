"""Products that meet number by number are one kernel, from its Triton text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from matrix_units import UNITS, check_kernels
from test_gpu_emulated import Wrapped, check, compiled, floats
from torch import Tensor
from torch.nn import functional as F

from benchmarks.numerics import judge, run_float64
from tilewright.frontend.explain import explain
from tilewright.targets.gpu_triton.compiler import triton_version

Shape = tuple[int, ...]
HALVES = (torch.bfloat16, torch.float16)


def added(x: Tensor, v: Tensor, y: Tensor, w: Tensor) -> Tensor:
    return x @ v + y @ w


def three_and_more(x: Tensor, v: Tensor, y: Tensor, w: Tensor, z: Tensor, u: Tensor, r: Tensor) -> Tensor:
    """The largest sum of products that one kernel adds up, around what is read."""
    return torch.relu(((x @ v + r) + y @ w) + z @ u)


def gated(x: Tensor, v: Tensor, w: Tensor) -> Tensor:
    return F.silu(x @ v) * (x @ w)


def gated_and_kept(x: Tensor, v: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    up = x @ w
    return F.silu(x @ v) * up, up


def difference(x: Tensor, v: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """What is subtracted is a tile of its own."""
    return x @ v - 2 * (y @ w)


def summed(x: Tensor, v: Tensor, y: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Its rows are reduced in tiles."""
    m = x @ v + y @ w
    return m, m.float().sum(0)


def transposed(x: Tensor, v: Tensor, y: Tensor, w: Tensor) -> Tensor:
    return x.transpose(-1, -2) @ v + (w.transpose(-1, -2) @ y.transpose(-1, -2)).transpose(-1, -2)


def to_first_rows(x: Tensor, v: Tensor, y: Tensor, w: Tensor) -> Tensor:
    return y @ w + (x @ v)[: y.shape[0]]


def to_first_rows_and_kept(x: Tensor, v: Tensor, y: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """All rows of the product are stored, which the kernel of the sum does not have."""
    a = x @ v
    return y @ w + a[: y.shape[0]], a


CASES: dict[str, tuple[Callable[..., object], tuple[Shape, ...], int]] = {
    "added": (added, ((64, 32), (32, 48), (64, 32), (32, 48)), 1),
    "other depths, odd": (added, ((37, 19), (19, 41), (37, 70), (70, 41)), 1),
    "batches": (added, ((3, 33, 16), (3, 16, 40), (3, 33, 24), (3, 24, 40)), 1),
    "three": (three_and_more, ((50, 17), (17, 33), (50, 40), (40, 33), (50, 16), (16, 33), (50, 33)), 1),
    "gated": (gated, ((65, 24), (24, 72), (24, 72)), 1),
    "gated, kept": (gated_and_kept, ((65, 24), (24, 72), (24, 72)), 1),
    "first rows": (to_first_rows, ((64, 16), (16, 48), (32, 32), (32, 48)), 1),
    "first rows, kept": (to_first_rows_and_kept, ((64, 16), (16, 48), (32, 32), (32, 48)), 2),
    "difference": (difference, ((33, 20), (20, 36), (33, 16), (16, 36)), 1),
    "summed": (summed, ((192, 40), (40, 33), (192, 24), (24, 33)), 2),
    "transposed": (transposed, ((24, 64), (24, 48), (64, 32), (32, 48)), 1),
}


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_one_kernel(name: str, dtype: torch.dtype) -> None:
    function, shapes, launches = CASES[name]
    inputs = [floats(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)]
    check(function, *inputs)
    torch.compiler.reset()
    (graph,) = explain(function, *inputs, options={"target": "gpu_emulated", "fallback": False}).graphs
    assert sum(graph.kernels.values()) == launches


def test_gradients() -> None:
    """Those of what three layers read, as of attention's queries, keys and values."""

    def loss(x: Tensor, u: Tensor, v: Tensor, w: Tensor) -> Tensor:
        return torch.tanh(x @ u) * (x @ v) + (x @ w).sigmoid()

    inputs = [floats(40, 48, dtype=torch.bfloat16, seed=1)]
    inputs += [floats(48, 36, dtype=torch.bfloat16, seed=i) for i in (2, 3, 4)]
    check(loss, *[t.requires_grad_() for t in inputs])


def test_symbolic_sums() -> None:
    function = compiled(added, dynamic=True)
    for rows, first, second in ((32, 24, 40), (33, 70, 17), (50, 17, 64)):
        inputs = [floats(rows, first), floats(first, 36), floats(rows, second), floats(second, 36)]
        halves = [t.to(torch.bfloat16) for t in inputs]
        verdict = judge(function(*halves), added(*halves), run_float64(Wrapped(added), halves))
        assert verdict, verdict.why


@pytest.mark.parametrize("value", [torch.inf, -torch.inf, torch.nan], ids=str)
def test_what_is_no_number(value: float) -> None:
    x, v, y, w = (floats(*s, dtype=torch.bfloat16) for s in ((33, 17), (17, 35), (33, 24), (24, 35)))
    x[5, 3] = value
    y[7, 0] = -value
    check(added, x, v, y, w)


def test_three_tiles_are_too_many() -> None:
    def product_of_three(x: Tensor, u: Tensor, v: Tensor, w: Tensor) -> Tensor:
        return (x @ u) * (x @ v) * (x @ w)

    inputs = [floats(64, 32, dtype=torch.bfloat16)]
    inputs += [floats(32, 48, dtype=torch.bfloat16, seed=i) for i in (1, 2, 3)]
    check(product_of_three, *inputs)
    torch.compiler.reset()
    (graph,) = explain(product_of_three, *inputs, options={"target": "gpu_emulated"}).graphs
    assert sum(graph.kernels.values()) == 2


def gradients_of_heads() -> str:
    """What three layers of 768 read, of gradients whose heads lie apart."""
    heads, turned, rows = (f"tensor<{size}xbf16>" for size in ("8x12x128x64", "8x128x12x64", "1024x768"))
    weights = "tensor<768x768xbf16>"
    given = ", ".join(f"%g{i}: {heads}, %w{i}: {weights}" for i in range(3))
    lines = [f"func.func @main({given}) -> {rows} {{"]
    for i in range(3):
        lines += [
            f"%t{i} = tw.transpose %g{i} by [0, 2, 1, 3] : {heads} -> {turned}",
            f"%r{i} = tw.reshape %t{i} : {turned} -> {rows}",
            f"%p{i} = tw.matmul %r{i}, %w{i} : ({rows}, {weights}) -> {rows}",
        ]
    lines += [f"%a = tw.add %p0, %p1 : {rows}", f"%b = tw.add %a, %p2 : {rows}"]
    return "\n".join([*lines, f"func.return %b : {rows}", "}"])


@pytest.mark.skipif(not triton_version(), reason="triton is not installed")
@pytest.mark.parametrize("target", UNITS)
def test_compiles_to_matrix_units_without_spills(target: str, tmp_path: Path) -> None:
    """With four warps, compilers for sm_90 hold more places of three loops than there are registers."""
    check_kernels(gradients_of_heads(), target, tmp_path, 1)
