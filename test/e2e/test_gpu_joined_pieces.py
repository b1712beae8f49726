"""Pieces of concatenations that are stored are computed where they belong, though others read them, too."""

from __future__ import annotations

import pytest
import torch
from test_gpu_emulated import OPTIONS, Function, floats
from torch import Tensor
from torch.nn import functional as F

from benchmarks.numerics import judge
from tilewright.frontend.explain import Explanation, explain


def pooled(x: Tensor, _: Tensor) -> Tensor:
    """Pools of several windows beside the image: their maxima are compared with it for the gradient."""
    return torch.cat([x, *(F.max_pool2d(x, size, 1, size // 2) for size in (3, 5))], 1)


def gates(x: Tensor, h: Tensor) -> Tensor:
    """The gradients of both operands of a recurrent cell's gates share two of three pieces."""
    (r, z, n), (s, t, m) = x.flatten(1).chunk(3, 1), h.flatten(1).chunk(3, 1)
    return (r + s).sigmoid() * n + (z + t).sigmoid() * torch.tanh(n + (r + s).sigmoid() * m)


@pytest.mark.usefixtures("like_cuda")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("function", "launches"), [(pooled, (2, 2)), (gates, (1, 1))])
def test_values_and_gradients(function: Function, launches: tuple[int, int], dtype: torch.dtype) -> None:
    torch.compiler.reset()
    given = [floats(2, 3, 7, 6, seed=seed).to(dtype) for seed in (0, 1)]
    reports: list[Explanation] = []

    def step(x: Tensor, y: Tensor) -> Tensor:
        out = function(x, y)
        weights = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
        (out * weights).sum().backward()  # pyright: ignore[reportUnknownMemberType]
        return out.detach()

    def run(call: Function, wide: torch.dtype) -> list[Tensor | None]:
        x, y = (value.to(wide, copy=True).requires_grad_() for value in given)
        return [call(x, y), x.grad, y.grad]

    def ours(x: Tensor, y: Tensor) -> Tensor:
        reports.append(explain(step, x, y, options=OPTIONS))
        return reports[0].result

    verdict = judge(run(ours, dtype), run(step, dtype), run(step, torch.float64))
    assert verdict, verdict.why
    forward, backward, *_ = reports[0].graphs
    assert (sum(forward.kernels.values()), sum(backward.kernels.values())) == launches


def steps(x: Tensor, y: Tensor) -> Tensor:
    """The states of a recurrence, each of which the next one is computed of."""
    states = [x]
    for _ in range(5):
        states.append(torch.tanh(states[-1] * y))
    return torch.stack(states[1:])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_states_are_computed_once(dtype: torch.dtype) -> None:
    torch.compiler.reset()
    given = [floats(64, 256, seed=seed).to(dtype) for seed in (0, 1)]
    found = explain(steps, *given, options=OPTIONS)
    verdict = judge(found.result, steps(*given), steps(*(value.double() for value in given)))
    assert verdict, verdict.why
    assert sum(found.graphs[0].kernels.values()) == 1
    assert found.graphs[0].arena_bytes == "0", "nothing is stored elsewhere first"


def cached(x: Tensor, w: Tensor, cache: Tensor) -> Tensor:
    """Keys of new rows behind those of a cache: heads of a projection, which stores them there."""
    rows, (_, heads, _, depth) = x.shape[1], cache.shape
    new = (x @ w).view(-1, rows, heads, depth).transpose(1, 2)
    return torch.cat([cache, new], 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("batch", "rows"), [(1, 1), (2, 1), (2, 5), (1, 37)])
def test_rows_that_join_a_cache(batch: int, rows: int, dtype: torch.dtype) -> None:
    torch.compiler.reset()
    inputs = [floats(batch, rows, 48), floats(48, 60), floats(batch, 3, 9, 20)]
    given = [value.to(dtype) for value in inputs]
    found = explain(cached, *given, options=OPTIONS)
    verdict = judge(found.result, cached(*given), cached(*(value.double() for value in given)))
    assert verdict, verdict.why
    if dtype != torch.float32:  # which is a library's
        assert found.graphs[0].arena_bytes == "0", "nothing is stored elsewhere first"
