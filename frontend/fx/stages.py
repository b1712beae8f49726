"""In which stage of a graph each node runs: what only torch can do stands between what is compiled.

    rows = (x > 0).nonzero()            stage 1: how many rows there are, data decide
    y[rows] * 2                         stage 2

Stages of even numbers are compiled, each as a graph of its own, to which sizes that data decided are symbols
like others; those between run through ATen, node by node: what makes such sizes (`nonzero`, `item`, a mask as
an index), what asserts something of them, what makes sparse tensors, which the IR lacks, with all that is
computed of them, what takes objects that only certain operators know (a device mesh), and what waits for a
tensor that was in flight when the graph was called. Integers that index expressions do not say,
`int(n ** 0.5)`, are Python's, before the first stage. A node runs as early as it can; but what is made of
inputs element by element waits for what reads it, to be a part of its kernel, what processes do together
keeps its order, and what an input is given at last is written at the end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from operator import getitem
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_leaves

from tilewright.targets.native.launch_collectives import is_collective

from ..aten.collectives import WAIT
from ..torch_internals import (
    COPY,
    NONDETERMINISTIC,
    WITH_EFFECTS,
    binds_integers,
    decided_by_data,
    is_of_torch,
    is_opaque,
    is_operator,
    is_view_operator,
    schema_of,
)
from .asserting_nodes import IGNORED
from .symbols import Symbols

SPARSE = "it makes or takes a sparse tensor, or what is computed of one"
DATA = "data decide how large its result is, or which integer"
OBJECT = "it takes or makes an object that only its operators know"
IN_FLIGHT = "it waits for what another graph, or a program, has begun"
NUMBER = "no index expression says which integer it is"
BEFORE = -1
"""The stage of integers that Python computes of sizes, before all else."""


@dataclass
class Stages:
    """The stage of each node of a graph."""

    levels: dict[Node, int] = field(default_factory=dict[Node, int])
    """Not of arguments and of what hangs on the module, which every stage has."""
    again: set[Node] = field(default_factory=set[Node])
    """Views, sizes, what is made of nothing: each stage that reads them has them; the level is the first."""
    outside: dict[Node, str] = field(default_factory=dict[Node, str])
    """What runs through ATen, and why; not what merely follows it."""

    @property
    def first(self) -> int:
        return min((0, *self.levels.values()))

    @property
    def last(self) -> int:
        return max((0, *self.levels.values()))


def stages_of(gm: GraphModule) -> Stages | None:
    """None where all of the graph is compiled at once, or nothing of it can be cut off."""
    outside = _outside(gm)
    if not outside or any(node.op == "placeholder" for node in outside):
        return None
    effects = any(_has_effect(node) for node in gm.graph.nodes)
    if effects and DATA in outside.values():
        return None  # they have an order
    stages = Stages(outside=outside)
    writes = gm.graph.find_nodes(op="call_function", target=COPY)
    if any(user.op != "output" for node in writes for user in node.users):
        return None
    together = 0
    for node in gm.graph.nodes:
        if node.op == "call_function" and node.target is not COPY:
            _place(node, stages, together)
            together = stages.levels[node] if _is_collective(node) else together
    _let_wait(gm, stages)
    end = stages.last + stages.last % 2
    stages.levels.update(dict.fromkeys(writes, end))
    return stages


def is_kept(node: Node) -> bool:
    """Whether every stage has it: an argument, or what hangs on the module."""
    return node.op in ("placeholder", "get_attr")


def _outside(gm: GraphModule) -> dict[Node, str]:
    found: dict[Node, str] = {}
    sparse: set[Node] = set()
    symbols = Symbols()
    for node in gm.graph.nodes:
        if node.op == "output":
            continue
        if _is_sparse(node) or not sparse.isdisjoint(node.all_input_nodes):
            sparse.add(node)
            found[node] = SPARSE
        elif _is_beyond_expressions(node, symbols):
            found[node] = NUMBER
        elif node.op == "call_function" and _has_objects(node):
            found[node] = OBJECT
        elif str(node.target) == WAIT and _began_outside(node.args[0], found):
            found[node] = IN_FLIGHT
        elif binds_integers(node) and (is_operator(node.target) or _depend_on_data(node.users)):
            found[node] = DATA  # of a loop, say, nobody may read how often it ran
    if DATA in found.values():  # equal masks, say, have one number of rows, which the first has bound
        nodes = (node for node in gm.graph.nodes if node.op == "call_function" and node not in found)
        found.update((node, DATA) for node in nodes if _decides(node))
        found = {node: found[node] for node in gm.graph.nodes if node in found}
    return found


def _has_objects(node: Node) -> bool:
    return any(is_opaque(n.meta.get("val")) for n in (node, *node.all_input_nodes))


def _began_outside(tensor: Any, outside: Collection[Node]) -> bool:
    """Whether a tensor that is waited for is no result of a compiled stage, where nothing is in flight."""
    while isinstance(tensor, Node) and tensor.target is getitem:
        tensor = tensor.args[0]
    return tensor in outside or not (isinstance(tensor, Node) and _is_collective(tensor))


def _is_collective(node: Node) -> bool:
    return is_operator(node.target) and is_collective(node.target)


def _depend_on_data(nodes: Iterable[Node]) -> bool:
    return bool(decided_by_data([node.meta.get("val") for node in nodes]))


def _decides(node: Node) -> bool:
    """Whether sizes of results depend on what no operand's depend on."""
    given = decided_by_data([n.meta.get("val") for n in node.all_input_nodes])
    return not set(decided_by_data(node.meta.get("val"))).issubset(given)


