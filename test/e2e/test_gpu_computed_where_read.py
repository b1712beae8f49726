"""What some kernels read is made by each of them where that is less to move. Parts of tables are not kept."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from drawn import positions, tensor
from emulated_gpu import EmulatedGpu, compiled
from torch import Tensor
from torch.nn import functional

from benchmarks.numerics import judge

ROWS, EDGES, WIDTH = 19, 150, 8


def messages(x: Tensor, v: Tensor, of_edges: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """Schuett et al., "Equivariant message passing": each sum takes parts of the messages of edges."""
    plain, turned, along = (x.repeat(1, 3)[source] * of_edges).chunk(3, -1)
    directed = v[source][:, None] * turned[:, None] + along[:, None]
    first = torch.zeros_like(x).index_add(0, target, plain)
    return first + torch.zeros_like(x)[:, None].index_add(0, target, directed).sum(1)


def score(x: Tensor, v: Tensor, of_edges: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """Trouillon et al., "Complex embeddings for simple link prediction": halves of rows of a table."""
    a, b = x[source].chunk(2, -1)
    c, d = v[target].chunk(2, -1)
    e, f = of_edges[:, :WIDTH].chunk(2, -1)
    return (a * e * c + b * e * d + a * f * d - b * f * c).sum(-1)


def combined(x: Tensor, v: Tensor, of_edges: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """As a mixture of experts adds up what they made, each by a weight."""
    weights = of_edges[:, 0].sigmoid()
    return torch.zeros_like(x).index_add(0, target, of_edges[:, :WIDTH].sin() * weights[:, None]) * x + v


def focal(x: Tensor, v: Tensor, of_edges: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """Lin et al., "Focal loss for dense object detection"."""
    labels = (v > 0).to(x.dtype)
    loss = functional.binary_cross_entropy_with_logits(x, labels, reduction="none")
    return (1 - (-loss).exp()).square() * loss


PROGRAMS: dict[str, tuple[Callable[..., Tensor], tuple[int, int] | None]] = {
    "messages": (messages, None),
    "score": (score, (1, 2)),
    "combined": (combined, None),
    "focal": (focal, (1, 1)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients(name: str, dtype: torch.dtype, gpu: EmulatedGpu) -> None:
    torch.compiler.reset()
    program, launches = PROGRAMS[name]
    given = [tensor(ROWS, WIDTH, seed=1), tensor(ROWS, WIDTH, seed=2), tensor(EDGES, 3 * WIDTH, seed=3)]
    edges = positions(ROWS, 2, EDGES).unbind(0)

    def gradients(call: Callable[..., Tensor], wide: torch.dtype) -> list[Tensor]:
        leaves = [t.to(dtype).to(wide).detach().requires_grad_() for t in given]
        result = call(*leaves, *edges)
        (result * result.detach().cos()).sum().backward()
        return [result.detach(), *(leaf.grad for leaf in leaves if leaf.grad is not None)]

    ours, eager = (gradients(call, dtype) for call in (compiled(program), program))
    truth = gradients(program, torch.float64)
    for mine, theirs, exact in zip(ours, eager, truth, strict=True):
        assert (verdict := judge(mine, theirs, exact)).ok, verdict
    if launches is not None and dtype is torch.float32:
        assert len(gpu.launched()) == sum(launches), gpu.launched()
