"""What `einsum` does with axes of one element is one view: it adds some, moves them about, and drops them.

    permute(view(bmm, [2, 8, 128, 1, 64]), [0, 1, 2, 4, 3])     ->   view(bmm, [2, 8, 128, 64, 1])
    permute(permute(x, [0, 2, 1, 4, 3]), [0, 2, 1, 4, 3])       ->   view(x, ...)

What looks for products and what is made of them (`recomputed_weights.py`) then finds them as `@` has them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from .joint_nodes import call_like, is_tensor

_ATEN = torch.ops.aten
_VIEW, _PERMUTE = _ATEN.view.default, _ATEN.permute.default
_RESHAPES: tuple[Any, ...] = (
    _VIEW,
    _ATEN._unsafe_view.default,
    _ATEN.unsqueeze.default,
    _ATEN.squeeze.default,
    _ATEN.squeeze.dim,
    _ATEN.squeeze.dims,
)


def join_views(joint: GraphModule) -> None:
    """Of a joint graph: of several views in a row, which keep the order of elements, one is left.

    A view of a view is one of what that shows: each of them takes apart, or joins, what lies side by side.
    So is a permutation of another, which may undo it.
    """
    for permuted in joint.graph.find_nodes(op="call_function", target=_PERMUTE):
        _permute_once(permuted)
    for node in list(joint.graph.nodes):
        source = node
        while _reshapes(source):
            source = source.args[0]  # type: ignore[assignment]
        if source is node or (source is node.args[0] and node.target in _RESHAPES):
            continue
        sizes = list(node.meta["val"].shape)
        if all(isinstance(size, int) for size in sizes):
            with joint.graph.inserting_before(node):
                node.replace_all_uses_with(call_like(joint, node, _VIEW, source, sizes))
            joint.graph.erase_node(node)
    for node in reversed(list(joint.graph.nodes)):
        if not node.users and node.target in (*_RESHAPES, _PERMUTE):
            joint.graph.erase_node(node)


def _permute_once(node: Node) -> None:
    source: Any = node.args[0]
    order: Any = node.args[1]
    if source.target is _PERMUTE:
        before: Any = source.args[1]
        node.args = (source.args[0], [before[axis] for axis in order])


def _reshapes(node: Node) -> bool:
    """Whether it shows the elements of its first argument in their order."""
    if node.op != "call_function" or not is_tensor(node):
        return False
    if node.target in _RESHAPES:
        return True
    if node.target is not _PERMUTE:
        return False
    source: Any = node.args[0]
    order: Any = node.args[1]
    sizes = source.meta["val"].shape
    moved: list[int] = [axis % len(sizes) for axis in order if not _is_one(sizes[axis])]
    return moved == sorted(moved)


def _is_one(size: int | torch.SymInt) -> bool:
    return isinstance(size, int) and size == 1
