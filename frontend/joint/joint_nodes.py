"""Nodes of a joint graph: their arguments, and new ones."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeGuard, cast

import torch
from torch import Tag
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg
from torch.utils.checkpoint import CheckpointPolicy

from ..torch_internals import COPY, is_operator, is_view_operator, size_expression

_PRODUCTS: tuple[Any, ...] = (
    torch.ops.aten.mm.default,
    torch.ops.aten.addmm.default,
    torch.ops.aten.bmm.default,
    torch.ops.aten.baddbmm.default,
    torch.ops.aten._grouped_mm.default,
    torch.ops.aten.convolution.default,
)


_OF_NUMBERS: dict[Any, int] = {
    torch.ops.aten.full.default: 1,
    torch.ops.aten.scalar_tensor.default: 0,
}
"""What makes tensors of one number, and which argument that is."""
AGAIN = (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)
"""How a checkpoint says that a node is made again in the backward pass."""


def make_again(node: Node) -> None:
    """Let the backward pass compute `node`, and keep none of it; one of a checkpoint stays in that."""
    node.meta["recompute"] = CheckpointPolicy.MUST_RECOMPUTE
    node.meta.setdefault("ac_graph_id", 0)


def call_like(joint: GraphModule, like: Node, target: Any, *args: Any, **options: Any) -> Node:
    """A call where the graph is being written: all that is known of `like` holds of it, but its value."""
    node = joint.graph.call_function(target, args, options)
    with like.meta["val"].fake_mode:
        node.meta = {key: value for key, value in like.meta.items() if key != "val"}
        node.meta["val"] = target(*map_arg(args, _value), **options)
    return node


def _value(node: Node) -> Any:
    return node.meta["val"]


def forward_nodes(joint: GraphModule, num_fwd_outputs: int) -> set[Node]:
    """What the first outputs, the results of the forward pass, are made of, and these."""
    outputs = joint.graph.output_node().args[0]
    assert isinstance(outputs, list | tuple)
    found: set[Node] = set()
    todo = [node for node in outputs[:num_fwd_outputs] if isinstance(node, Node)]
    while todo:
        node = todo.pop()
        if node not in found:
            found.add(node)
            todo += node.all_input_nodes
    return found


def tangents_of(joint: GraphModule) -> list[Node]:
    """The gradients of results that the backward pass is given."""
    return [node for node in joint.graph.find_nodes(op="placeholder") if "tangents" in str(node.target)]


def is_view(node: Node) -> bool:
    """Whether `node` shows memory of its first argument: parts of a split, one by one, too."""
    target = node.target
    if target in (operator.getitem, torch.ops.aten._unsafe_view.default):
        return True
    return is_operator(target) and is_view_operator(target)


def is_tensor(node: object) -> TypeGuard[Node]:
    """Whether an argument, output or node of a traced graph is a tensor."""
    return isinstance(node, Node) and isinstance(node.meta.get("val"), torch.Tensor)


def written_arguments(placeholders: Iterable[Node]) -> set[Node]:
    """Those of the arguments that their graph writes to."""
    return {node for node in placeholders if any(_writes(user, node) for user in node.users)}


def _writes(user: Node, node: Node) -> bool:
    return user.target is COPY and user.args[0] is node


def number_in(node: Node) -> Any:
    """The number that all elements of what `node` makes are; None where it makes none, or of data."""
    place = _OF_NUMBERS.get(node.target)
    number = None if place is None else node.args[place]
    return None if isinstance(number, Node) else number


def is_product(node: Node) -> bool:
    """Whether `node` multiplies matrices or convolves: what it reads and makes is in memory whole."""
    return node.target in _PRODUCTS


def argument(node: Node, name: str) -> Any:
    """What a node passes for a parameter of its operator."""
    if name in node.kwargs:
        return node.kwargs[name]
    parameters: Any = cast("Any", node.target)._schema.arguments
    place = [p.name for p in parameters].index(name)
    return node.args[place] if place < len(node.args) else parameters[place].default_value


def sizes_of(node: Node) -> list[Any]:
    """Numbers, or expressions of symbols; none of what is no tensor."""
    value = node.meta["val"]
    sizes: Any = value.shape if isinstance(value, torch.Tensor) else ()
    return [size_of(size) for size in sizes]


def size_of(size: Any) -> Any:
    """The number, or the expression of symbols, that a size or an argument is."""
    size = size.meta["val"] if isinstance(size, Node) else size
    return size_expression(size) if isinstance(size, torch.SymInt) else size


def readers_behind(nodes: Iterable[Node], through: Callable[[Node], bool] = lambda node: True) -> set[Node]:
    """What reads `nodes`, and what reads that, where a reader lets more `through`."""
    found: set[Node] = set()
    todo = list(nodes)
    while todo:
        for user in todo.pop().users:
            if user not in found:
                found.add(user)
                if through(user):
                    todo.append(user)
    return found


def readers(value: Node) -> list[Node]:
    """Those that read the memory of `value`, itself or its views, but not those views."""
    return [reader for reader in readers_behind((value,), through=is_view) if not is_view(reader)]


def goes_one_by_one(node: Node) -> bool:
    """Whether a result has the elements of arguments, or something of each."""
    return is_view(node) or (is_operator(node.target) and Tag.pointwise in node.target.tags)
