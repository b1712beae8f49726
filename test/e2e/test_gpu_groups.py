"""Launches of several kernels at once: host functions, driver calls and kernels' text are real."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from emulated_gpu import EmulatedGpu, compiled
from torch import Tensor, nn

from tilewright.frontend.explain import explain

SHAPES = ((16, 24), (24,), (33, 7), (77,), (), (0,), (16, 24), (40, 16))


def tensors(*dtypes: torch.dtype) -> list[Tensor]:
    kinds = dtypes or (torch.float32,)
    return [torch.randn(shape).to(kinds[i % len(kinds)]) for i, shape in enumerate(SHAPES)]


def check(function: Callable[..., Any], *args: Any) -> None:
    """Results and what is written to arguments are eager mode's."""
    copies = [[t.clone() for t in arg] if isinstance(arg, list) else arg.clone() for arg in args]
    torch.testing.assert_close(compiled(function)(*args), function(*copies))
    torch.testing.assert_close(args, tuple(copies))


def test_a_step_of_an_optimizer(gpu: EmulatedGpu) -> None:
    def made() -> tuple[list[nn.Parameter], torch.optim.Optimizer]:
        torch.manual_seed(1)  # pyright: ignore[reportUnknownMemberType]
        parameters = [nn.Parameter(t) for t in tensors()]
        for parameter in parameters:
            parameter.grad = torch.randn_like(parameter)
        return parameters, torch.optim.AdamW(parameters, lr=0.1, foreach=True)

    (expected, eager), (parameters, optimizer) = made(), made()
    for step in (eager.step, eager.step, optimizer.step, compiled(optimizer.step)):
        step()
    torch.testing.assert_close(parameters, expected)
    assert len(gpu.driver.launches()) == 2  # all counts of steps, then all parameters


def test_norms_their_norm_and_all_scaled(gpu: EmulatedGpu) -> None:
    def clip(grads: list[Tensor]) -> Tensor:
        total = torch.stack([torch.linalg.vector_norm(g.float()) for g in grads]).norm()
        torch._foreach_mul_(grads, (1.0 / (total + 1e-6)).clamp(max=1.0))
        return total

    check(clip, tensors(torch.float32, torch.float32, torch.bfloat16))
    assert len(gpu.driver.launches()) == 3
    (unit,) = gpu.units
    assert len(unit.text.splitlines()) < 280


def test_sizes_that_only_the_run_knows(gpu: EmulatedGpu) -> None:
    def average(p: list[Tensor], q: list[Tensor], steps: Tensor) -> None:
        torch._foreach_lerp_(p, q, 0.1)
        steps.add_(1)

    run = compiled(average, dynamic=True)
    for n in (5, 130):
        p, steps = [torch.randn(n, 8), torch.randn(n), torch.randn(3, n + 2)], torch.zeros(())
        q, expected = [torch.randn_like(t) for t in p], [t.clone() for t in p]
        average(expected, q, torch.zeros(()))
        run(p, q, steps)
        torch.testing.assert_close(p, expected)
        assert steps == 1
    assert len(gpu.units) == 1
    assert len(gpu.driver.launches()) == 2


def test_views_of_one_tensor_wait_for_each_other(gpu: EmulatedGpu) -> None:
    def update(base: Tensor, other: Tensor) -> None:
        base[:40].mul_(2)
        base[20:].add_(other)
        base[3:].mul_(0.5)
        other.mul_(3)

    check(update, torch.randn(60), torch.randn(40))


def test_rows_that_are_scanned_and_sorted(gpu: EmulatedGpu) -> None:
    def ranked(x: Tensor, y: Tensor, z: Tensor) -> list[Tensor]:
        values, places = torch.sort(y, dim=-1, descending=True, stable=True)
        return [x.cumsum(-1), values, places, z.flip(1).cumprod(1), x.exp() * 2, y.logcumsumexp(0)]

    x, y, z = (torch.rand(shape) for shape in ((9, 37), (13, 21), (3, 50, 2)))
    y[2, 5], y[3, 1:7] = float("nan"), -0.0
    torch.testing.assert_close(compiled(ranked)(x, y, z), ranked(x, y, z), equal_nan=True)
    assert len(gpu.driver.launches()) == 1


def test_explain_says_what_is_launched(gpu: EmulatedGpu) -> None:
    def decay(p: list[Tensor]) -> None:
        torch._foreach_mul_(p, 0.9)

    found = explain(decay, tensors(), options={"target": "gpu_triton", "fallback": False})
    assert found.graphs[0].kernels == {"mul_group": 1}
