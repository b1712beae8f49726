"""Rows that are sorted or scanned, and of which elements or parts are taken: in one kernel, and right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from test_gpu_emulated import check, compiled, floats
from torch import Tensor

from benchmarks.numerics import judge
from tilewright.frontend.explain import explain
from tilewright.targets.gpu_triton.emulator.errors import KernelCheckFailed

Function = Callable[..., Any]


def deviations(x: Tensor) -> Tensor:
    """From the median, in medians of those."""
    apart = (x - x.median(-1, keepdim=True).values).abs()
    return apart / apart.median(-1, keepdim=True).values


def quartiles(x: Tensor) -> Tensor:
    return torch.quantile(x, 0.75, -1) - torch.quantile(x, 0.25, -1)


def largest(x: Tensor) -> Tensor:
    return (x >= torch.quantile(x, 0.95, -1, keepdim=True)) * x


def clipped(x: Tensor) -> Tensor:
    ordered = x.sort(-1).values
    return x.clamp(ordered[:, 2:3], ordered[:, -3:-2])


def routed(x: Tensor) -> tuple[Tensor, Tensor]:
    """The gate of a mixture of experts."""
    weights, experts = x.softmax(-1).topk(8, -1)
    return weights / weights.sum(-1, keepdim=True), experts


def routed_later(x: Tensor) -> tuple[Tensor, Tensor]:
    weights, experts = x.topk(6, -1)
    return weights.softmax(-1), experts


def nucleus(x: Tensor) -> Tensor:
    """What most of the probability is, of a few."""
    values, _ = x.topk(11, -1)
    shares = values.softmax(-1)
    return values.masked_fill(shares.cumsum(-1) - shares > 0.9, -1e9)


def cut_off(x: Tensor) -> Tensor:
    return x.masked_fill(x < x.topk(5, -1).values[..., -1:], float("-inf")).softmax(-1)


def typical(x: Tensor) -> Tensor:
    """Meister et al., "Locally typical sampling": sums of the row are in what is sorted."""
    logs = x.log_softmax(-1)
    apart = (-logs - -(logs.exp() * logs).sum(-1, keepdim=True)).abs()
    ordered, places = apart.sort(-1)
    before = (logs.exp().gather(-1, places).cumsum(-1) < 0.8).sum(-1, keepdim=True)
    return x.masked_fill(apart > ordered.gather(-1, before.clamp(max=x.shape[-1] - 1)), float("-inf"))


def trimmed(x: Tensor) -> Tensor:
    return x.sort(-1).values[:, 3:-4].mean(-1)


def trimmed_and_weighed(x: Tensor, w: Tensor) -> Tensor:
    return (x.sort(-1).values[:, 3:40] * w).amax(-1)


def decay(x: Tensor) -> Tensor:
    """As state space models weigh their steps: from each to the last."""
    steps = F.softplus(x).cumsum(-1)
    return (steps - steps[..., -1:]).exp()


def share(x: Tensor) -> Tensor:
    steps = x.abs().cumsum(-1)
    return steps / steps[..., -1:]


def last_and_middle(x: Tensor) -> tuple[Tensor, Tensor]:
    top = x.cummax(-1).values
    return top[:, -1], top[:, 20]


def median(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.median(-1)


def third_and_seventh(x: Tensor) -> tuple[Tensor, ...]:
    return (*x.kthvalue(3, -1), x.kthvalue(7, -1, keepdim=True).values)


def positions(x: Tensor) -> Tensor:
    return x.argsort(dim=-1, stable=True)


def ranks(x: Tensor) -> Tensor:
    return positions(positions(x))


def columns(x: Tensor) -> Tensor:
    return x.unsqueeze(-1).median(1).values.t()


CASES: dict[str, Function] = {
    "median": median,
    "kth": third_and_seventh,
    "deviations": deviations,
    "quartiles": quartiles,
    "largest": largest,
    "clipped": clipped,
    "routed": routed,
    "routed later": routed_later,
    "nucleus": nucleus,
    "cut off": cut_off,
    "typical": typical,
    "trimmed": trimmed,
    "decay": decay,
    "share": share,
    "last and middle": last_and_middle,
    "positions": positions,
    "ranks": ranks,
    "columns": columns,
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", CASES)
def test_one_kernel_is_right(name: str, dtype: torch.dtype) -> None:
    function, x = CASES[name], floats(29, 61, dtype=dtype)
    check(function, x)
    torch.compiler.reset()
    (graph,) = explain(function, x, options={"target": "gpu_emulated", "fallback": False}).graphs
    assert sum(graph.kernels.values()) == 1


@pytest.mark.parametrize("name", ["median", "deviations", "clipped", "share", "last and middle", "cut off"])
def test_halves_and_what_is_not_finite(name: str) -> None:
    function, x = CASES[name], floats(29, 61, dtype=torch.bfloat16)
    x[0, ::3], x[1, ::5], x[2] = float("inf"), float("-inf"), -0.0
    found, want = compiled(function)(x), function(x)
    verdict = judge(found, want, function(x.double()))
    assert verdict, verdict.why
    x[3, 7], x[4] = float("nan"), float("nan")
    if name not in ("median", "share"):  # positions of one of several; sums of what is not finite
        torch.testing.assert_close(compiled(function)(x), function(x), equal_nan=True, rtol=0.02, atol=0.02)


def fifth_of_the_least(x: Tensor) -> Tensor:
    return x.cummin(-1).values[:, 4]


def test_signs_of_zeros_are_kept() -> None:
    x = torch.full((5, 12), -0.0)
    found = compiled(fifth_of_the_least)(x)
    assert torch.equal(found, torch.zeros(5))
    assert torch.signbit(found).all()


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool])
def test_integers(dtype: torch.dtype) -> None:
    x = torch.randint(
        0, 2 if dtype == torch.bool else 120, (7, 33), generator=torch.Generator().manual_seed(0)
    )

    def function(x: Tensor) -> tuple[Tensor, ...]:
        ordered = x.sort(dim=-1, stable=True)
        return ordered.values[:, 5], ordered.indices[:, 30:31], x.cumsum(-1)[:, -1]

    x = x.to(dtype)
    for got, want in zip(compiled(function)(x), function(x), strict=True):
        assert torch.equal(got, want)


def test_an_index_that_is_none_is_told() -> None:
    def function(x: Tensor, i: Tensor) -> Tensor:
        return x.sort(-1).values.gather(-1, i)

    x, i = floats(7, 33), torch.full((7, 1), 32)
    assert torch.equal(compiled(function)(x, i), function(x, i))
    i[3] = 33
    with pytest.raises(KernelCheckFailed, match="index out of range"):
        compiled(function)(x, i)


@pytest.mark.parametrize("name", ["deviations", "routed", "trimmed", "share"])
def test_any_number_of_rows(name: str) -> None:
    function = CASES[name]
    ours = compiled(function)
    for rows in (3, 5, 8):
        x = floats(rows, 61)
        torch._dynamo.mark_dynamic(x, 0)
        verdict = judge(ours(x), function(x), function(x.double()))
        assert verdict, verdict.why


def test_what_else_is_read_of_the_part() -> None:
    check(trimmed_and_weighed, floats(29, 61), floats(37))


def test_no_rows() -> None:
    for function in (deviations, routed, trimmed, share, clipped):
        check(function, floats(0, 61))


def written_out(x: Tensor) -> tuple[Tensor, ...]:
    return x.prod(-1), x.cumsum(-1), x.cumprod(-1).sin(), x.cummax(-1).values


def columns_written_out(x: Tensor) -> Tensor:
    return x.cumsum(0) + x.cumprod(0)


@pytest.mark.parametrize("length", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_short_scans(length: int, dtype: torch.dtype) -> None:
    x = floats(29, length, dtype=dtype)
    check(written_out, x)
    check(columns_written_out, x.t().contiguous())


@pytest.mark.parametrize("length", [2, 3])
def test_gradients_of_short_products(length: int) -> None:
    """Zeros, too, which nothing is divided by."""
    x = floats(29, length)
    x[3, 1], x[4] = 0.0, 0.0

    def gradient(how: Function, x: Tensor) -> Tensor:
        x = x.clone().requires_grad_()
        return torch.autograd.grad(how(x).square().sum(), x)[0]

    def volume(x: Tensor) -> Tensor:
        return (x.abs() + x).prod(-1)

    verdict = judge(gradient(compiled(volume), x), gradient(volume, x), gradient(volume, x.double()))
    assert verdict, verdict.why
