"""Gradients read what an input was, not what the forward pass made of it at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

Function = Callable[[Tensor, Tensor], Tensor]


def direct(x: Tensor, b: Tensor) -> Tensor:
    return (x * b.sin().cos()).sum()


def of_views(x: Tensor, b: Tensor) -> Tensor:
    part = b.view(8, 2)[::2].T.reshape(2, 2, 2)[0]
    return (x[0, :2] * part.sin().cos()).sum() + (x * b.unbind(1)[1].exp()).sum()


def of_parts(x: Tensor, b: Tensor) -> Tensor:
    first, *_ = b.split(2, 1)
    return (x[:, :2] * first.sin().cos()).sum() + (x * b.unbind(1)[1].sin().cos()).sum()


def looked_up(x: Tensor, b: Tensor) -> Tensor:
    """A table at positions that are counted."""
    return (x[:3] * b[torch.arange(3)].tanh()).sum()


def gradients(function: Function) -> Iterator[tuple[Tensor, Tensor]]:
    """Ours and eager's, with what became of the input."""

    def step(x: Tensor, b: Tensor) -> Tensor:
        loss = function(x, b)
        b.mul_(2)
        return loss

    options = {"fallback": False}
    compiled = torch.compile(step, backend="mlir", options=options)
    for run in (compiled, step):
        x, b = torch.ones(4, 4, requires_grad=True), torch.linspace(-2, 3, 16).view(4, 4)
        run(x, b).backward()  # pyright: ignore[reportUnknownMemberType]
        assert x.grad is not None
        yield x.grad, b


@pytest.mark.parametrize("function", [direct, of_views, of_parts, looked_up])
def test_gradients_of_inputs_that_change(function: Function) -> None:
    torch.compiler.reset()
    torch.testing.assert_close(*gradients(function))
