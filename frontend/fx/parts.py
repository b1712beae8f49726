"""A graph cut into parts, one for each stage (`stages.py`), and the function that runs them in a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import getitem
from typing import Any, cast

import torch
from torch.fx import Graph as FxGraph
from torch.fx import GraphModule, Node

from ..aten.aten import callee_of
from ..errors import FallbackRefused
from ..runtime.call import Boxed
from ..torch_internals import decided_by_data, is_operator, size_expression, sizes_in
from .asserting_nodes import IGNORED
from .graph import Fallback
from .locations import location_of, place_of
from .masked_rows import look_up_masked
from .stages import IN_FLIGHT, NUMBER, Stages, is_kept, stages_of


@dataclass(frozen=True)
class Part:
    """One stage of a graph. It takes the arguments of the whole, then what earlier parts made."""

    module: GraphModule
    """Gives all results of the whole, None for those that other parts have, then what later parts take."""
    compiled: bool
    """Otherwise ATen runs it."""
    given: tuple[Node, ...] = ()
    """The nodes of the whole of which it takes the values."""
    makes: tuple[Node, ...] = ()
    """Those of which later parts take the values."""
    results: tuple[int, ...] = ()
    """Which results of the whole it has."""
    fallbacks: tuple[Fallback, ...] = ()
    """What the part behind a compiled one runs through ATen."""

    def refused_unless(self, fallback: bool) -> tuple[Fallback, ...]:
        """`fallbacks`; raises FallbackRefused where nothing may run through ATen."""
        if self.fallbacks and not fallback:
            first = self.fallbacks[0]
            raise FallbackRefused(where=first.place, callee=first.op, reason=first.reason)
        return self.fallbacks


def parts_of(gm: GraphModule) -> Sequence[Part]:
    """The parts of a graph, in order. One, the whole, where nothing has to be cut."""
    look_up_masked(gm)
    stages = stages_of(gm)
    if stages is None:
        return (Part(gm, compiled=True),)
    _name_sizes(gm, stages)
    cuts = [_Cut(gm, stages, level) for level in range(stages.first, stages.last + 1)]
    parts: list[Part] = []
    for cut in cuts:
        makes = tuple(
            dict.fromkeys(n for later in cuts for n in later.given if stages.levels[n] == cut.level)
        )
        if cut.level == 0 or makes or cut.results or cut.level % 2:
            parts.append(cut.part(makes))
    return parts


def run_parts(parts: Sequence[Part], calls: Sequence[Boxed], count: int) -> Boxed:
    """The whole, which has `count` results, of the functions of its parts."""
    readers = {node: i for i, part in enumerate(parts) for node in part.given}
    """The last of the parts that take a value."""

    def whole(args: list[Any]) -> Sequence[Any]:
        values: dict[Node, Any] = {}
        results: list[Any] = [None] * count
        for i, (part, call) in enumerate(zip(parts, calls, strict=True)):
            given = [values.pop(n) if readers[n] == i else values[n] for n in part.given]
            taken = [*args, *given]
            if i == len(parts) - 1:
                args.clear()
            del given  # what the last reader takes is freed where it is read for the last time
            found = call(taken)
            for place in part.results:
                results[place] = found[place]
            values.update(zip(part.makes, found[count:], strict=True))
        return results

    whole._boxed_call = True  # pyright: ignore[reportFunctionMemberAccess]
    return whole


class _Cut:
    """What one part of a graph consists of."""

    def __init__(self, gm: GraphModule, stages: Stages, level: int) -> None:
        self.gm, self.stages, self.level = gm, stages, level
        self.outputs = cast("Sequence[Any]", gm.graph.output_node().args[0])
        self.results = tuple(i for i, output in enumerate(self.outputs) if self._level_of(output) == level)
        own = [n for n in gm.graph.nodes if stages.levels.get(n) == level and n not in stages.again]
        self.nodes: dict[Node, None] = {}
        """Of the whole, in order; views and numbers also of stages before."""
        self.given: dict[Node, None] = {}
        self._collect([*own, *(self.outputs[i] for i in self.results if isinstance(self.outputs[i], Node))])
        if level % 2 == 0:
            self._know_symbols()

    def part(self, makes: tuple[Node, ...]) -> Part:
        """`makes`: the nodes of which later parts take the values."""
        graph = FxGraph()
        made: dict[Node, Node] = {}
        for node in self.gm.graph.find_nodes(op="placeholder"):
            made[node] = graph.node_copy(node)
        for node in self.given:
            made[node] = graph.placeholder(node.name)
            made[node].meta = dict(node.meta)
        order = {node: i for i, node in enumerate(self.gm.graph.nodes)}
        for node in sorted(self.nodes, key=order.__getitem__):
            made[node] = graph.node_copy(node, made.__getitem__)
        kept = [output if i in self.results else None for i, output in enumerate(self.outputs)]
        graph.output(tuple(made[out] if isinstance(out, Node) else out for out in (*kept, *makes)))
        return Part(
            GraphModule(self.gm, graph),
            self.level % 2 == 0,
            tuple(self.given),
            makes,
            self.results,
            self._fallbacks(),
        )

    def _level_of(self, output: Any) -> int:
        return self.stages.levels.get(output, 0) if isinstance(output, Node) else 0

    def _collect(self, wanted: Iterable[Node]) -> None:
        todo = list(wanted)
        while todo:
            node = todo.pop()
            if node in self.nodes or node.op == "placeholder":
                continue
            here = is_kept(node) or node in self.stages.again or self.stages.levels[node] == self.level
            if here:
                self.nodes[node] = None
                todo += node.all_input_nodes
            else:
                self.given[node] = None

    def _know_symbols(self) -> None:
        """Take the integers that other parts found, and on which sizes depend."""
        found = sizes_in([node.meta.get("val") for node in (*self.nodes, *self.given)])
        for node, level in self.stages.levels.items():
            value = node.meta.get("val")
            if level >= self.level or node in self.stages.again or not isinstance(value, torch.SymInt):
                continue
            integer = size_expression(value)
            if (integer.is_Symbol or node in self.stages.outside) and any(e.has(integer) for e in found):
                self.given[node] = None

    def _fallbacks(self) -> tuple[Fallback, ...]:
        """Of the stage behind, in order."""
        behind = (
            (n, why)
            for n, why in self.stages.outside.items()
            if self.stages.levels[n] == self.level + 1 and why not in (NUMBER, IN_FLIGHT)
        )
        return tuple(
            Fallback("TW1104", _name_of(node.target), place_of(location_of(node)), why)
            for node, why in behind
            if node.target is not getitem and str(node.target) not in IGNORED
        )


def _name_of(target: Any) -> str:
    return callee_of(target) if is_operator(target) else str(target)


def _name_sizes(gm: GraphModule, stages: Stages) -> None:
    """Let each size that data decide be a node of the stage that makes it."""
    known = {
        size_expression(value)
        for node in stages.levels
        if isinstance(value := node.meta.get("val"), torch.SymInt) and node not in stages.again
    }
    for node in list(stages.levels):
        value = node.meta.get("val")
        if stages.levels[node] % 2 == 0 or not isinstance(value, torch.Tensor):
            continue
        for dim, size in enumerate(value.shape):
            if isinstance(size, torch.SymInt) and decided_by_data(size) == [size_expression(size)]:
                if size_expression(size) in known:
                    continue
                known.add(size_expression(size))
                with gm.graph.inserting_after(node):
                    new = gm.graph.call_function(torch.ops.aten.sym_size.int, (node, dim))
                new.meta["val"] = size
                stages.levels[new] = stages.levels[node]
