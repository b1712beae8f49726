"""Adaptive pooling with windows of different sizes, and gradients of averages, against eager."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from judged import judged_with_gradients
from torch import Tensor

from tilewright.frontend.decompositions.pooling import poolings
from tilewright.frontend.explain import explain

PLANES = [((2, 3, 9, 11), (4, 5)), ((3, 7, 5), (9, 2)), ((2, 3, 6, 4), (3, 4)), ((1, 2, 6, 7, 8), (4, 3, 5))]
WINDOWS: list[tuple[Any, ...]] = [
    ((3, 2, 2), (), 0, False, True, None),
    ((3, 3, 3), (2, 2, 2), 1, True, True, None),
    ((3, 3, 3), (2, 1, 2), 1, True, False, None),
    ((2, 3, 3), (2, 3, 2), (1, 1, 0), True, True, 7),
    ((2, 2, 2), (3, 3, 3), 0, False, True, None),
    ((3, 3, 2), (2, 2, 3), 1, False, False, None),
]


def random(*sizes: int) -> Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("sizes", "result"), PLANES, ids=str)
def test_as_written_out(sizes: tuple[int, ...], result: tuple[int, ...]) -> None:
    """Before any of it is compiled."""
    rows = {str(op): row for op, row in poolings().items()}
    rank, aten = len(result), torch.ops.aten
    x = random(*sizes)
    want = getattr(aten, f"_adaptive_avg_pool{rank}d")(x, result)
    even = all(n % count == 0 for n, count in zip(sizes[-rank:], result, strict=True))
    found = rows[f"aten._adaptive_avg_pool{rank}d.default"](x, result)
    assert even == (found is NotImplemented)
    if not even:
        torch.testing.assert_close(found, want)
    w = random(*want.shape)
    found = rows[f"aten._adaptive_avg_pool{rank}d_backward.default"](w, x)
    torch.testing.assert_close(found, getattr(aten, f"_adaptive_avg_pool{rank}d_backward")(w, x))
    x[..., 2, 1], x[..., 4, 2], x[0, 1] = nan, nan, -inf
    pair = getattr(aten, f"adaptive_max_pool{rank}d")(x, result)
    for got, expected in zip(rows[f"aten.adaptive_max_pool{rank}d.default"](x, result), pair, strict=True):
        torch.testing.assert_close(got, expected, equal_nan=True)


@pytest.mark.usefixtures("like_cuda")
@pytest.mark.parametrize("how", WINDOWS, ids=str)
def test_gradients_of_averages(how: tuple[Any, ...]) -> None:
    rows, aten = {str(op): row for op, row in poolings().items()}, torch.ops.aten
    x = random(1, 2, 6, 7, 8)
    w = random(*aten.avg_pool3d(x, *how).shape)
    found = rows["aten.avg_pool3d_backward.default"](w, x, *how)
    torch.testing.assert_close(found, aten.avg_pool3d_backward(w, x, *how))
    beyond = (9, 3), (1, 1), (4, 1), False, False, None  # windows that are larger than the plane
    for of_planes in (tuple(value[1:] if isinstance(value, tuple) else value for value in how), beyond):
        w = random(*aten.avg_pool2d(x[0], *of_planes).shape)
        found = rows["aten.avg_pool2d_backward.default"](w, x[0], *of_planes)
        torch.testing.assert_close(found, aten.avg_pool2d_backward(w, x[0], *of_planes))


def mixed(x: Tensor) -> Tensor:
    """As the mixer of PoolFormer: what is averaged is normalised, and subtracted."""
    y = F.group_norm(x, 1)
    return x + 0.5 * (F.avg_pool2d(y, 3, 1, 1, count_include_pad=False) - y)


AVERAGED: dict[str, Callable[[Tensor], Tensor]] = {
    "in blocks": lambda x: F.avg_pool2d(x.exp(), 2).square(),
    "with strides": lambda x: F.avg_pool2d(x.exp(), 3, 2, 1).square(),
    "of what is in the plane": lambda x: F.silu(F.avg_pool2d(F.silu(x), 3, 1, 1, count_include_pad=False)),
    "behind a norm": mixed,
    "behind statistics": lambda x: F.avg_pool2d(
        F.batch_norm(x, None, None, training=True).relu(), 3, 1, 1, count_include_pad=False
    ).square(),
}


@pytest.mark.usefixtures("like_cuda")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("averaged", AVERAGED.values(), ids=AVERAGED)
def test_gradients_of_averages_of_planes_fuse(
    averaged: Callable[[Tensor], Tensor], dtype: torch.dtype
) -> None:
    """With what stands before and behind: ATen has no part in it on a GPU."""
    x = random(2, 3, 7, 10).to(dtype)
    found = judged_with_gradients(averaged, [x], {"target": "gpu_emulated", "fallback": False})
    assert not any(graph.library_calls for graph in found.graphs)


def test_no_call_of_aten() -> None:
    def function(x: Tensor, y: Tensor) -> list[Tensor]:
        with torch.enable_grad():
            x, y = x.detach().requires_grad_(), y.detach().requires_grad_()
            made = [F.adaptive_avg_pool2d(x, (3, 4)), F.adaptive_max_pool2d(x, 5), F.avg_pool3d(y, 3, 2, 1)]
            found = torch.autograd.grad(sum(t.square().sum() for t in made), (x, y))
            return [*(t.detach() for t in made), *found]

    for target in ("cpu_openmp", "gpu_emulated"):
        torch._dynamo.reset()
        given = random(2, 2, 7, 9).contiguous(memory_format=torch.channels_last), random(1, 2, 5, 5, 4)
        found = explain(function, *given, options={"target": target, "fallback": False})
        assert not any(graph.library_calls for graph in found.graphs)
        for got, want in zip(found.result, function(*given), strict=True):
            torch.testing.assert_close(got, want)
            assert got.stride() == want.stride()
