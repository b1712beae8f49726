"""Gradients of what is looked up at positions that differ are stored there; all others are added up."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from tilewright.frontend.joint.distinct_positions import store_distinct

ATEN = torch.ops.aten
Function = Callable[[Tensor], Tensor]


def zeros(*size: int, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    return ATEN.full.default(size, 0, dtype=dtype)


def counted(first: int, end: int) -> Tensor:
    return ATEN.arange.start_step(first, end)


def added(place: Tensor, dim: int, target: Tensor) -> Tensor:
    """At the places, which are expanded along a last dimension."""
    index = place.unsqueeze(-1).expand(*place.shape, 3)
    values = counted(1, index.numel() + 1).view(index.shape).to(target.dtype)
    return ATEN.scatter_add.default(target, dim, index, values)


def put(*places: Tensor | None, target: Tensor | None = None) -> Tensor:
    target = zeros(4, 9, 3) if target is None else target
    size = ATEN.index.Tensor(target, places).shape
    values = counted(1, size.numel() + 1).view(size).to(target.dtype)
    return ATEN.index_put.default(target, places, values, True)


def order(noise: Tensor) -> Tensor:
    return ATEN.sort.default(noise, 1)[1]


ROWS: Function = lambda _: counted(0, 4).unsqueeze(1)  # noqa: E731
STORED: dict[str, Function] = {
    "an order": lambda noise: added(order(noise), 1, zeros(4, 9, 3)),
    "a part of one": lambda noise: added(order(noise)[:, 2:5], 1, zeros(4, 9, 3)),
    "one place in each row": lambda noise: added(noise.long()[:, :1] * 0 + 8, 1, zeros(4, 9, 3)),
    "topk": lambda noise: added(ATEN.topk.default(noise, 5, 1)[1], 1, zeros(4, 9, 3)),
    "of columns": lambda noise: added(
        ATEN.permute.default(order(ATEN.permute.default(noise, [1, 0])), [1, 0]), 0, zeros(4, 9, 3)
    ),
    "of one row": lambda noise: added(order(noise)[1].flip(0), 0, zeros(9, 3)),
    "of an order": lambda noise: added(order(noise).gather(1, order(noise)[:, :2]), 1, zeros(4, 9, 3)),
    "wrapped": lambda noise: added(ATEN.remainder.Scalar(order(noise), 9), 1, zeros(4, 9, 3)),
    "viewed": lambda noise: added(ATEN.view.default(order(noise), [4, 1, 9]), 2, zeros(4, 1, 9, 3)),
    "f32": lambda noise: added(order(noise), 1, zeros(4, 9, 3, dtype=torch.float32)),
    "halves that are added": lambda noise: added(order(noise), 1, zeros(4, 9, 3)) + 1,
    "in counted rows": lambda noise: put(ROWS(noise), order(noise)[:, :5]),
    "one in each row": lambda noise: put(counted(0, 4), (noise[:, 0] * 3).long()),
    "of all": lambda noise: put(order(noise)[0][:4], None, target=zeros(9, 2, 3)),
    "an expanded count": lambda noise: put(ROWS(noise).expand(4, 5), order(noise)[:, :5]),
}
LEFT: dict[str, Function] = {
    "any positions": lambda noise: added((noise * 3).long(), 1, zeros(4, 9, 3)),
    "along another dimension": lambda noise: added(order(noise), 0, zeros(9, 9, 3)),
    "sorted positions": lambda noise: added(ATEN.sort.default((noise * 3).long(), 1)[0], 1, zeros(4, 9, 3)),
    "one for all": lambda noise: added(order(noise)[:, :1].expand(4, 5), 1, zeros(4, 9, 3)),
    "wrapped too early": lambda noise: added(ATEN.remainder.Scalar(order(noise), 8), 1, zeros(4, 9, 3)),
    "viewed otherwise": lambda noise: added(ATEN.view.default(order(noise), [2, 18]), 1, zeros(2, 9, 3)),
    "an order looked up anywhere": lambda noise: added(
        order(noise).gather(1, (noise * 3).long()), 1, zeros(4, 9, 3)
    ),
    "added to something": lambda noise: added(order(noise), 1, zeros(4, 9, 3) + 1),
    "f32 that is added": lambda noise: added(order(noise), 1, zeros(4, 9, 3, dtype=torch.float32)) + 1,
    "in any rows": lambda noise: put((noise[:, :1] * 3).long(), order(noise)[:, :5]),
    "of rows of others": lambda noise: put(order(noise)[:, :5], target=zeros(9, 3)),
    "anywhere in rows": lambda noise: put(ROWS(noise), (noise * 3).long()),
    "rows again and again": lambda noise: put(order(noise)[0].expand(2, 9), target=zeros(9, 3)),
    "one again and again": lambda noise: put(ROWS(noise), order(noise)[:, :1].expand(4, 5)),
    "counted alone": lambda _: put(counted(0, 3)),
    "what a mask selects": lambda noise: ATEN.index_put.default(
        zeros(4, 9), [noise > 0.5], zeros(1) + 1, True
    ),
}


def traced(function: Function) -> tuple[GraphModule, Tensor]:
    noise = torch.rand(4, 9, generator=torch.Generator().manual_seed(0))
    return make_fx(function, tracing_mode="fake")(noise), noise


def sums(graph: GraphModule) -> int:
    """How often something is added in memory."""
    adds = graph.graph.find_nodes(op="call_function", target=ATEN.scatter_add.default)
    puts = graph.graph.find_nodes(op="call_function", target=ATEN.index_put.default)
    return len(adds) + sum(len(node.args) == 4 for node in puts)


@pytest.mark.parametrize("name", STORED)
def test_they_are_stored(name: str) -> None:
    graph, noise = traced(STORED[name])
    assert sums(graph) == 1
    store_distinct(graph)
    graph.recompile()
    assert sums(graph) == 0
    torch.testing.assert_close(graph(noise), STORED[name](noise), rtol=0, atol=0)


@pytest.mark.parametrize("name", LEFT)
def test_others_are_added_up(name: str) -> None:
    graph, _ = traced(LEFT[name])
    store_distinct(graph)
    assert sums(graph) == 1
