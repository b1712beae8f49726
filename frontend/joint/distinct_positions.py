"""Gradients of what is looked up at positions that differ are stored there, not added up.

    kept = noise.argsort(1)[:, :49];  x.gather(1, kept[..., None].expand(-1, -1, 768))
    scatter_add(zeros, 1, index, g)           ->  scatter(zeros, 1, index, g)
    index_put(zeros, [rows, kept], g, True)   ->  index_put(zeros, [rows, kept], g)

Orders of sorts, the positions of `topk`, permutations and counts name nothing twice along their dimension,
nor do parts of these, nor such positions that are looked up at such. Stores have one result and round
nothing, where halves that are added in memory are rounded after each addition, or have to be widened first.
(A zero keeps its sign.) What is added to something else, and is no half, stays a sum: it is added there, and
nothing is filled with zeros.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any

import torch
from torch.fx import GraphModule, Node

from .joint_nodes import argument, call_like, number_in, size_of, sizes_of

_ATEN = torch.ops.aten
_SORTS: tuple[Any, ...] = (_ATEN.sort.default, _ATEN.sort.stable, _ATEN.topk.default)
_PUTS: tuple[Any, ...] = (_ATEN.index_put.default, _ATEN._unsafe_index_put.default)
_HALVES = (torch.bfloat16, torch.float16)
Below = Any
"""What all of some positions are less than: a number, or an expression of symbols."""


def store_distinct(joint: GraphModule) -> None:
    """Of a joint graph: sums of zeros and of what is scattered to places of which no two are one."""
    for node in joint.graph.find_nodes(op="call_function", target=_ATEN.scatter_add.default):
        zeros, dim, index, value = node.args
        if _adds_to_zeros(node) and _differs(index, dim):
            _become(joint, node, _ATEN.scatter.src, zeros, dim, index, value)
    for target in _PUTS:
        for node in joint.graph.find_nodes(op="call_function", target=target):
            places: Any = node.args[1]
            if argument(node, "accumulate") and _adds_to_zeros(node) and _are_distinct(places):
                _become(joint, node, target, node.args[0], places, node.args[2])


def _become(joint: GraphModule, node: Node, target: Any, *args: Any) -> None:
    with joint.graph.inserting_before(node):
        new = call_like(joint, node, target, *args)
    node.replace_all_uses_with(new)
    joint.graph.erase_node(node)


def _adds_to_zeros(node: Node) -> bool:
    """Whether all that `node` adds to is zeros, and all that is added."""
    zeros: Any = node.args[0]
    if not is_zeros(zeros):
        return False
    added = any(user.target is _ATEN.add.Tensor for user in node.users)
    return node.meta["val"].dtype in _HALVES or not added


def _differs(index: Node, dim: Any) -> bool:
    """Whether each row has positions of its own: one, or such as are known."""
    sizes = sizes_of(index)
    return bool(sizes) and (sizes[dim] == 1 or distinct(index, dim % len(sizes)) is not None)


def _are_distinct(places: Sequence[Node | None]) -> bool:
    """Whether no two places are one that have a position of each, broadcast together.

    Counts differ along one dimension: then others have to only where these are equal. Counts alone are left:
    what is read there is a slice.
    """
    known = [place for place in places if place is not None]
    rank = max(len(sizes_of(place)) for place in known)
    over = {place: _varies_over(place, rank) for place in known}
    left = {
        d - len(sizes_of(place)) + rank for place in known for d, n in enumerate(sizes_of(place)) if n != 1
    }
    found = -1
    while left and found != len(left):
        found = len(left)
        for place, axes in over.items():
            (*others,) = axes & left
            if len(others) == 1 and distinct(place, others[0] - rank + len(sizes_of(place))) is not None:
                left -= axes
    return not left and not (len(known) == 1 and _is_count(known[0]))


def _varies_over(place: Node, rank: int) -> set[int]:
    """The dimensions of all places, of which there are `rank`, over which a position is not just repeated."""
    if place.target is _ATEN.expand.default:
        source: Any = place.args[0]
        place = source
    sizes = sizes_of(place)
    return {d - len(sizes) + rank for d, size in enumerate(sizes) if size != 1}


def is_zeros(node: Node) -> bool:
    """Whether a node fills with zeros."""
    return number_in(node) == 0


def counts_all(node: Node) -> bool:
    """Whether the elements of `node` are 0, 1, 2 and so on, each once and in this order."""
    while node.target in _IN_ORDER or _is_all_of_its_source(node):
        source: Any = node.args[0]
        node = source
    is_count = node.target is _ATEN.arange.start_step
    return is_count and bool(node.args[0] == 0 and argument(node, "step") == 1)


def _is_all_of_its_source(node: Node) -> bool:
    source: Any = node.args[0] if node.target is _ATEN.slice.Tensor else node
    return source is not node and sizes_of(source) == sizes_of(node)


def _is_count(node: Any) -> bool:
    """Whether `node` shows elements of a count."""
    while node.op == "call_function" and node.target in _VIEWS:
        node = node.args[0]
    return node.target is _ATEN.arange.start_step


def distinct(node: Node, dim: int) -> Below | None:
    """What all positions are less than, where no two along `dim` are one and none is known to be negative."""
    rule = _RULES.get(node.target)
    return None if rule is None else rule(node, dim)


def _sorted(node: Node, dim: int) -> Below | None:
    """Of a sort, the order; of `topk`, the positions."""
    sort: Any = node.args[0]
    if node.args[1] != 1 or sort.target not in _SORTS:
        return None
    sizes = sizes_of(sort.args[0])
    return sizes[dim] if sizes and dim == argument(sort, "dim") % len(sizes) else None


def _counted(node: Node, dim: int) -> Below | None:
    first, step = node.args[0], argument(node, "step")
    known = isinstance(first, int) and first >= 0 and isinstance(step, int) and step > 0
    return inf if known else None


def _permuted(node: Node, dim: int) -> Below | None:
    return sizes_of(node)[0]


def _same(node: Node, dim: int) -> Below | None:
    """What has its source's dimensions, and of each only elements of its source, each once."""
    source: Any = node.args[0]
    return distinct(source, dim)


