"""Arguments of which slices are assigned: only these are written, and read before that."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from emulated_gpu import EmulatedGpu, compiled
from judged import judged_with_what_changes
from torch import Tensor
from torch.nn.functional import layer_norm

from tilewright.frontend.explain import explain

Step = Callable[[Tensor, Tensor], Tensor | None]


def added(x: Tensor, y: Tensor) -> None:
    x[:, :3] += y[:, :3]


def normalized(x: Tensor, y: Tensor) -> None:
    x[:, 1:6] = layer_norm(x[:, 1:6], (5,))


def gated(x: Tensor, y: Tensor) -> Tensor:
    a, b = x.chunk(2, 1)
    a.mul_(torch.sigmoid(b))
    return a.sum(1)


def added_and_normalized(x: Tensor, y: Tensor) -> Tensor:
    x[:, 1:6] += y[:, 1:6]
    return layer_norm(x[:, 1:6], (5,))


def rotated(x: Tensor, y: Tensor) -> None:
    a, b = x[:, :4].clone(), x[:, 4:].clone()
    x[:, :4] = a * y[:, :4] - b * y[:, 4:]
    x[:, 4:] = b * y[:, :4] + a * y[:, 4:]


def both_ends(x: Tensor, y: Tensor) -> None:
    x[:2] *= 2
    x[-1:] = y[:1] + x[2:3]


def every_other_row(x: Tensor, y: Tensor) -> None:
    x[::2] = y[::2].exp() + x[1::2]


def every_other_column(x: Tensor, y: Tensor) -> None:
    x[:, 1::2] -= x[:, ::2]


def one_column(x: Tensor, y: Tensor) -> None:
    x[:, 2] = x.sum(1)


def one_number(x: Tensor, y: Tensor) -> None:
    x[1] = 3.0


# What must not be stored at once.


def moved(x: Tensor, y: Tensor) -> None:
    x[:, 1:] = x[:, :-1].clone()


def copied_across(x: Tensor, y: Tensor) -> None:
    a, b = x[:, :4].clone(), x[:, 4:].clone()
    x[:, :4] = b
    x[:, 4:] = a


def one_over_another(x: Tensor, y: Tensor) -> None:
    x[:, :4] = y[:, :4]
    x[:, 2:6] = y[:, 2:6] * 2


def another_over_one(x: Tensor, y: Tensor) -> None:
    x[:, 2:6] = y[:, 2:6] * 2
    x[:, :4] = y[:, :4]


def of_neighbours(x: Tensor, y: Tensor) -> None:
    x[1:-1, 1:-1] += 0.1 * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])


def read_later(x: Tensor, y: Tensor) -> Tensor:
    x[:, :4] *= y[:, :4]
    return (x @ y.mT).sum(1)


def with_the_old(x: Tensor, y: Tensor) -> Tensor:
    old = x * 1.5
    x[:, :4] = y[:, :4].cos()
    return old


AT_ONCE: tuple[Step, ...] = (
    added,
    normalized,
    gated,
    rotated,
    every_other_column,
    one_number,
    added_and_normalized,
)
OTHERS: tuple[Step, ...] = (
    *(both_ends, every_other_row, one_column, moved, copied_across, one_over_another, another_over_one),
    *(of_neighbours, read_later, with_the_old),
)
LAYOUTS = ("rows", "columns", "part", "every_other")


def numbers(rows: int, layout: str) -> Tensor:
    """[rows, 8] as the layout says; odd ones in what lies around it."""
    torch.manual_seed(rows)  # pyright: ignore[reportUnknownMemberType]
    match layout:
        case "columns":
            return torch.rand(8, rows).t()
        case "part":
            return torch.rand(rows, 11)[:, 2:10]
        case "every_other":
            return torch.rand(rows * 2, 8)[::2]
        case _:
            return torch.rand(rows, 8)


def alike(step: Step, run: Step, x: Tensor) -> None:
    judged_with_what_changes(step, run, x, torch.rand_like(x))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("step", [*AT_ONCE, *OTHERS], ids=lambda f: f.__name__)
def test_on_a_gpu(gpu: EmulatedGpu, step: Step, layout: str) -> None:
    alike(step, compiled(step), numbers(6, layout))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("step", [*AT_ONCE, *OTHERS], ids=lambda f: f.__name__)
def test_on_a_cpu(step: Step, layout: str) -> None:
    torch._dynamo.reset()
    alike(step, torch.compile(step, backend="mlir"), numbers(6, layout))


@pytest.mark.parametrize("rows", [0, 2, 300])
@pytest.mark.parametrize("step", AT_ONCE, ids=lambda f: f.__name__)
def test_other_sizes(gpu: EmulatedGpu, step: Step, rows: int) -> None:
    if step is one_number and rows == 0:
        pytest.skip("there is no row 1")
    alike(step, compiled(step), numbers(rows, "rows"))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64], ids=str)
@pytest.mark.parametrize("step", AT_ONCE, ids=lambda f: f.__name__)
def test_other_types(gpu: EmulatedGpu, step: Step, dtype: torch.dtype) -> None:
    alike(step, compiled(step), torch.rand(34, 8).to(dtype))


@pytest.mark.parametrize("step", AT_ONCE, ids=lambda f: f.__name__)
def test_one_kernel(gpu: EmulatedGpu, step: Step) -> None:
    alike(step, compiled(step), numbers(40, "rows"))
    assert len(gpu.launched()) == 1


@pytest.mark.parametrize("step", AT_ONCE, ids=lambda f: f.__name__)
def test_one_kernel_of_a_cpu(step: Step) -> None:
    torch._dynamo.reset()
    found = explain(step, numbers(40, "rows"), numbers(40, "rows"), options={"fallback": False})
    assert found.kernels == 1


@pytest.mark.parametrize("target", ["cpu_openmp", "gpu_emulated"])
def test_sizes_that_are_symbols(target: str) -> None:
    def step(x: Tensor, y: Tensor) -> None:
        x[:, 1:-1] += y[:, 1:-1]
        x[-1:] = y[:1]

    torch._dynamo.reset()
    run = torch.compile(step, backend="mlir", dynamic=True, options={"target": target, "fallback": False})
    for rows in (5, 9):
        mine, theirs, y = numbers(rows, "rows"), numbers(rows, "rows"), torch.rand(rows, 8)
        run(mine, y)
        step(theirs, y)
        torch.testing.assert_close(mine, theirs)
