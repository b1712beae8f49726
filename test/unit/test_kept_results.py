"""What a forward graph keeps for the backward pass: passes choose its strides, and AOTAutograd hears them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Graph, Node

from tilewright.frontend.errors import NoTargetForDevice
from tilewright.frontend.fx.graph import Graph as Imported
from tilewright.frontend.fx.kept_results import free_results, in_orders
from tilewright.frontend.fx.strides import dense_strides
from tilewright.frontend.runtime import emulated_runtime
from tilewright.frontend.runtime.compiling import Building
from tilewright.passes.pipeline import PIPELINES
from tilewright.targets.registry import Target, register_target


def nodes(*fakes: Any) -> list[Node]:
    graph = Graph()
    made = [graph.placeholder(f"p{i}") for i in range(len(fakes))]
    for node, fake in zip(made, fakes, strict=True):
        node.meta["val"] = fake
    return made


def test_free_is_what_the_caller_does_not_see_and_nothing_else_shares() -> None:
    with FakeTensorMode():
        given, seen, kept, viewed = (torch.empty(2, 3) for _ in range(4))
        outputs = nodes(seen, kept, seen.t(), given.t(), viewed, viewed.view(6), 7)
    outputs = [*outputs, None, 3]
    arguments = nodes(given)
    assert free_results(arguments, outputs, 1) == {1}
    assert free_results(arguments, outputs, 2) == frozenset()
    assert free_results(arguments, outputs, None) == frozenset()
    assert free_results([], nodes(kept, kept), 0) == frozenset()


def test_strides_in_an_order() -> None:
    assert dense_strides((2, 3, 4, 5), (0, 2, 3, 1)) == (60, 1, 15, 3)
    assert dense_strides((), ()) == ()
    assert dense_strides((2, 3, 4), (0, 1, 2)) == (12, 4, 1)


def test_what_aten_returns_is_brought_to_the_order_that_was_reported() -> None:
    x, y = torch.randn(2, 3, 4, 5), torch.randn(3)

    def call(args: list[Any]) -> list[Any]:
        return [x, y, None]

    assert in_orders(call, {}) is call
    found = in_orders(call, {0: (0, 2, 3, 1)})([])
    assert found[0].stride() == (60, 1, 15, 3)
    assert torch.equal(found[0], x)
    assert found[1] is y
    assert found[2] is None


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 65, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x).exp()).square()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("late", [True, False])
def test_a_backward_graph_is_right_whose_forward_graph_aten_runs_after_all(late: bool) -> None:
    """Compilers fail when its strides are known: the results of ATen have them, too."""

    def build(graph: Imported, request: Any) -> Any:
        if request.kind != "forward":
            return emulated_runtime.build(graph, request)
        if late:
            emulated_runtime.build(graph, request)
        error = NoTargetForDevice(device="any", known="none")

        def fail() -> Any:
            raise error

        return Building(fail) if late else fail()

    register_target(Target(name="fails", build=build, pipeline=PIPELINES["gpu"]))
    model, x = Network(), torch.randn(2, 3, 7, 8)
    function = torch.compile(model, backend="mlir", options={"target": "fails"})
    found, wanted = (torch.autograd.grad(f(x).mean(), list(model.parameters())) for f in (function, model))
    torch.testing.assert_close(found, wanted)
