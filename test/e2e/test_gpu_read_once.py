"""What gradients and losses read once, where it was stored for two kernels or read by two."""

from __future__ import annotations

import pytest
import torch
from test_gpu_emulated import Function, check, floats
from torch import Tensor, nn

from tilewright.frontend.explain import explain
from tilewright.passes.pipeline import pipeline_text


def gate(g: Tensor, y: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of a branch and of the one number that it is multiplied by."""
    return g * s, (g * y).sum()


def pairs(a: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
    """Two steps of a recurrence over all pairs of states, the first of which is kept."""
    first = torch.logsumexp(a[:, :, None] + t, 1)
    return first, torch.logsumexp(first[:, :, None] + t, 1)


def router(logits: Tensor) -> Tensor:
    """The two largest weights of each row, at their places, and their sum at one place of another row."""
    weights, places = torch.softmax(logits, -1).topk(2)
    chosen = torch.zeros_like(logits).scatter(1, places, weights / weights.sum(-1, keepdim=True))
    return chosen + torch.zeros_like(logits).scatter_add(1, places[:, :1].expand(-1, 2), weights)


def squared(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """An error, and its gradient but for a factor, of so many elements that they are summed in parts."""
    difference = x - y
    return difference.square().mean(), difference * 2


def normed(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """What is summed in parts, and read again by what waits for the sum."""
    made = torch.exp(x) - y
    return made / made.norm(), made


def learned_numbers(g: Tensor, x: Tensor, s: Tensor) -> tuple[Tensor, ...]:
    """Gradients of the terms of a scale times rows, and a bias, and one number beside, and of the rows."""
    return (g * x).sum(), g.sum(0), g.sum(), g * s


def of_halves(g: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    """Gradients of one number and of a bias beside other work, rounded."""
    g, x = g.bfloat16(), x.bfloat16()
    return (g * x).sum(), torch.tanh(g), g.sum(0)


def weights(g: Tensor, x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, ...]:
    """Gradients of the weights of a sum of two images, and a product that reads what they are made of."""
    made = g * torch.sigmoid(x + y)
    return (made * x).sum(), (made * y).sum(), made @ z


CASES: dict[str, tuple[Function, tuple[tuple[int, ...], ...], int]] = {
    "gate": (gate, ((33, 4099), (33, 4099), (1,)), 2),
    "pairs": (pairs, ((3, 17), (17, 17)), 2),
    "squared": (squared, ((1031, 509), (1031, 509)), 2),
    "normed": (normed, ((1031, 509), (1031, 509)), 3),
    "learned numbers": (learned_numbers, ((259, 131), (259, 131), (1,)), 2),
    "of halves": (of_halves, ((1024, 512), (1024, 512)), 2),
    "weights": (weights, ((516, 257), (516, 257), (516, 257), (257, 3)), 2),
    "router": (router, ((33, 9),), 2),
}


@pytest.mark.parametrize("name", CASES)
def test_kernels(name: str) -> None:
    function, shapes, kernels = CASES[name]
    inputs = [floats(*shape, seed=i) for i, shape in enumerate(shapes)]
    check(function, *inputs)
    torch.compiler.reset()
    (graph,) = explain(function, *inputs, options={"target": "gpu_emulated", "fallback": False}).graphs
    assert sum(graph.kernels.values()) == kernels


class Positions(nn.Module):
    """Learned positions from the second row on, and tokens, all normed."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions, self.norm = nn.Embedding(19, 12), nn.Embedding(9, 12), nn.LayerNorm(12)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.norm(self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]) + 2))


def test_positions_are_slices() -> None:
    torch.compiler.reset()
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    model, tokens, weights = Positions(), torch.randint(0, 19, (3, 7)), floats(3, 7, 12)

    def step(tokens: Tensor, weights: Tensor) -> Tensor:
        loss = (model(tokens) * weights).sum()
        loss.backward()
        return loss

    step(tokens, weights)
    expected = [p.grad for p in model.parameters()]
    model.zero_grad()
    alone = pipeline_text("gpu").replace("group-launches,", "")  # zeros keep their names
    options = {"target": "gpu_emulated", "fallback": False, "pipeline": alone}
    found = explain(step, tokens, weights, options=options)
    torch.testing.assert_close([p.grad for p in model.parameters()], expected)
    forward, backward = found.graphs
    assert not any("iota" in name for graph in (forward, backward) for name in graph.kernels)
    assert sum(name.endswith("_fill") for name in backward.kernels) == 1  # of tokens; positions are a slice
