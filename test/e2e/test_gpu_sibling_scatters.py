"""What edges have is added up, and compared, for nodes: one kernel walks the edges for several results."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from drawn import positions, tensor
from emulated_gpu import EmulatedGpu, compiled
from torch import Tensor

from benchmarks.numerics import judge

NODES, WIDTH = 21, 5


def aggregates(x: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """Corso et al., "Principal neighbourhood aggregation for graph nets": mean, largest and smallest."""
    messages = x[source]
    index, zeros = target[:, None].expand_as(messages), torch.zeros_like(x)
    kinds = ("mean", "amax", "amin")
    found = [zeros.scatter_reduce(0, index, messages, kind, include_self=False) for kind in kinds]
    return torch.cat(found, 1)


def softmax(x: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """Over the edges of each node; the largest has a gradient, too."""
    scores = x[source].sin()
    index = target[:, None].expand_as(scores)
    most = torch.full_like(x, -9.0).scatter_reduce(0, index, scores, "amax")
    weights = (scores - most[target]).exp()
    return weights / torch.zeros_like(x).index_add(0, target, weights)[target]


def read_before(x: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """The first sum may be where `y` was, which the second one reads."""
    y = x.exp()
    first = y.index_add(0, target, x[source])
    second = torch.zeros_like(x).index_add(0, target, y[source])
    return first * second


def rows_and_their_sums(x: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """Sums of rows, and of their sums, which walk spaces of their own."""
    rows = torch.zeros_like(x).index_add(0, target, x[source])
    return rows + torch.zeros_like(x[:, 0]).index_add(0, target, x[source].square().sum(1))[:, None]


Program = Callable[[Tensor, Tensor, Tensor], Tensor]
PROGRAMS: dict[str, tuple[Program, tuple[int, int] | None]] = {
    "aggregates": (aggregates, (4, 3)),
    "softmax": (softmax, (4, 5)),
    "read before": (read_before, None),
    "rows and their sums": (rows_and_their_sums, None),
}


def _gradient(call: Program, x: Tensor, *edges: Tensor) -> list[Tensor]:
    x = x.clone().detach().requires_grad_()
    result = call(x, *edges)
    (result * result.detach().cos()).sum().backward()
    assert x.grad is not None
    return [result.detach(), x.grad]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients(name: str, dtype: torch.dtype, gpu: EmulatedGpu) -> None:
    """Equal numbers share a gradient; the last node has no edge."""
    torch.compiler.reset()
    program, launches = PROGRAMS[name]
    x = (tensor(NODES, WIDTH) * 2).round().div(2).to(dtype)
    edges = positions(NODES - 1, 2, 83).unbind(0)
    ours, eager = (_gradient(call, x, *edges) for call in (compiled(program), program))
    truth = _gradient(program, x.double(), *edges)
    for mine, theirs, exact in zip(ours, eager, truth, strict=True):
        assert (verdict := judge(mine, theirs, exact)).ok, verdict
    if launches is not None and dtype is torch.float32:
        assert len(gpu.launched()) == sum(launches)


def test_any_number_of_edges(gpu: EmulatedGpu) -> None:
    """The same four kernels for all; of no edges, too."""
    torch.compiler.reset()
    call, x = compiled(aggregates), tensor(NODES, WIDTH)
    for number in (17, 40, 0):
        edges = [of.clone() for of in positions(NODES, 2, number).unbind(0)]
        for of in edges:
            torch._dynamo.maybe_mark_dynamic(of, 0)
        torch.testing.assert_close(call(x, *edges), aggregates(x, *edges))
    assert len(set(gpu.launched()[:8])) == 4
