"""What is divided is kept as a whole: the backward pass divides it again, which costs nothing.

    gate, up = split(mm(x, w), 1408, -1);  silu(gate) * up        kept: the product, not gate and up

Parts of a product are views of its memory, so that to keep them keeps all of it. torch does not compute a
`split_with_sizes` again, and keeps each part as a tensor of its own: what reads several could not tell that
they are one buffer. Parts of an input would be copied. What else is divided is cut, which torch does again:

    left, right = split(table[i], 64, -1)        kept: the table and i, where these are less
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import torch
from torch.fx import GraphModule, Node

from .joint_nodes import argument, call_like, is_product, is_view, make_again

_ATEN = torch.ops.aten
_DIVIDE: tuple[Any, ...] = (
    _ATEN.split.Tensor,
    _ATEN.split_with_sizes.default,
    _ATEN.unbind.int,
)
_CUT: tuple[Any, ...] = (_ATEN.slice.Tensor, _ATEN.select.int)
"""What leaves the rest: of products, torch compares what is kept."""
_OF_CHECKPOINTS = ("recompute", "ac_graph_id")
"""What a checkpoint notes on the nodes in it."""


def keep_whole(joint: GraphModule) -> None:
    """Of a joint graph: parts of products and of inputs are not kept; those of others need not be."""
    for target in (*_DIVIDE, *_CUT):
        for node in joint.graph.find_nodes(op="call_function", target=target):
            source = _source(node)
            parts = [user for user in node.users if user.target is operator.getitem]
            if source.op == "placeholder" or (target not in _CUT and is_product(source)):
                for again in (node, *parts):
                    if "recompute" not in again.meta:
                        make_again(again)
            elif target not in _CUT:
                _cut(joint, node, parts)


def _cut(joint: GraphModule, node: Node, parts: Sequence[Node]) -> None:
    """Make slices of the parts of what `node` divides at known places."""
    given, dim = node.args[0], argument(node, "dim")
    sizes = [] if node.target is _ATEN.unbind.int else [part.shape[dim] for part in node.meta["val"]]
    if not all(isinstance(size, int) for size in sizes):
        return
    ends = list(accumulate(sizes))
    for part in parts:
        number: Any = part.args[1]
        with joint.graph.inserting_before(part):
            if ends:
                place = (ends[number] - sizes[number], ends[number])
                cut = call_like(joint, part, _ATEN.slice.Tensor, given, dim, *place)
            else:
                cut = call_like(joint, part, _ATEN.select.int, given, dim, number)
        cut.meta.update({key: node.meta[key] for key in _OF_CHECKPOINTS if key in node.meta})
        part.replace_all_uses_with(cut)
        joint.graph.erase_node(part)
    joint.graph.erase_node(node)


def _source(node: Node) -> Node:
    """What `node` divides, behind views."""
    source: Any = node.args[0]
    while is_view(source):
        source = source.args[0]
    return source
