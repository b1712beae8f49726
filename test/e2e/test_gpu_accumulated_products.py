"""Products that a library adds to what is there (GPUs, emulated): results, gradients and launches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from drawn import tensor
from judged import judged_with_gradients
from torch import Tensor

Program = Callable[..., Tensor]


def read_by_three(x: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """The gradient of `x` is a sum of three products."""
    return (x @ a).sin() + (x @ b).cos() * (x @ c)


def residual(x: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """An argument stays, and the second product is added to the first sum."""
    return x - 2 * ((x + (x @ a) @ b) @ c)


def batches(x: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    rows = x.view(2, -1, x.shape[1])
    return rows + torch.bmm(rows, torch.stack([a, b])) @ c


def begins_with_a_factor(x: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """What the product is added to is one of its factors: it is not overwritten."""
    made = torch.softmax(x[: x.shape[1]], -1) * (a * b * c)
    return made + made @ made


PROGRAMS: dict[str, tuple[Program, int, int]] = {
    "read by three": (read_by_three, 0, 2),
    "residual": (residual, 2, 0),
    "batches": (batches, 1, 1),
    "begins with a factor": (begins_with_a_factor, 1, 0),
}
"""And how many products of the forward and the backward graph are added to something."""


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", PROGRAMS)
def test_products_and_gradients(name: str, dtype: torch.dtype) -> None:
    function, forward, backward = PROGRAMS[name]
    sizes: Sequence[tuple[int, int]] = ((18, 7), (7, 7), (7, 7), (7, 7))
    inputs = [tensor(*each, seed=i).to(dtype) for i, each in enumerate(sizes)]
    found = judged_with_gradients(function, inputs, {"target": "gpu_emulated", "fallback": False})
    added = [sum(n for name, n in g.library_calls.items() if "add" in name) for g in found.graphs]
    assert added == [forward, backward], [graph.library_calls for graph in found.graphs]


def test_an_argument_is_as_it_was() -> None:
    x, w = tensor(9, 5), tensor(5, 5, seed=1)
    before = x.clone()
    compiled = torch.compile(lambda x, w: x + x @ w, backend="mlir", options={"target": "gpu_emulated"})
    torch.testing.assert_close(compiled(x, w), before + before @ w)
    torch.testing.assert_close(x, before, rtol=0, atol=0)
