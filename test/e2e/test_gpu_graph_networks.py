"""Networks over graphs: edges gather what nodes have, and add to nodes what they have, with gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from drawn import positions, tensor
from emulated_gpu import EmulatedGpu, compiled
from torch import Tensor
from torch.nn import functional

from benchmarks.numerics import judge

NODES, EDGES, HEADS = 23, 117, 3


def degrees(x: Tensor, w: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """Kipf and Welling, "Semi-supervised classification with graph convolutional networks", twice."""
    ones = torch.ones_like(target, dtype=torch.float32)
    degree = torch.zeros(NODES).index_add(0, target, ones).clamp(min=1).rsqrt()
    of_edges = (degree[source] * degree[target]).to(x.dtype)[:, None]
    for _ in range(2):
        h = x @ w
        x = torch.relu(torch.zeros_like(h).index_add(0, target, h[source] * of_edges))
    return x


def attention(x: Tensor, w: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """Velickovic et al., "Graph attention networks": a softmax over the edges of each node."""
    z = (x @ w).view(NODES, HEADS, -1)
    scores = functional.leaky_relu(z.sum(-1)[source] + z.square().sum(-1)[target], 0.2)
    index = target[:, None].expand_as(scores)
    low = torch.full((NODES, HEADS), -1e4, dtype=x.dtype)
    most = low.scatter_reduce(0, index, scores.detach(), "amax")
    weights = (scores - most[target]).exp()
    total = torch.zeros(NODES, HEADS, dtype=x.dtype).index_add(0, target, weights)
    weights = weights / (total[target] + 1e-6)
    return torch.zeros_like(z).index_add(0, target, z[source] * weights[..., None]).flatten(1)


def means(x: Tensor, w: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """Hamilton et al., "Inductive representation learning on large graphs": means of neighbours."""
    index = target[:, None].expand(-1, x.shape[1])
    total = torch.zeros_like(x).scatter_reduce(0, index, x[source], "mean", include_self=False)
    return functional.normalize(torch.cat([x, total], 1) @ w.repeat(2, 1), dim=1)


NETWORKS: dict[str, tuple[Callable[..., Tensor], int]] = {
    "degrees": (degrees, 1),
    "attention": (attention, 2),
    "means": (means, 2),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name: str, dtype: torch.dtype, gpu: EmulatedGpu) -> None:
    """Zeros to add to are stored beside other kernels: at most one launch of a graph fills alone."""
    network, most = NETWORKS[name]
    edges = positions(NODES, 2, EDGES).unbind(0)
    given = [tensor(NODES, 12, dtype=dtype), tensor(12, 12, dtype=dtype, seed=1)]

    def gradients(call: Callable[..., Any], dtype: torch.dtype) -> list[Tensor]:
        x, w = (t.clone().to(dtype).detach().requires_grad_() for t in given)
        result = call(x, w, *edges)
        result.square().sum().backward()
        assert x.grad is not None
        assert w.grad is not None
        return [result.detach(), x.grad, w.grad]

    ours, eager = (gradients(call, dtype) for call in (compiled(network), network))
    truth = gradients(network, torch.float64)
    for mine, theirs, exact in zip(ours, eager, truth, strict=True):
        assert (verdict := judge(mine, theirs, exact)).ok, verdict
    assert sum(launched.endswith("_fill") for launched in gpu.launched()) <= most
