"""Gradients of what is looked up by a permutation are looked up by its inverse: nothing is added in memory.

Mixtures of experts sort the numbers of experts, look up rows in that order, and put results back:

    order = sort(experts).indices; back[order] = arange(n)
    x[order // 2]; y[back]                                      two experts for each row of x

    index_put(zeros, [back], g, accumulate)        ->  g[order]
    index_put(zeros, [order // 2], g, accumulate)  ->  g[back].view(rows, 2, ...).sum(1)
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import GraphModule, Node

from .joint_nodes import argument, call_like, sizes_of

_ATEN = torch.ops.aten
_SORTS: tuple[Any, ...] = (_ATEN.sort.default, _ATEN.sort.stable)
_PUTS: tuple[Any, ...] = (_ATEN.index_put.default, _ATEN._unsafe_index_put.default)
_COUNTS = _ATEN.arange.start_step
_POSITIONS = (torch.int64, torch.int32)


def look_up_gradients(joint: GraphModule) -> None:
    """Of a joint graph: sums at positions that are a permutation, or a quotient of one by a number."""
    inverse = inverses(joint)
    puts = [n for target in _PUTS for n in joint.graph.find_nodes(op="call_function", target=target)]
    for node in puts if inverse else ():
        target: Any = node.args[0]
        if argument(node, "accumulate") and target.target is _ATEN.full.default and target.args[1] == 0:
            _look_up(joint, node, inverse)


def _look_up(joint: GraphModule, node: Node, inverse: dict[tuple[Node, int], Node]) -> None:
    value = _value(node)
    order, times = _quotient(_place(node))
    back = inverse.get((order, 0))
    if back is None or not back < node:
        return
    count, rows, found = _size(order), sizes_of(node), sizes_of(value)
    if found != [count, *rows[1:]] or rows[0] * times != count:
        return
    if not all(isinstance(size, int) for size in found[1:]):
        return
    with joint.graph.inserting_before(node):
        new = call_like(joint, node, _ATEN.index.Tensor, value, [back])
        if times > 1:
            new = call_like(joint, node, _ATEN.view.default, new, [-1, times, *found[1:]])
            new = call_like(joint, node, _ATEN.sum.dim_IntList, new, [1], dtype=value.meta["val"].dtype)
    node.replace_all_uses_with(new)
    joint.graph.erase_node(node)


def inverses(joint: GraphModule) -> dict[tuple[Node, int], Node]:
    """Of each permutation along a dimension whose inverse is computed, too, that."""
    found: dict[tuple[Node, int], Node] = {}
    orders = {
        node: _sorted(node) for node in joint.graph.find_nodes(op="call_function", target=operator.getitem)
    }
    known = {node: order[1] for node, order in orders.items() if order is not None}
    for node in joint.graph.nodes:
        of, dim = (_filled(node), 0) if node.target in _PUTS else orders.get(node) or (None, 0)
        if of is not None and known.get(of) == dim and sizes_of(of) == sizes_of(node):
            found[of, dim], found[node, dim] = node, of
    return found


def _sorted(node: Node) -> tuple[Node, int] | None:
    """That of which `node` is the order along a dimension, from the smallest element on."""
    sort: Any = node.args[0]
    if node.args[1] != 1 or sort.target not in _SORTS or not sizes_of(node) or argument(sort, "descending"):
        return None
    return sort.args[0], argument(sort, "dim") % len(sizes_of(node))


def _filled(node: Node) -> Node | None:
    """Where `node` puts 0, 1, 2, ...: of as many different positions as it has places, it is the inverse."""
    place, value = _place(node), _value(node)
    if argument(node, "accumulate") or place is None or len(sizes_of(node)) != 1:
        return None
    if node.meta["val"].dtype not in _POSITIONS:
        return None
    counts = value.target is _COUNTS and value.args[0] == 0
    return place if counts and argument(value, "step") == 1 and _size(value) == _size(node) else None


def _value(node: Node) -> Node:
    value: Any = node.args[2]
    return value


def _place(node: Node) -> Node | None:
    """The one index of the first dimension, a row."""
    places: Any = node.args[1]
    alone = len(places) == 1 and len(sizes_of(places[0])) == 1
    return places[0] if alone and places[0].meta["val"].dtype == torch.int64 else None


def _quotient(place: Node | None) -> tuple[Any, int]:
    """What `place` is a quotient of, and by which number: by 1 where it is none."""
    if place is None or place.target not in (_ATEN.div.Tensor_mode, _ATEN.floor_divide.default):
        return place, 1
    by: Any = place.args[1]
    whole = place.kwargs.get("rounding_mode", "floor") is not None
    return (place.args[0], by) if whole and isinstance(by, int) and by > 0 else (None, 1)


def _size(node: Node) -> Any:
    return sizes_of(node)[0]