def _is_beyond_expressions(node: Node, symbols: Symbols) -> bool:
    """Whether it is an integer such as the root of a size, which Python computes."""
    value = node.meta.get("val")
    if node.op != "call_function" or not isinstance(value, torch.SymInt):
        return False
    return not symbols.could_know(value) and not _tensors(node.all_input_nodes)


def _is_sparse(node: Node) -> bool:
    return any(value.layout != torch.strided for value in _tensors((node,)))


def _has_effect(node: Node) -> bool:
    target = node.target
    if target is WITH_EFFECTS:
        return True
    return is_operator(target) and schema_of(target).is_mutable and target is not COPY


def _tensors(nodes: Iterable[Node]) -> list[torch.Tensor]:
    values = tree_leaves([node.meta.get("val") for node in nodes])
    return [value for value in values if isinstance(value, torch.Tensor)]


def _place(node: Node, stages: Stages, together: int) -> None:
    """Find the stage of a node. That of the last collective is `together`: all have one order everywhere."""
    levels, again = stages.levels, stages.again
    inputs = [given for given in node.all_input_nodes if not is_kept(given)]
    level = max((levels[given] for given in inputs), default=0)
    level = max(level, together) if _is_collective(node) else level
    repeated = all(given in again for given in inputs)
    if stages.outside.get(node) == NUMBER and level <= 0:
        level = BEFORE
    elif node in stages.outside or (level > 0 and str(node.target) in IGNORED):
        level = max(level, 0)
        level += 1 - level % 2
    elif _is_number(node):  # of numbers, or a size of what the same stage makes
        if repeated or not _tensors(inputs):
            again.add(node)
    elif node.target is getitem:
        if repeated:
            again.add(node)
    elif _is_made_again(node):
        again.add(node)
        level = max(level, 0)
    else:
        level += level % 2
    levels[node] = level


def _is_number(node: Node) -> bool:
    return isinstance(
        node.meta.get("val"), bool | int | float | torch.SymInt | torch.SymFloat | torch.SymBool
    )


def _is_made_again(node: Node) -> bool:
    """Whether it is a view, or made of no tensor, and the same each time."""
    target: Any = node.target
    if not is_operator(target):
        return False
    return is_view_operator(target) or (
        is_of_torch(target) and not _tensors(node.all_input_nodes) and NONDETERMINISTIC not in target.tags
    )


def _let_wait(gm: GraphModule, stages: Stages) -> None:
    """What is made of inputs one by one runs where it is read."""
    levels, again = stages.levels, stages.again
    light: set[Node] = set()
    for node in gm.graph.nodes:
        one_by_one = node in again or (is_operator(node.target) and torch.Tag.pointwise in node.target.tags)
        given = (is_kept(n) or n in light for n in node.all_input_nodes)
        if levels.get(node, 1) <= 0 and one_by_one and all(given):
            light.add(node)
    needed: dict[Node, int] = {}
    last = stages.last - stages.last % 2
    for node in reversed(gm.graph.nodes):
        if node not in levels:
            continue
        readers = (needed[user] if user in again else levels.get(user, last) for user in node.users)
        needed[node] = min((level - level % 2 for level in readers), default=last)
        if node in light and node not in again and node not in stages.outside:
            levels[node] = needed[node]
    for node in gm.graph.nodes:
        if node in again:
            first = 0 if _tensors((node,)) else BEFORE
            levels[node] = max((levels[n] for n in node.all_input_nodes if n in levels), default=first)
            levels[node] = max(levels[node], first)
