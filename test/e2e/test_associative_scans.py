"""Associative scans as torch has them on GPUs: graphs of operators, or one scan where they are linear."""

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Graph, GraphModule

from tilewright.frontend.compile import compile_aten
from tilewright.frontend.environment import read_environment
from tilewright.frontend.fx.fx_import import import_graph
from tilewright.frontend.operators.scan_operators import linear_leaves
from tilewright.frontend.options import make_options
from tilewright.frontend.runtime.request import Request

TARGETS = ["cpu_openmp", "gpu_emulated"]
MUL, ADD = torch.ops.aten.mul.Tensor, torch.ops.aten.add.Tensor


class PointwiseScan:
    """An associative scan of `leaves` along their first dimension, whose node is made by hand.

    torch refuses it on CPUs. `join` writes what becomes of the nodes of two neighbours.
    """

    def __init__(self, join: Callable[..., list[Any]], leaves: list[Tensor]) -> None:
        self.leaves, graph, mode = leaves, Graph(), FakeTensorMode()
        given = [graph.placeholder(f"x{n}") for n in range(len(leaves))]
        body = graph.get_attr("body")
        scanned = graph.call_function(torch.ops.higher_order.associative_scan, (body, given, ()))
        results = [graph.call_function(operator.getitem, (scanned, n)) for n in range(len(leaves))]
        self.fake = [mode.from_tensor(leaf) for leaf in leaves]
        scanned.meta["val"] = self.fake
        for node, value in zip((*given, *results), (*self.fake, *self.fake), strict=True):
            node.meta["val"] = value
        graph.output(tuple(results))
        root = torch.nn.Module()
        root.body = GraphModule(torch.nn.Module(), _joining(join, leaves))
        self.module = GraphModule(root, graph)

    def eager(self) -> list[Tensor]:
        wide = [leaf.double() for leaf in self.leaves]
        return torch.ops.higher_order.associative_scan(self.module.body, wide, ())

    def compiled(self, target: str) -> list[Tensor]:
        options = make_options({"fallback": False, "target": target})
        request = Request(options, read_environment(), "inference")
        return list(compile_aten(self.module, self.fake, request)(list(self.leaves)))


def _joining(join: Callable[..., list[Any]], leaves: list[Tensor]) -> Graph:
    graph = Graph()
    one, other = ([graph.placeholder(f"{side}{n}") for n in range(len(leaves))] for side in "lr")
    graph.output(join(graph.call_function, *one, *other))
    for node in graph.nodes:
        node.meta["val"] = torch.empty_like(leaves[0])
    return graph


def linear(call: Any, f: Any, x: Any, g: Any, y: Any) -> list[Any]:
    return [call(MUL, (f, g)), call(ADD, (call(MUL, (g, x)), y))]


def linear_from_behind(call: Any, x: Any, f: Any, y: Any, g: Any) -> list[Any]:
    return [call(ADD, (y, call(MUL, (x, g)))), call(MUL, (g, f))]


def test_pointwise_associative_scans_are_graphs_of_operators() -> None:
    def join(call: Any, a: Any, b: Any) -> list[Any]:
        return [call(ADD, (call(MUL, (a, b)), b))]

    scanned = PointwiseScan(join, [torch.rand(7, 3)])
    torch.testing.assert_close(scanned.compiled("cpu_openmp"), scanned.eager(), check_dtype=False)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_associative_scans_of_linear_recurrences_are_scans(target: str, dtype: torch.dtype) -> None:
    """Also along rows that no tile holds, and of one element."""
    for sizes, join in (((37, 3, 5), linear), ((3000, 2), linear_from_behind), ((1, 4), linear)):
        factor, value = torch.rand(sizes).to(dtype), torch.randn(sizes).to(dtype)
        factor[0] = torch.inf  # which nothing is multiplied with but other factors
        scanned = PointwiseScan(join, [factor, value] if join is linear else [value, factor])
        made = scanned.compiled(target)
        states = slice(1, 2) if join is linear else slice(0, 1)
        wanted = [w.to(dtype) for w in scanned.eager()[states]]
        torch.testing.assert_close(made[states], wanted)


def linear_but_for(what: str) -> Callable[..., list[Any]]:
    def join(call: Any, f: Any, x: Any, g: Any, y: Any) -> list[Any]:
        decayed = {"the other factor": (f, x), "no factor": (y, x)}.get(what, (g, x))
        total = call(ADD, (call(MUL, decayed), x if what == "the other term" else y))
        return [call(ADD if what == "a sum of factors" else MUL, (f, g)), total]

    return join


def test_which_joins_are_linear() -> None:
    leaves = [torch.rand(3, 2), torch.rand(3, 2)]

    def found(join: Callable[..., list[Any]], given: list[Tensor]) -> Any:
        return linear_leaves(PointwiseScan(join, given).module.body, given)

    assert found(linear, leaves) == (0, 1)
    assert found(linear_from_behind, leaves) == (1, 0)
    for what in ("the other factor", "no factor", "the other term", "a sum of factors"):
        assert found(linear_but_for(what), leaves) is None
    assert found(linear, [leaves[0], leaves[1].double()]) is None
    assert found(linear, [leaf.long() for leaf in leaves]) is None
    assert linear_leaves(linear, leaves) is None


def test_a_linear_recurrence_is_one_op() -> None:
    sizes = (16, 4)
    scanned = PointwiseScan(linear, [torch.rand(sizes), torch.rand(sizes)])
    names = [op.name for op in import_graph(scanned.module, scanned.fake).walk()]
    assert names.count("tw.linear_scan") == names.count("tw.cumprod") == 1
