"""Tensors that one kernel reduces and changes in place: nothing is copied, and nothing is read too late."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from emulated_gpu import EmulatedGpu, compiled
from judged import judged_with_what_changes
from torch import Tensor

from tilewright.frontend.explain import explain

Function = Callable[..., Any]


def sums_of_rows(x: Tensor, by: Tensor) -> Tensor:
    s = x.sum(1)
    x.mul_(by)
    return s


def sums_of_columns(x: Tensor, by: Tensor) -> Tensor:
    s = x.sum(0)
    x.mul_(by)
    return s


def sums_of_all(x: Tensor, by: Tensor) -> Tensor:
    s = x.float().sum()
    x.mul_(by)
    return s


def unscaled(x: Tensor, by: Tensor) -> Tensor:
    found = (~torch.isfinite(x)).any()
    x.mul_(by)
    return found


def normalized(x: Tensor, by: Tensor) -> Tensor:
    norms = x.norm(dim=1, keepdim=True)
    x.div_(norms + by)
    return norms


def logarithms(x: Tensor, by: Tensor) -> Tensor:
    total = torch.logsumexp(x, 1)
    x.copy_((x - total[:, None]) * by)
    return total


def two_results(x: Tensor, by: Tensor) -> tuple[Tensor, Tensor]:
    y, s = x.exp(), x.mean(1)
    x.mul_(by)
    return y, s


# What is read again behind a reduction: the store waits for it.


def sums_below_the_largest(x: Tensor, by: Tensor) -> Tensor:
    s = (x - x.amax(1, keepdim=True)).abs().sum(1)
    x.mul_(by)
    return s


def another_store(x: Tensor, by: Tensor) -> Tensor:
    y = x - x.amax(1, keepdim=True)
    x.mul_(by)
    return y


def added_and_normalized(x: Tensor, by: Tensor) -> Tensor:
    x.add_(by)
    return torch.nn.functional.layer_norm(x, x.shape[1:])


def scaled_to_logarithms(x: Tensor, by: Tensor) -> Tensor:
    x.mul_(by)
    return x.log_softmax(1)


def powers_below_the_largest(x: Tensor, by: Tensor) -> Tensor:
    x.mul_(by)
    y = x - x.amax(1, keepdim=True)
    return y.exp() * y.pow(2).sum(1, keepdim=True)


def running(x: Tensor, by: Tensor) -> Tensor:
    x.copy_(x.cumsum(1) * by)
    return x.amin(1)


def running_over_their_sum(x: Tensor, by: Tensor) -> Tensor:
    x.copy_(x.cumsum(1))
    return x / (x.sum(1, keepdim=True) + by)


# What must not be in place: something is read elsewhere, or in another order.


def both_ways(x: Tensor, by: Tensor) -> tuple[Tensor, Tensor]:
    s, t = x.sum(0), x.sum(1)
    x.mul_(by)
    return s, t


def turned(x: Tensor, by: Tensor) -> tuple[Tensor, Tensor]:
    s, y = x.sum(1), x.t() * by
    x.mul_(by)
    return s, y


def moved(x: Tensor, by: Tensor) -> Tensor:
    s = x.sum(1)
    x.copy_(torch.roll(x, 1, 1) * by)
    return s


IN_PLACE: Sequence[Function] = (
    *(sums_of_rows, sums_of_columns, sums_of_all, unscaled, normalized, logarithms, two_results),
    *(sums_below_the_largest, another_store, added_and_normalized, scaled_to_logarithms),
    *(powers_below_the_largest, running, running_over_their_sum),
)
READ_ELSEWHERE: Sequence[Function] = (both_ways, turned, moved)
EXTREMES: Sequence[Function] = (*(sums_below_the_largest, another_store, powers_below_the_largest, running),)
CASES: Sequence[tuple[int, int, str]] = (
    *((5, 7, "rows"), (1, 33, "every_other"), (64, 20, "columns"), (33, 1, "rows")),
    *((300, 257, "part"), (3, 9001, "rows"), (2050, 5, "columns"), (3, 0, "rows")),
)


def tensor(rows: int, columns: int, layout: str) -> Tensor:
    match layout:
        case "columns":
            return torch.rand(columns, rows).t()
        case "part":
            return torch.rand(rows, columns + 3)[:, 1 : columns + 1]
        case "every_other":
            return torch.rand(rows * 2, columns)[::2]
        case _:
            return torch.rand(rows, columns)


def alike(function: Function, run: Function, x: Tensor) -> None:
    """No sum cancels: this is about what is read when."""
    judged_with_what_changes(function, run, x, torch.tensor(0.5, dtype=x.dtype))


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("function", [*IN_PLACE, *READ_ELSEWHERE], ids=lambda f: f.__name__)
def test_on_a_gpu(gpu: EmulatedGpu, function: Function, case: tuple[int, int, str]) -> None:
    if 0 in case and function in EXTREMES:
        pytest.skip("nothing has no largest element")
    alike(function, compiled(function), tensor(*case))


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("function", [*IN_PLACE, *READ_ELSEWHERE], ids=lambda f: f.__name__)
def test_on_a_cpu(function: Function, case: tuple[int, int, str]) -> None:
    if 0 in case and function in EXTREMES:
        pytest.skip("nothing has no largest element")
    torch._dynamo.reset()
    alike(function, torch.compile(function, backend="mlir"), tensor(*case))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64], ids=str)
@pytest.mark.parametrize("function", IN_PLACE, ids=lambda f: f.__name__)
def test_other_types(gpu: EmulatedGpu, function: Function, dtype: torch.dtype) -> None:
    alike(function, compiled(function), torch.rand(17, 130).to(dtype))


@pytest.mark.parametrize("size", [(40, 130), (3, 9001)], ids=str)
@pytest.mark.parametrize("function", IN_PLACE, ids=lambda f: f.__name__)
def test_nothing_is_copied(gpu: EmulatedGpu, function: Function, size: tuple[int, int]) -> None:
    if size[1] > 9000 and function in (sums_of_all, unscaled):
        pytest.skip("added up in parts")
    alike(function, compiled(function), torch.rand(size))
    assert not any("copy" in name for name in gpu.launched())
    assert len(gpu.launched()) == 1


@pytest.mark.parametrize("function", IN_PLACE, ids=lambda f: f.__name__)
def test_nothing_is_copied_on_a_cpu(function: Function) -> None:
    torch._dynamo.reset()
    found = explain(function, torch.rand(40, 130), torch.tensor(0.5), options={"fallback": False})
    assert found.kernels == (2 if function in (running, running_over_their_sum) else 1)


@pytest.mark.parametrize("size", [(40, 130), (4, 9001), (33, 3), (1, 20), (1030, 8)], ids=str)
def test_states_of_rows(gpu: EmulatedGpu, size: tuple[int, int]) -> None:
    """An optimizer has a number for each row, and a scale of its state of 8 bits: one kernel changes all."""

    def step(p: Tensor, g: Tensor, s: Tensor, m: Tensor, scale: Tensor) -> None:
        s.add_(g.pow(2).mean(1))
        wide = 0.9 * m * scale[:, None] + 0.1 * g
        largest = wide.abs().amax(1)
        scale.copy_(largest / 127)
        m.copy_((wide / (largest[:, None] + 1e-9) * 127).round().to(torch.int8))
        p.sub_(wide / (s.sqrt()[:, None] + 1e-3))

    rows = size[0]
    mine = [
        *(torch.rand(size), torch.rand(size), torch.rand(rows)),
        *(torch.randint(-127, 128, size, dtype=torch.int8), torch.rand(rows)),
    ]
    theirs = [t.clone() for t in mine]
    compiled(step)(*mine)
    step(*theirs)
    for found, wanted in zip(mine, theirs, strict=True):
        torch.testing.assert_close(
            found.float(), wanted.float(), atol=1 if found.dtype == torch.int8 else 1e-5, rtol=1e-5
        )
    assert len(gpu.launched()) == 1


@pytest.mark.parametrize("size", [(4099, 130), (130, 4099)], ids=str)
@pytest.mark.parametrize("function", [sums_of_columns, sums_of_all, unscaled], ids=lambda f: f.__name__)
def test_nothing_is_copied_in_parts(gpu: EmulatedGpu, function: Function, size: tuple[int, int]) -> None:
    """Sums of which each program makes a part, the last one a shorter one."""
    alike(function, compiled(function), torch.rand(size))
    assert not any("copy" in name for name in gpu.launched())
    assert len(gpu.launched()) <= 2


def test_many_are_unscaled_by_one_launch(gpu: EmulatedGpu) -> None:
    """Small tensors have the warps of the largest one: threads wait before they store what others load."""

    def unscale(grads: list[Tensor], by: Tensor) -> Tensor:
        found = torch.zeros(())
        for grad in grads:
            found = torch.maximum(found, (~torch.isfinite(grad)).any().float())
            grad.mul_(by)
        return found

    def grads() -> list[Tensor]:
        torch.manual_seed(3)  # pyright: ignore[reportUnknownMemberType]
        return [torch.rand(size) for size in ((300, 20), (20,), (30, 33), (64,))]

    by = torch.tensor(0.25)
    for infinite in (False, True):
        mine, theirs = grads(), grads()
        if infinite:
            mine[2][3, 4] = theirs[2][3, 4] = float("inf")
        torch.testing.assert_close(compiled(unscale)(mine, by), unscale(theirs, by))
        torch.testing.assert_close(mine, theirs)
    (unit,) = gpu.units
    assert "tl.debug_barrier()" in unit.text
    assert not any("copy" in name for name in gpu.launched())


def test_a_step_of_lamb(gpu: EmulatedGpu) -> None:
    """Moments and an update are made by the kernel that sums parts of two norms."""

    def step(p: Tensor, g: Tensor, m: Tensor, v: Tensor) -> None:
        m.mul_(0.9).add_(g, alpha=0.1)
        v.mul_(0.999).addcmul_(g, g, value=0.001)
        update = m / (v.sqrt() + 1e-6) + 0.01 * p
        p.sub_(1e-3 * p.norm() / update.norm() * update)

    mine = [torch.rand(521, 300) for _ in range(4)]
    theirs = [t.clone() for t in mine]
    compiled(step)(*mine)
    step(*theirs)
    torch.testing.assert_close(mine, theirs)
    assert len(gpu.launched()) == 3
    assert not any("copy" in name for name in gpu.launched())
