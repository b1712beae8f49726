"""A constant of which each row has a few other numbers is made again in the backward pass, not kept.

    t = full_like(x, 0.1); t.scatter_(1, target[:, None], 0.9); (t * x).sum()        kept: the targets

torch would keep all of it, since it scatters. Kernels of ours choose the numbers by position
(`select-scatters`), in what reads them. What a product reads is in memory, and stays there.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from tilewright.passes.pipeline import SELECTED

from .joint_nodes import (
    call_like,
    goes_one_by_one,
    is_product,
    is_tensor,
    make_again,
    readers_behind,
    sizes_of,
    tangents_of,
)

_ATEN = torch.ops.aten
_SCATTERS: tuple[Any, ...] = (_ATEN.scatter.value, _ATEN.scatter.src)


def recompute_selections(joint: GraphModule) -> None:
    """Of a joint graph: those that the backward pass reads, and what is made of them alone."""
    scatters = [n for target in _SCATTERS for n in joint.graph.find_nodes(op="call_function", target=target)]
    of_tangents = readers_behind(tangents_of(joint)) if scatters else set[Node]()
    for node in scatters:
        made = _made_of(node)
        readers = {user for one in made for user in one.users}
        again = not any(map(is_product, readers)) and not readers.isdisjoint(of_tangents)
        if again and node not in of_tangents and _selects(node):
            _count_sizes(joint, node)
            for one in made:
                if "recompute" not in one.meta:
                    make_again(one)


def _made_of(node: Node) -> list[Node]:
    """`node`, and what is made of its elements and of numbers, one by one."""
    found = [node]
    for one in found:
        for user in one.users:
            tensors = filter(is_tensor, user.all_input_nodes)
            if user not in found and goes_one_by_one(user) and all(a in found for a in tensors):
                found.append(user)
    return found


def _selects(scatter: Node) -> bool:
    """Whether each row of a constant has few numbers of its own."""
    given: Any = scatter.args
    constant, dim, index = given[:3]
    sizes = sizes_of(index)
    if constant.target not in (_ATEN.full.default, _ATEN.full_like.default) or not sizes:
        return False
    most = SELECTED["cpu" if index.meta["val"].device.type == "cpu" else "gpu"]
    few = sizes.pop(dim % len(sizes))
    rows = sizes_of(constant)
    rows.pop(dim % len(rows))
    return isinstance(few, int) and few <= most and sizes == rows


def _count_sizes(joint: GraphModule, scatter: Node) -> None:
    """Let a constant that is as large as a tensor be so large, if that is known: no tensor is kept for it."""
    given: Any = scatter.args
    like, value = given[0], given[0].meta["val"]
    known = all(isinstance(size, int) for size in value.shape) and value.is_contiguous()
    if like.target is _ATEN.full_like.default and known:
        with joint.graph.inserting_before(like):
            how = {"dtype": value.dtype, "device": value.device}
            full = call_like(joint, like, _ATEN.full.default, list(value.shape), like.args[1], **how)
        scatter.args = (full, *given[1:])
