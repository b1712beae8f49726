"""What is divided is kept as a whole: the backward pass divides it again, which costs nothing.

    gate, up = split(mm(x, w), 1408, -1);  silu(gate) * up        kept: the product, not gate and up

Parts of a product are views of its memory, so that to keep them keeps all of it. torch does not compute a
`split_with_sizes` again, and keeps each part as a tensor of its own: what reads several could not tell that
they are one buffer. Parts of an input would be copied.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import GraphModule, Node

from .joint_nodes import is_product, is_view, make_again

_ATEN = torch.ops.aten
_DIVIDE: tuple[Any, ...] = (
    _ATEN.split.Tensor,
    _ATEN.split_with_sizes.default,
    _ATEN.unbind.int,
)
_CUT: tuple[Any, ...] = (_ATEN.slice.Tensor, _ATEN.select.int)
"""What leaves the rest: of products, torch compares what is kept."""


def keep_whole(joint: GraphModule) -> None:
    """Of a joint graph: parts of products and of inputs are not kept."""
    for target in (*_DIVIDE, *_CUT):
        for node in joint.graph.find_nodes(op="call_function", target=target):
            source = _source(node)
            if source.op != "placeholder" and (target in _CUT or not is_product(source)):
                continue
            parts = [user for user in node.users if user.target is operator.getitem]
            for again in (node, *parts):
                if "recompute" not in again.meta:
                    make_again(again)


def _source(node: Node) -> Node:
    """What `node` divides, behind views."""
    source: Any = node.args[0]
    while is_view(source):
        source = source.args[0]
    return source
