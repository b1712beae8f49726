"""Sparse tensors, which the IR lacks: what makes them, and all that depends on it, runs after the rest.

    rows = torch.nn.functional.embedding(i, weight, sparse=True)

Its gradient is a sparse tensor of indices and values. Both are computed by the graph that is compiled; ATen
makes the tensor of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import getitem
from typing import Any, cast

import torch
from torch.fx import Graph as FxGraph
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_leaves

from ..aten.aten import callee_of
from ..errors import FallbackRefused
from ..runtime.call import Boxed
from ..torch_internals import is_operator
from .graph import Fallback
from .locations import location_of, place_of

_REASON = "it makes or takes a sparse tensor, or what is computed of one"


@dataclass(frozen=True)
class Tail:
    """The end of a graph, for ATen."""

    module: GraphModule
    """From what the graph in front of it computes to the results that it lacks."""
    places: tuple[int, ...]
    """Which results of the whole these are."""
    count: int
    """How many results the whole has; those of the graph in front that follow are for this module."""
    fallbacks: tuple[Fallback, ...]

    def behind(self, call: Boxed) -> Boxed:
        """The whole, of the compiled graph in front."""

        def whole(args: list[Any]) -> Sequence[Any]:
            results = list(call(args))
            given = results[self.count :]
            del results[self.count :]
            for place, value in zip(self.places, self.module(*given), strict=True):
                results[place] = value
            return results

        whole._boxed_call = True  # pyright: ignore[reportFunctionMemberAccess]
        return whole

    def refused_unless(self, fallback: bool) -> tuple[Fallback, ...]:
        """What runs through ATen; raises FallbackRefused where nothing may."""
        if not fallback:
            first = self.fallbacks[0]
            raise FallbackRefused(where=first.place, callee=first.op, reason=first.reason)
        return self.fallbacks


def cut_tail(gm: GraphModule) -> tuple[GraphModule, Tail | None]:
    """The graph in front of what has to do with sparse tensors, and that; `gm` itself where there is none.

    A graph that is given a sparse tensor stays whole.
    """
    behind: dict[Node, None] = {}
    for node in gm.graph.nodes:
        if node.op != "output" and (_is_sparse(node) or not behind.keys().isdisjoint(node.all_input_nodes)):
            behind[node] = None
    if not behind or any(node.op == "placeholder" for node in behind):
        return gm, None
    outputs = cast("Sequence[Any]", gm.graph.output_node().args[0])
    places = tuple(i for i, output in enumerate(outputs) if output in behind)
    ahead = [node for node in gm.graph.nodes if node not in behind and node.op != "output"]
    held = [node for node in ahead if node.op == "get_attr"]
    given = list(dict.fromkeys(n for node in behind for n in node.all_input_nodes if n not in behind))
    given = [node for node in given if node not in held]
    kept = [None if i in places else output for i, output in enumerate(outputs)]
    front = _part(gm, (), ahead, [*kept, *given])
    tail = _part(gm, given, [*held, *behind], [outputs[i] for i in places])
    fallbacks = tuple(
        Fallback("TW1104", _name_of(node.target), place_of(location_of(node)), _REASON)
        for node in behind
        if node.target is not getitem
    )
    return front, Tail(tail, places, len(outputs), fallbacks)


def _name_of(target: Any) -> str:
    return callee_of(target) if is_operator(target) else str(target)


def _is_sparse(node: Node) -> bool:
    leaves = tree_leaves(node.meta.get("val"))
    return any(isinstance(leaf, torch.Tensor) and leaf.layout != torch.strided for leaf in leaves)


def _part(
    gm: GraphModule, given: Sequence[Node], nodes: Sequence[Node], outputs: Sequence[Any]
) -> GraphModule:
    """A graph of these nodes, whose arguments are those of its placeholders and what is `given`."""
    graph = FxGraph()
    made = {node: graph.placeholder(node.name) for node in given}
    for node in nodes:
        made[node] = graph.node_copy(node, made.__getitem__)
    graph.output(tuple(made[out] if isinstance(out, Node) else out for out in outputs))
    return GraphModule(gm, graph)
