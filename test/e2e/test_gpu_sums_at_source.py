"""Sums of columns in the kernels that make the rows, from their Triton text."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from tilewright.frontend.explain import explain


class Block(nn.Module):
    """Two norms, and a bias whose gradient is a sum of what an activation's gradient makes."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.RMSNorm(width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(x + self.down(nn.functional.gelu(self.up(self.first(x)))))


@pytest.mark.parametrize(
    ("rows", "width", "inner"), [((4, 128), 48, 96), ((8, 65), 33, 70), ((512,), 130, 200)], ids=str
)
def test_gradients_of_norms_and_biases(rows: tuple[int, ...], width: int, inner: int) -> None:
    torch.compiler.reset()  # else these sizes were symbols, being others than those of the test before
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    model = Block(width, inner)
    x = torch.randn(*rows, width, requires_grad=True)

    def step(x: Tensor) -> None:
        model(x).square().sum().backward()

    def gradients() -> list[Tensor]:
        tensors = [x, *model.parameters()]
        taken = [t.grad for t in tensors if t.grad is not None]
        assert len(taken) == len(tensors)
        for t in tensors:
            t.grad = None
        return taken

    step(x)
    expected = gradients()
    found = explain(step, x, options={"target": "gpu_emulated", "fallback": False})
    torch.testing.assert_close(gradients(), expected, rtol=1e-4, atol=1e-3)
    (backward,) = (graph for graph in found.graphs if graph.kind == "backward")
    assert len(backward.kernels) == 6  # three that make rows and sum them in parts, three that add up parts
