"""What only repeats elements is made again in the backward pass, for which the fewer are kept.

    k2 = view(clone(expand(k, 3)));  attention(q, k2, v2)        kept: k, not k2
    f2 = cat([f, f])                 ->     view(clone(expand(f, 2)))

Heads of keys and values that heads of queries share are repeated before attention, or before its products:
torch keeps the copies, since these read memory. Kernels of ours read repeated elements where they are. Nor
would torch compute a `cat` again, as of the angles of rotary embeddings; of an `expand`, it decides by size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from .joint_nodes import call_like, is_view, make_again

_ATEN = torch.ops.aten


def keep_shorter(joint: GraphModule, attention: Sequence[Any], *, products: bool = False) -> None:
    """Of a joint graph; `attention`: operators whose second and third operands may be repeated.

    With `products`, what batched ones multiply, too: kernels of ours compute them.
    """
    for node in list(joint.graph.find_nodes(op="call_function", target=_ATEN.cat.default)):
        _expand(joint, node)
    for target in attention:
        for node in joint.graph.find_nodes(op="call_function", target=target):
            for operand in node.args[1:3]:
                _recompute(operand)
    if products:
        for node in joint.graph.find_nodes(op="call_function", target=_ATEN.bmm.default):
            for operand in node.args[:2]:
                _recompute(operand)


def _expand(joint: GraphModule, cat: Node) -> None:
    """Instead of joining a tensor with itself, along one dimension."""
    parts: Any = cat.args[0]
    (part, *others) = parts
    sizes = list(cat.meta["val"].shape)
    if not others or any(other is not part for other in others) or part.meta["val"].ndim != len(sizes):
        return
    place = int(cat.args[1]) % len(sizes) if len(cat.args) > 1 else 0  # type: ignore[arg-type]
    known = [size if isinstance(size, int) else -1 for size in sizes]
    if known.count(-1) > 1 or (-1 in known and 0 in known):
        return  # a view is told of all sizes but one, which it finds where there are elements
    with joint.graph.inserting_before(cat):
        value = call_like(joint, cat, _ATEN.unsqueeze.default, part, place)
        many = [-1] * len(sizes)
        many.insert(place, len(parts))
        value = call_like(joint, cat, _ATEN.expand.default, value, many)
        value = call_like(joint, cat, _ATEN.clone.default, value, memory_format=torch.contiguous_format)
        value = call_like(joint, cat, _ATEN.view.default, value, known)
    cat.replace_all_uses_with(value)
    joint.graph.erase_node(cat)


def _recompute(operand: Any) -> None:
    """Make the copy that `operand` is a view of again in the backward pass, if it repeats elements."""
    copied: list[Node] = []
    node = operand
    while isinstance(node, Node) and node.op == "call_function" and "recompute" not in node.meta:
        copied.append(node)
        source: Any = node.args[0]
        if node.target is _ATEN.clone.default and source.target is _ATEN.expand.default:
            for again in copied:
                make_again(again)
        if not is_view(node):
            return
        node = source
