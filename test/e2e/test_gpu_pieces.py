"""Pieces that are joined, rows that several read, indices that are computed: one kernel, that is right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from test_gpu_emulated import check, compiled, floats
from torch import Tensor

from benchmarks.numerics import judge
from tilewright.frontend.explain import explain

Function = Callable[..., Any]


def detector(x: Tensor) -> Tensor:
    """Boxes, their sizes and classes, each decoded in its own way."""
    return torch.cat(
        [x[..., :2].sigmoid() * 2 - 0.5, (x[..., 2:4].sigmoid() * 2) ** 2, x[..., 4:].sigmoid()], -1
    )


def spherical(x: Tensor) -> Tensor:
    r = x.norm(dim=-1)
    return torch.stack([r, torch.acos(x[..., 2] / r), torch.atan2(x[..., 1], x[..., 0])], -1)


def emphasis(x: Tensor) -> Tensor:
    return torch.cat([x[:, :1], x[:, 1:] - 0.97 * x[:, :-1]], 1)


def deltas(x: Tensor) -> Tensor:
    return torch.cat([x[:, :1], x[:, 1:] - x[:, :-1], x[:, -1:]], 1).sin()


def experts(y: Tensor, order: Tensor, weight: Tensor) -> Tensor:
    return (y[order].view(-1, 2, y.shape[-1]) * weight[..., None]).sum(1)


def halved(x: Tensor, places: Tensor) -> Tensor:
    return x[places // 2] * 2


def by_threes(x: Tensor, places: Tensor) -> Tensor:
    """Quotients of either sign."""
    return x[(places - 7) // 3] + x[places // -2 + 9] + x[-places % 7 - 7]


def smoothed(x: Tensor) -> Tensor:
    """What is left of a moving mean, whose borders are repeated."""
    wide = torch.cat([x[:, :1].repeat(1, 6, 1), x, x[:, -1:].repeat(1, 6, 1)], 1)
    return x - F.avg_pool1d(wide.permute(0, 2, 1), 13, 1).permute(0, 2, 1)


def rank_one(a: Tensor, b: Tensor) -> Tensor:
    return torch.outer(a, b) + 1


PLACES = torch.arange(24) * 5 % 22
CASES: dict[str, tuple[Function, tuple[Tensor, ...]]] = {
    "detector": (detector, (floats(2, 3, 4, 5, 11),)),
    "spherical": (spherical, (floats(29, 3),)),
    "emphasis": (emphasis, (floats(3, 37),)),
    "deltas": (deltas, (floats(3, 37),)),
    "experts": (experts, (floats(22, 40), PLACES[:22], floats(11, 2))),
    "halved": (halved, (floats(11, 40), PLACES)),
    "by threes": (by_threes, (floats(11, 40), PLACES % 12)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("name", CASES)
def test_one_kernel_is_right(name: str, dtype: torch.dtype) -> None:
    function, given = CASES[name]
    inputs = [value.to(dtype) if value.is_floating_point() else value for value in given]
    check(function, *inputs)
    torch.compiler.reset()
    (graph,) = explain(function, *inputs, options={"target": "gpu_emulated", "fallback": False}).graphs
    assert sum(graph.kernels.values()) == 1


@pytest.mark.parametrize("name", CASES)
def test_gradients(name: str) -> None:
    judged(*CASES[name])


@pytest.mark.parametrize(
    ("function", "inputs"),
    [(smoothed, (floats(3, 37, 5),)), (rank_one, (floats(256), floats(130)))],
    ids=["smoothed", "rank one"],
)
def test_gradients_that_read_rows_once(function: Function, inputs: tuple[Tensor, ...]) -> None:
    judged(function, inputs)


def judged(function: Function, inputs: Sequence[Tensor]) -> None:
    def gradients(how: Function, dtype: torch.dtype) -> list[Tensor]:
        floating = [value.is_floating_point() for value in inputs]
        given = [v.to(dtype).clone() if of else v for v, of in zip(inputs, floating, strict=True)]
        leaves = [v.requires_grad_() for v, of in zip(given, floating, strict=True) if of]
        return list(torch.autograd.grad(how(*given).square().sum(), leaves))

    ours, theirs = (gradients(how, torch.float32) for how in (compiled(function), function))
    verdict = judge(ours, theirs, gradients(function, torch.float64))
    assert verdict, verdict.why


@pytest.mark.parametrize("function", [emphasis, deltas, detector])
def test_no_elements(function: Function) -> None:
    check(function, floats(0, 4) if function is not detector else floats(0, 7))


@pytest.mark.parametrize("name", ["emphasis", "deltas", "experts", "halved"])
def test_symbolic_sizes(name: str) -> None:
    function, inputs = CASES[name]
    for count in (2, 3):
        rows = [torch.cat([value] * count, 0) if value is not inputs[0] else value for value in inputs]
        check(function, *(rows if len(inputs) > 1 else [torch.cat([inputs[0]] * count, 1)]))


def test_what_is_not_finite() -> None:
    x = floats(3, 37)
    x[0, ::3], x[1, ::5], x[:, 0] = float("nan"), float("inf"), float("-inf")
    check(emphasis, x)
    check(deltas, x.clamp(-1, 1))
