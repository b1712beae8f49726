"""Gradients along a dimension of what a part of an order looks up: by the inverse, where that is computed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from test_distinct_positions import added, counted, order, put, zeros
from torch import Tensor
from torch._dynamo import mark_dynamic
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from tilewright.frontend.joint.permuted_rows import look_up_rows

ATEN = torch.ops.aten
Function = Callable[[Tensor], tuple[Tensor, Tensor]]


def both(noise: Tensor, descending: bool = False) -> tuple[Tensor, Tensor]:
    """An order of each row, and its inverse."""
    there = order(noise)
    return there, ATEN.sort.default(there, 1, descending)[1]


def rows(first: int = 0) -> Tensor:
    return counted(first, first + 4).unsqueeze(1)


def with_inverse(gradient: Callable[[Tensor, Tensor], Tensor], descending: bool = False) -> Function:
    def function(noise: Tensor) -> tuple[Tensor, Tensor]:
        there, back = both(noise, descending)
        return gradient(there, back), back

    return function


def before_the_inverse(noise: Tensor) -> tuple[Tensor, Tensor]:
    there = order(noise)
    gradient = added(there, 1, zeros(4, 9, 3))
    return gradient, order(there)


def across_a_square(noise: Tensor) -> tuple[Tensor, Tensor]:
    there, back = both(noise[:, :4])
    return added(there, 0, zeros(4, 4, 3)), back


def one_row_of_a_square(noise: Tensor) -> tuple[Tensor, Tensor]:
    there, back = both(noise[:, :4])
    return ATEN.index_put.default(zeros(4, 4), [rows(), there], zeros(4) + 1, True), back


LOOKED_UP: dict[str, Function] = {
    "the inverse": with_inverse(lambda _, back: added(back, 1, zeros(4, 9, 3))),
    "the order": with_inverse(lambda there, _: added(there, 1, zeros(4, 9, 3))),
    "its beginning": with_inverse(lambda there, _: added(there[:, :4], 1, zeros(4, 9, 3))),
    "its middle": with_inverse(lambda there, _: added(there[:, 2:7], 1, zeros(4, 9, 3))),
    "its end": with_inverse(lambda there, _: added(there[:, 5:], 1, zeros(4, 9, 3))),
    "a part of the inverse": with_inverse(lambda _, back: added(back[:, :4], 1, zeros(4, 9, 3))),
    "with another dimension between": with_inverse(
        lambda there, _: ATEN.scatter_add.default(
            zeros(4, 2, 9), 2, there[:, :4].unsqueeze(1).expand(4, 2, 4), zeros(4, 2, 4) + counted(1, 5)
        )
    ),
    "without another dimension": with_inverse(
        lambda there, _: ATEN.scatter_add.default(zeros(4, 9), -1, there[:, :4], zeros(4, 4) + counted(1, 5))
    ),
    "in counted rows": with_inverse(lambda there, _: put(rows(), there[:, :5])),
    "in all of the counted rows": with_inverse(
        lambda there, _: put(ATEN.slice.Tensor(rows(), 0, 0, 9), there[:, :5], target=zeros(4, 9))
    ),
    "of numbers in rows": with_inverse(lambda there, _: put(rows(), there[:, :5], target=zeros(4, 9))),
}
LEFT: dict[str, Function] = {
    "no inverse": lambda noise: (added(order(noise), 1, zeros(4, 9, 3)), noise),
    "a falling order": with_inverse(lambda there, _: added(there, 1, zeros(4, 9, 3)), descending=True),
    "every other": with_inverse(lambda there, _: added(there[:, ::2], 1, zeros(4, 9, 3))),
    "some of its rows": with_inverse(lambda there, _: added(there[:3], 1, zeros(3, 9, 3))),
    "into some rows": with_inverse(lambda there, _: added(there, 1, zeros(5, 9, 3))),
    "more places": with_inverse(lambda there, _: added(there, 1, zeros(4, 11, 3))),
    "one place again and again": with_inverse(
        lambda there, _: added(there[:, :1].expand(4, 5), 1, zeros(4, 9, 3))
    ),
    "a column again and again": with_inverse(
        lambda there, _: added(there[:, 0].unsqueeze(1).expand(4, 5), 1, zeros(4, 9, 3))
    ),
    "along another dimension": with_inverse(lambda there, _: added(there, 0, zeros(9, 9, 3))),
    "along the other side of a square": across_a_square,
    "some of the values": with_inverse(
        lambda there, _: ATEN.scatter_add.default(zeros(4, 9), 1, there[:, :4], zeros(4, 6) + 1)
    ),
    "some rows of values": with_inverse(
        lambda there, _: ATEN.scatter_add.default(zeros(6, 9), 1, there, zeros(6, 9) + 1)
    ),
    "added to something": with_inverse(lambda there, _: added(there, 1, zeros(4, 9, 3) + 1)),
    "in other rows": with_inverse(lambda there, _: put(rows(1), there, target=zeros(5, 9))),
    "in rows counted backwards": with_inverse(
        lambda there, _: put(rows().flip(0), there, target=zeros(4, 9))
    ),
    "in one row again and again": with_inverse(
        lambda there, _: put(counted(0, 1).expand(4).unsqueeze(1), there, target=zeros(4, 9))
    ),
    "before there is an inverse": before_the_inverse,
    "in any rows": with_inverse(lambda there, _: put(there[:, :1] % 4, there, target=zeros(4, 9))),
    "one value for all": with_inverse(
        lambda there, _: ATEN.index_put.default(zeros(4, 9, 3), [rows(), there], zeros(1) + 1, True)
    ),
    "one row of values for all": one_row_of_a_square,
}


def traced(function: Function) -> tuple[GraphModule, Tensor]:
    noise = torch.rand(4, 9, generator=torch.Generator().manual_seed(0))
    return make_fx(function, tracing_mode="fake")(noise), noise


def scatters(graph: GraphModule) -> int:
    targets = (ATEN.scatter_add.default, ATEN.index_put.default)
    return sum(len(graph.graph.find_nodes(op="call_function", target=target)) for target in targets)


@pytest.mark.parametrize("name", LOOKED_UP)
def test_they_are_looked_up(name: str) -> None:
    graph, noise = traced(LOOKED_UP[name])
    assert scatters(graph) == 1
    look_up_rows(graph)
    graph.recompile()
    assert scatters(graph) == 0
    torch.testing.assert_close(graph(noise), LOOKED_UP[name](noise), rtol=0, atol=0)


@pytest.mark.parametrize("name", LEFT)
def test_others_are_left(name: str) -> None:
    graph, _ = traced(LEFT[name])
    look_up_rows(graph)
    assert scatters(graph) == 1


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_masked_autoencoder_scatters_nothing(tmp_path: Path, dynamic: bool) -> None:
    def function(x: Tensor, noise: Tensor) -> Tensor:
        there, back = both(noise)
        kept = (x.sin() + noise[..., None]).gather(1, there[:, :4, None].expand(-1, -1, 3)).exp()
        whole = torch.cat([kept, kept.mean(1, keepdim=True).expand(-1, 5, -1)], 1)
        return whole.gather(1, back[..., None].expand(-1, -1, 3)).cos()

    options: dict[str, Any] = {"target": "gpu_emulated", "fallback": False, "dump": str(tmp_path)}
    compiled: Any = torch.compile(function, backend="mlir", options=options)
    noise, x = torch.rand(4, 9), torch.randn(4, 9, 3, dtype=torch.float64)
    if dynamic:
        mark_dynamic(noise, 0)
    found: list[Tensor] = []
    for called in (compiled, function):
        given = x.clone().requires_grad_()
        if dynamic:
            mark_dynamic(given, 0)
        called(given, noise).square().sum().backward()
        found += [given.grad] if given.grad is not None else []
    torch.testing.assert_close(*found)
    (imported,) = tmp_path.glob("*backward/00-import.mlir")
    assert "tw.scatter" not in imported.read_text()
