"""Gradients of slices and selected rows of one product are joined, as those of `chunk` and `unbind` are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from test_gpu_emulated import OPTIONS, floats
from torch import Tensor
from torch.nn import functional as F

from benchmarks.numerics import judge
from tilewright.frontend.explain import Explanation, explain

Cut = Callable[[Tensor], tuple[Tensor, ...]]


def chunks(qkv: Tensor) -> tuple[Tensor, ...]:
    return qkv.chunk(3, -1)


def slices(qkv: Tensor) -> tuple[Tensor, ...]:
    n = qkv.shape[-1] // 3
    return qkv[..., :n], qkv[..., n : 2 * n], qkv[..., 2 * n :]


def rows(qkv: Tensor) -> tuple[Tensor, ...]:
    qkv = qkv.unflatten(-1, (3, -1)).movedim(-2, 0)
    return qkv[0], qkv[1], qkv[2]


def from_behind(qkv: Tensor) -> tuple[Tensor, ...]:
    v, k, q = reversed(tuple(qkv.unflatten(-1, (3, -1)).movedim(-2, 0)))
    return q, k, v


def twice(qkv: Tensor) -> tuple[Tensor, ...]:
    q, k, v = slices(qkv)
    return q, k + qkv[..., : q.shape[-1]], v


def some(qkv: Tensor) -> tuple[Tensor, ...]:
    """Nobody has the second third."""
    q, _, v = slices(qkv)
    return q, q, v


def ran(cut: Cut, dtype: torch.dtype, options: dict[str, Any]) -> Explanation:
    """The compiled step, of which results and gradients are right."""
    torch.compiler.reset()
    given = [floats(2, 9, 16, seed=0), floats(48, 16, seed=1), floats(48, seed=2)]

    def step(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        heads = [t.unflatten(-1, (2, 8)).transpose(1, 2) for t in cut(F.linear(x, w, b))]
        out = F.scaled_dot_product_attention(*heads)
        (out * torch.linspace(-1, 1, 9, dtype=out.dtype)[:, None]).sum().backward()  # pyright: ignore[reportUnknownMemberType]
        return out.detach()

    def run(call: Callable[..., Any], wide: torch.dtype) -> list[Any]:
        inputs = [value.to(dtype).to(wide, copy=True).requires_grad_() for value in given]
        return [call(*inputs), *(value.grad for value in inputs)]

    reports: list[Explanation] = []

    def ours(*inputs: Tensor) -> Tensor:
        reports.append(explain(step, *inputs, options=options))
        return reports[0].result

    verdict = judge(run(ours, dtype), run(step, dtype), run(step, torch.float64))
    assert verdict, verdict.why
    return reports[0]


def backward_launches(report: Explanation) -> int:
    (backward,) = (graph for graph in report.graphs if graph.kind == "backward")
    assert not backward.by_aten
    return sum(backward.kernels.values())


@pytest.mark.usefixtures("like_cuda")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("cut", [slices, rows, from_behind, twice, some], ids=lambda f: f.__name__)
def test_on_a_gpu_they_are_launches_of_chunks(cut: Cut, dtype: torch.dtype) -> None:
    launches = backward_launches(ran(cut, dtype, dict(OPTIONS)))
    assert launches <= backward_launches(ran(chunks, dtype, dict(OPTIONS))) + (cut in (twice, some))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("cut", [slices, rows, from_behind, twice, some], ids=lambda f: f.__name__)
def test_on_a_cpu(cut: Cut, dtype: torch.dtype) -> None:
    ran(cut, dtype, {})


@pytest.mark.parametrize("options", [dict(OPTIONS), {}], ids=["gpu", "cpu"])
@pytest.mark.usefixtures("like_cuda")
def test_who_sees_the_sign_of_a_zero_sees_that_of_the_sum(options: dict[str, Any]) -> None:
    """What is added to zeros is not -0.0."""
    torch.compiler.reset()

    def gradient(x: Tensor, g: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        (grad,) = torch.autograd.grad((x[:2] * g[:2]).sum() + (x[2:] * g[2:]).sum(), x)
        return grad

    x, g = torch.randn(5), torch.tensor([-0.0, 1.0, 0.0, -0.0, -3.0])
    found = torch.compile(gradient, backend="mlir", options=options)(x, g)
    assert torch.equal(torch.signbit(found), torch.signbit(gradient(x, g)))
