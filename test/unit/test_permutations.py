"""Gradients of what is looked up by a permutation: by its inverse, where that is computed, too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from tilewright.frontend.joint.permutations import look_up_gradients

ATEN = torch.ops.aten
Function = Callable[[Tensor, Tensor, Tensor], Tensor]


def put(size: Any, place: Tensor, value: Tensor) -> Tensor:
    zeros = ATEN.full.default(size, 0, dtype=value.dtype, device=value.device)
    return ATEN.index_put.default(zeros, [place], value, True)


def experts(key: Tensor, grad: Tensor, start: int = 0) -> tuple[Tensor, Tensor]:
    order, empty = key.sort().indices, torch.empty_like(key)
    positions = ATEN.arange.start_step(start, start + key.numel())
    return order, ATEN.index_put.default(empty, [order], positions)


def of_inverse(key: Tensor, grad: Tensor, _: Tensor) -> Tensor:
    return put(grad.shape, experts(key, grad)[1], grad)


def of_order(key: Tensor, grad: Tensor, _: Tensor) -> Tensor:
    order, back = experts(key, grad)
    return put(grad.shape, order, grad) + back.sum()


def of_quotient(key: Tensor, grad: Tensor, _: Tensor) -> Tensor:
    order, back = experts(key, grad)
    return put((4, 5), order // 3, grad) + back.sum()


def of_sorted_order(key: Tensor, grad: Tensor, _: Tensor) -> Tensor:
    return put(grad.shape, key.sort().indices.sort(stable=True).indices, grad)


def before_the_inverse(key: Tensor, grad: Tensor, _: Tensor) -> Tensor:
    order = key.sort().indices
    return put(grad.shape, order, grad) + order.sort().indices.sum()


def beside_bytes(key: Tensor, grad: Tensor, _: Tensor) -> Tensor:
    order, counts = key.sort().indices, ATEN.arange.start_step(0, 12, dtype=torch.uint8)
    back = ATEN.index_put.default(torch.empty_like(key, dtype=torch.uint8), [order], counts)
    return put(grad.shape, order, grad) + back.sum()


LOOKED_UP: dict[str, Function] = {
    function.__name__: function for function in (of_inverse, of_order, of_quotient, of_sorted_order)
}
LEFT: dict[str, Function] = {
    "no inverse": lambda key, grad, _: put(grad.shape, key.sort().indices, grad),
    "falling": lambda key, grad, _: put(grad.shape, key.sort().indices.sort(descending=True).indices, grad),
    "of no permutation": lambda key, grad, _: put(grad.shape, key.sort().indices.abs().sort().values, grad),
    "positions from 1": lambda key, grad, _: put((13, 5), experts(key, grad, 1)[1], grad),
    "more rows": lambda key, grad, _: put((13, 5), experts(key, grad)[1], grad),
    "another quotient": lambda key, grad, _: put((6, 5), experts(key, grad)[0] // 3, grad),
    "one row for all": lambda key, grad, _: put(grad.shape, experts(key, grad)[1], grad[:1]),
    "one number for all": lambda key, grad, _: put(key.shape, experts(key, grad)[1], grad[0, 0]),
    "before there is an inverse": before_the_inverse,
    "a mask for an inverse": beside_bytes,
    "added to something": lambda key, grad, x: ATEN.index_put(x, [experts(key, grad)[1]], grad, True),
    "into columns": lambda key, grad, _: ATEN.index_put(
        ATEN.full.default((5, 12), 0.0), [None, experts(key, grad)[1]], grad.mT, True
    ),
}


def traced(function: Function) -> tuple[GraphModule, list[Tensor]]:
    given = [torch.tensor([3, 1, 1, 0, 2, 3, 0, 0, 2, 1, 3, 1]), torch.randn(12, 5), torch.randn(12, 5)]
    return make_fx(function, tracing_mode="fake")(*given), given


def sums(graph: GraphModule) -> int:
    """How often something is added in memory."""
    nodes = graph.graph.find_nodes(op="call_function", target=ATEN.index_put.default)
    return sum(len(node.args) == 4 for node in nodes)


@pytest.mark.parametrize("name", LOOKED_UP)
def test_they_are_looked_up(name: str) -> None:
    graph, given = traced(LOOKED_UP[name])
    assert sums(graph) == 1
    look_up_gradients(graph)
    graph.recompile()
    assert sums(graph) == 0
    torch.testing.assert_close(graph(*given), LOOKED_UP[name](*given))


@pytest.mark.parametrize("name", LEFT)
def test_others_are_left(name: str) -> None:
    graph, _ = traced(LEFT[name])
    look_up_gradients(graph)
    assert sums(graph) == 1


def test_integers_are_added_as_such() -> None:
    given = [
        torch.tensor([3, 1, 1, 0, 2, 3, 0, 0, 2, 1, 3, 1]),
        torch.arange(60, dtype=torch.int32).view(12, 5),
    ]
    graph = make_fx(of_quotient, tracing_mode="fake")(*given, None)
    look_up_gradients(graph)
    graph.recompile()
    assert sums(graph) == 0
    torch.testing.assert_close(graph(*given, None), of_quotient(*given, given[1]))


def test_any_number_of_rows() -> None:
    def function(key: Tensor) -> Tensor:
        twice = torch.cat([key, key])
        grad = torch.stack([twice.float().sin().cumsum(0)] * 5, 1)
        order, back = experts(twice, grad)
        return put((key.shape[0], 5), order // 2, grad) + back.sum()

    given = [torch.tensor([3, 1, 1, 0])]
    graph = make_fx(function, tracing_mode="symbolic")(*given)
    look_up_gradients(graph)
    graph.recompile()
    assert sums(graph) == 0
    torch.testing.assert_close(graph(*given), function(*given))


def test_gradients_of_a_mixture_of_experts_add_nothing_in_memory(tmp_path: Path) -> None:
    def mixture(x: Tensor, key: Tensor) -> Tensor:
        order = key.sort().indices
        back = torch.empty_like(order)
        back[order] = torch.arange(order.numel())
        return x[order // 3].exp()[back].view(4, 3, 5).sum(1)

    options = {"target": "gpu_emulated", "fallback": False, "dump": str(tmp_path)}
    compiled = torch.compile(mixture, backend="mlir", options=options)
    key, x = torch.tensor([3, 1, 1, 0, 2, 3, 0, 0, 2, 1, 3, 1]), torch.randn(4, 5, dtype=torch.float64)
    found: list[Tensor] = []
    for function in (compiled, mixture):
        given = x.clone().requires_grad_()
        function(given, key).square().sum().backward()
        found += [given.grad] if given.grad is not None else []
    torch.testing.assert_close(*found)
    (imported,) = tmp_path.glob("*backward/00-import.mlir")
    assert "tw.scatter_add" not in imported.read_text()
