"""Gradients along a dimension of what an order, or a part of one, looks up are looked up by its inverse.

Masked autoencoders keep the first few of each row in a random order, put others behind, and undo the order:

    order = sort(noise, 1).indices; back = sort(order, 1).indices; kept = order[:, :k]
    gather(x, 1, kept); gather(y, 1, back)                      each index expanded along rows

    scatter_add(zeros, 1, back, g)  ->  gather(g, 1, order)
    scatter_add(zeros, 1, kept, g)  ->  where(back < k, gather(g, 1, min(back, k - 1)), 0)

(The same of `x[rows, kept]`, where `rows` counts all of them.)
Nothing is filled or added in memory, and the gradient is made by what reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Node

from .distinct_positions import counts_all, is_zeros
from .joint_nodes import argument, call_like, sizes_of
from .permutations import inverses

_ATEN = torch.ops.aten


@dataclass(frozen=True)
class _Part:
    """What is looked up of an order along a dimension."""

    order: tuple[Node, int]
    start: int
    count: Any
    whole: bool


@dataclass(frozen=True)
class _Scattered:
    """What adds up in zeros, along a dimension."""

    zeros: Node
    dim: int
    value: Node
    place: Node
    dims: tuple[int, ...]
    """The dimensions of what is scattered that the places have, in which those do not just repeat."""


def look_up_rows(joint: GraphModule) -> None:
    """Of a joint graph: sums of zeros and of what is scattered along a dimension."""
    adds = [n for target in _SCATTERED for n in joint.graph.find_nodes(op="call_function", target=target)]
    inverse = inverses(joint) if adds else {}
    for node in adds if inverse else ():
        scattered = _SCATTERED[node.target](node)
        part = None if scattered is None else _part(scattered)
        back = None if part is None else inverse.get(part.order)
        if scattered is not None and part is not None and back is not None and back < node:
            with joint.graph.inserting_before(node):
                new = _look_up(joint, node, scattered, part, back)
            node.replace_all_uses_with(new)
            joint.graph.erase_node(node)


def _look_up(joint: GraphModule, node: Node, scattered: _Scattered, part: _Part, place: Any) -> Node:
    zeros = scattered.zeros
    for new in range(len(sizes_of(zeros))):
        if new not in scattered.dims:
            place = call_like(joint, node, _ATEN.unsqueeze.default, place, new)
    inside = place
    if not part.whole:
        if part.start:
            place = call_like(joint, node, _ATEN.sub.Tensor, place, part.start)
        inside = call_like(joint, node, _ATEN.lt.Scalar, place, part.count)
        if part.start:
            begun = call_like(joint, node, _ATEN.ge.Scalar, place, 0)
            inside = call_like(joint, node, _ATEN.bitwise_and.Tensor, inside, begun)
        place = call_like(joint, node, _ATEN.clamp.default, place, 0, part.count - 1)
    place = call_like(joint, node, _ATEN.expand.default, place, zeros.args[0])
    found = call_like(joint, node, _ATEN.gather.default, scattered.value, scattered.dim, place)
    return found if part.whole else call_like(joint, node, _ATEN.where.self, inside, found, zeros)


def _part(scattered: _Scattered) -> _Part | None:
    """What is scattered to, if that is the part of an order that has as many elements as the zeros."""
    sizes, places, dim = sizes_of(scattered.zeros), sizes_of(scattered.value), scattered.dim
    if _without(places, dim) != _without(sizes, dim):
        return None
    own, count = scattered.dims.index(dim), places[dim]
    if sizes_of(scattered.place)[own] != count:
        return None
    order, start = _sliced(scattered.place, own)
    if sizes_of(order)[own] != sizes[dim]:
        return None
    whole = start == 0 and count == sizes[dim]
    known = isinstance(count, int) and count > 0
    return _Part((order, own), start, count, whole) if whole or known else None


def _along(node: Node) -> _Scattered | None:
    """A `scatter_add`."""
    given: Any = node.args
    zeros, dim, index, value = given
    rank = len(sizes_of(node))
    if not is_zeros(zeros) or not rank or sizes_of(index) != sizes_of(value):
        return None
    along = dim % rank
    place, dims = _unexpanded(index)
    return _Scattered(zeros, along, value, place, dims) if along in dims else None


def _in_rows(node: Node) -> _Scattered | None:
    """An `index_put` at positions of each row, all of which are counted."""
    given: Any = node.args
    zeros, places, value = given[:3]
    if not argument(node, "accumulate") or not is_zeros(zeros) or len(places) != 2:
        return None
    rows, place = places
    sizes = sizes_of(node)
    if rows is None or place is None or len(sizes_of(place)) != 2 or len(sizes_of(value)) != len(sizes):
        return None
    counted = sizes_of(rows) == [sizes[0], 1] and counts_all(rows)
    return _Scattered(zeros, 1, value, place, (0, 1)) if counted else None


def _without(sizes: list[Any], dim: int) -> list[Any]:
    return sizes[:dim] + sizes[dim + 1 :]


def _unexpanded(index: Node) -> tuple[Node, tuple[int, ...]]:
    """What is expanded to the index, and the dimensions of the index that it has."""
    node, dims = index, tuple(range(len(sizes_of(index))))
    while node.target in (_ATEN.expand.default, _ATEN.unsqueeze.default):
        source: Any = node.args[0]
        if node.target is _ATEN.expand.default:
            dims = dims[len(dims) - len(sizes_of(source)) :]
        else:
            new: Any = node.args[1]
            dims = _dropped(dims, new % len(dims))
        node = source
    return node, dims


def _dropped(dims: tuple[int, ...], place: int) -> tuple[int, ...]:
    return dims[:place] + dims[place + 1 :]


def _sliced(place: Node, dim: int) -> tuple[Node, int]:
    """Of what `place` is a slice along `dim`, and where it begins."""
    begin = 0
    while place.target is _ATEN.slice.Tensor and argument(place, "step") == 1:
        source: Any = place.args[0]
        if sizes_of(source) != sizes_of(place):  # else it is all of it
            start = argument(place, "start") or 0
            if argument(place, "dim") != dim or not isinstance(start, int) or start < 0:
                break
            begin += start
        place = source
    return place, begin


_SCATTERED: Mapping[Any, Callable[[Node], _Scattered | None]] = {
    _ATEN.scatter_add.default: _along,
    _ATEN.index_put.default: _in_rows,
    _ATEN._unsafe_index_put.default: _in_rows,
}