def _unsqueezed(node: Node, dim: int) -> Below | None:
    given: Any = node.args
    source, new = given[0], given[1] % len(sizes_of(node))
    return None if dim == new else distinct(source, dim - (dim > new))


def _expanded(node: Node, dim: int) -> Below | None:
    source: Any = node.args[0]
    before = sizes_of(source)
    own = dim - len(sizes_of(node)) + len(before)
    return distinct(source, own) if own >= 0 and before[own] == sizes_of(node)[dim] else None


def _viewed(node: Node, dim: int) -> Below | None:
    """With dimensions of one element put in or left out."""
    source: Any = node.args[0]
    (before, after) = ([d for d, n in enumerate(sizes_of(one)) if n != 1] for one in (source, node))
    equal = [sizes_of(source)[d] for d in before] == [sizes_of(node)[d] for d in after]
    return distinct(source, before[after.index(dim)]) if equal and dim in after else None


def _selected(node: Node, dim: int) -> Below | None:
    given: Any = node.args
    source, gone = given[0], given[1] % len(sizes_of(given[0]))
    return distinct(source, dim + (dim >= gone))


def _turned(node: Node, dim: int) -> Below | None:
    given: Any = node.args
    source, order = given
    return distinct(source, order[dim] % len(order))


def _looked_up(node: Node, dim: int) -> Below | None:
    given: Any = node.args
    source, along, index = given
    if dim != along % len(sizes_of(node)) or distinct(index, dim) is None:
        return None
    return distinct(source, dim)


def _wrapped(node: Node, dim: int) -> Below | None:
    """The remainder of what is less anyway."""
    source, by = node.args
    assert isinstance(source, Node)
    below, size = distinct(source, dim), size_of(by)
    fits = isinstance(below, int) and isinstance(size, int) and below <= size
    return below if below is not None and (fits or below == size) else None


_COPIES = (_ATEN.alias.default, _ATEN.clone.default, _ATEN.detach.default)
_SAME = (*_COPIES, _ATEN.flip.default, _ATEN.slice.Tensor)
_RULES: Mapping[Any, Callable[[Node, int], Below | None]] = {
    operator.getitem: _sorted,
    _ATEN.arange.start_step: _counted,
    _ATEN.randperm.default: _permuted,
    _ATEN.unsqueeze.default: _unsqueezed,
    _ATEN.expand.default: _expanded,
    _ATEN.view.default: _viewed,
    _ATEN.select.int: _selected,
    _ATEN.permute.default: _turned,
    _ATEN.gather.default: _looked_up,
    _ATEN.remainder.Scalar: _wrapped,
    **dict.fromkeys(_SAME, _same),
}
_IN_ORDER = (*_COPIES, _ATEN.unsqueeze.default, _ATEN.view.default)
_VIEWS = (*_IN_ORDER, _ATEN.expand.default, _ATEN.flip.default, _ATEN.slice.Tensor)
