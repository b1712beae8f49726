"""Attention that the program writes out: weights are computed again for gradients instead of being kept.

    s = q k^T;  p = exp(x(s) - m) / l;  o = p v          kept: q, k, v, m, l, o
    d = sum(p * (g v^T))                          ->     d = sum(g * o)

`m` and `l`, the maximum and the sum of a row, are kept, `s` and `p` are not: they are as large as rows times
columns. `d`, which the derivative of a softmax subtracts, needs neither then, but `o` as it is before it is
rounded: an error of `d` is one of all weights' gradients in a row, which keys that have much in common add up
(docs/decisions/attention-gradients.md). With dropout `o` is of what it leaves of `p`, so that `d` is the
same: what it draws is drawn again (`partition.py`). So a target whose kernels compute products again
(`recompute-products`) needs no memory for what lies between them, neither forward nor backward; where it
does not, or where more reads the weights, all is kept as AOTAutograd decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.utils.checkpoint import CheckpointPolicy

from tilewright.passes.schedule.tiles.chain_blocks import DEEPEST

from ..torch_internals import size_expression
from .copied_factors import copy_again
from .dropped_weights import Dropped, dropped
from .joint_nodes import call_like, forward_nodes, make_again

_ATEN = torch.ops.aten
_CAST = torch.ops.prims.convert_element_type.default
_PRODUCTS = (_ATEN.mm.default, _ATEN.bmm.default)
_SCORES = dict.fromkeys(_PRODUCTS, 0) | {_ATEN.addmm.default: 1, _ATEN.baddbmm.default: 1}
"""Products that scores are made by, and which argument is their first factor."""
_VIEWS = (_ATEN.view.default, _ATEN._unsafe_view.default, _ATEN.reshape.default)
_SAME = (*_VIEWS, _CAST, _ATEN.expand.default, _ATEN.alias.default, _ATEN.clone.default)
"""What leaves each number where it is, or rounds it."""


@dataclass(frozen=True)
class _Attention:
    """Nodes of one."""

    scores: Node
    """The product."""
    out: Node
    values: Node
    weights: Node
    """As the softmax makes them."""
    kept: tuple[Node, Node]
    between: tuple[Node, ...]
    """From the scores to the weights as `out` reads them."""
    dropped: Dropped | None
    """What dropout makes of them in between."""


def recompute_weights(joint: GraphModule, num_fwd_outputs: int) -> None:
    """Say of each such attention in a joint graph what is kept."""
    forward = forward_nodes(joint, num_fwd_outputs)
    factors = list[Node]()
    for product in [node for node in joint.graph.nodes if node.target in _PRODUCTS]:
        if product not in forward or (found := _attention(product, forward)) is None:
            continue
        sums = list(_row_sums(found))
        if not sums:
            continue
        wide = _widened(joint, found.out)
        factors += (*_factors(found.scores), found.values)
        for total, gradient, views in sums:
            _replace(joint, wide, total, gradient, views)
        for node in found.between:
            make_again(node)
        for node in (*found.kept, wide):
            node.meta["recompute"] = CheckpointPolicy.MUST_SAVE
    copy_again(factors)


def _is(node: Any, target: Any) -> bool:
    return isinstance(node, Node) and node.target is target


def _sizes(node: Node) -> list[Any]:
    """Comparable, without asking for what is not known."""
    return [size_expression(n) if isinstance(n, torch.SymInt) else n for n in node.meta["val"].shape]


def _stripped(node: Node) -> tuple[Node, list[Node]]:
    """What `node` was before views and roundings of whole rows, and these."""
    steps: list[Node] = []
    while node.target in _SAME:
        (source, *_) = node.all_input_nodes
        sizes = [_sizes(n) for n in (source, node)]
        if sizes[0][-2:] != sizes[1][-2:] or prod(sizes[0]) != prod(sizes[1]):
            break
        steps.append(node)
        node = source
    return node, steps


def _attention(out: Node, forward: set[Node]) -> _Attention | None:
    """What `out` is the result of, if that is attention which kernels can compute again."""
    read, values = out.args
    if not isinstance(read, Node) or not isinstance(values, Node) or not _fits(values):
        return None
    ways = [way for way in _ways(read) if _is(way.source, _ATEN.div.Tensor)]
    if not ways:
        return None
    way, weights = ways[0], ways[0].source
    power, total = weights.args
    if not _is(power, _ATEN.exp.default) or not _is_of_rows(total, _ATEN.sum.dim_IntList, power):
        return None
    assert isinstance(power, Node)
    assert isinstance(total, Node)
    difference = power.args[0]
    if not _is(difference, _ATEN.sub.Tensor):
        return None
    assert isinstance(difference, Node)
    shifted, peak = difference.args
    if not _is_of_rows(peak, _ATEN.amax.default, shifted):
        return None
    assert isinstance(peak, Node)
    assert isinstance(shifted, Node)
    scores, factor = _scores(shifted), _drawn(way)
    if scores is None or factor is None:
        return None
    nodes = (*scores, difference, power, weights, *way.steps, *factor)
    known = {*nodes, peak, total, out}
    if any("recompute" in n.meta for n in known) or any(
        user.op == "output" or (user in forward and user not in known) for n in nodes for user in n.users
    ):
        return None
    return _Attention(scores[0], out, values, weights, (peak, total), nodes, way.dropped)


@dataclass(frozen=True)
class _Way:
    """What a node is made of: `source`, by views, roundings and perhaps dropout."""

    source: Node
    steps: Sequence[Node]
    dropped: Dropped | None = None


def _ways(node: Node) -> Iterator[_Way]:
    """To what is before dropout, and to that itself."""
    last, steps = _stripped(node)
    for found in dropped(last):
        source, before = _stripped(found.source)
        yield _Way(source, (*steps, *found.nodes, *before), found)
    yield _Way(last, steps)


def _is_of_rows(node: Any, target: Any, source: Any) -> bool:
    """Whether it reduces `source` over its last dimension, which stays with size 1."""
    if not _is(node, target) or len(node.args) < 3 or node.args[0] is not source or node.args[2] is not True:
        return False
    return list(node.args[1] or ()) in ([-1], [len(_sizes(node)) - 1])


def _fits(factor: Node) -> bool:
    """Whether a program can hold the last dimension of a factor of halves."""
    value = factor.meta["val"]
    size = value.shape[-1]
    return value.dtype in (torch.bfloat16, torch.float16) and isinstance(size, int) and 2 <= size <= DEEPEST


def _scores(shifted: Node) -> list[Node] | None:
    """What leads from the one product of rows and columns to `shifted`, number by number."""
    sides, order = _sizes(shifted)[-2:], _before(shifted)
    scores = [n for n in order if n.target in _SCORES and _sizes(n)[-2:] == sides]
    if any(size in (0, 1) for size in sides) or len(scores) != 1:
        return None
    return _between(scores, order, sides) if _fits(_factors(scores[0])[0]) else None


def _factors(product: Node) -> list[Node]:
    first = _SCORES[product.target]  # type: ignore[index]
    return list(product.args[first : first + 2])  # type: ignore[arg-type]


def _drawn(way: _Way) -> list[Node] | None:
    """What leads from random numbers to the factor of dropout, number by number."""
    if way.dropped is None:
        return []
    order = _before(way.dropped.by)
    numbers = [n for n in order if n.target is _ATEN.rand.default]
    return _between(numbers, order, _sizes(way.source)[-2:])


def _before(last: Node) -> list[Node]:
    """Tensors that `last` is made of, itself included, in order, as far as the next product."""
    seen, order, todo = set[Node](), list[Node](), [(last, False)]
    while todo:
        node, done = todo.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            todo.append((node, True))
            value = node.meta.get("val")
            if isinstance(value, torch.Tensor) and node.target not in _SCORES and node.op == "call_function":
                todo += [(n, False) for n in node.all_input_nodes]
    return order


def _between(first: Sequence[Node], order: Sequence[Node], sides: list[Any]) -> list[Node] | None:
    """What is made of `first`, if that is computed number by number."""
    found = dict.fromkeys(first)
    for node in order:
        if any(source in found for source in node.all_input_nodes):
            if not _is_pointwise(node) or _sizes(node)[-2:] != sides:
                return None
            found[node] = None
    return list(found)


def _is_pointwise(node: Node) -> bool:
    """Whether it is one tensor, each number of which is made of those at its place."""
    if not isinstance(node.meta["val"], torch.Tensor):
        return False
    tags = getattr(node.target, "tags", ())
    return torch.Tag.pointwise in tags or node.target in _SAME


def _row_sums(found: _Attention) -> Iterator[tuple[Node, Node, list[Node]]]:
    """Sums of weights times their gradient, the gradient of the result, and the views in between."""
    same, todo = dict[Node, None](), [found.weights]
    while todo:
        node = todo.pop()
        same[node] = None
        todo += [user for user in node.users if _stripped(user)[0] is found.weights and user not in same]
    for weights in same:
        for product in [user for user in weights.users if _is(user, _ATEN.mul.Tensor)]:
            other = product.args[1] if product.args[0] is weights else product.args[0]
            way = _to_product(other, found) if isinstance(other, Node) else None
            if way is None:
                continue
            for total in list(product.users):
                if _is_of_rows(total, _ATEN.sum.dim_IntList, product):
                    gradient = way.source.args[0]
                    assert isinstance(gradient, Node)
                    yield total, gradient, [step for step in reversed(way.steps) if step.target in _VIEWS]


def _to_product(gradient: Node, found: _Attention) -> _Way | None:
    """From the gradient of the weights to the product of values and the gradient of the result."""
    for way in _ways(gradient):
        ours, theirs = way.dropped, found.dropped
        same = ours is theirs if ours is None or theirs is None else ours.is_by(theirs)
        if same and way.source.target in _PRODUCTS and _is_turned(way.source.args[1], found.values):
            return way
    return None


def _is_turned(node: Any, values: Node) -> bool:
    if not _is(node, _ATEN.permute.default) or node.args[0] is not values:
        return False
    return list(node.args[1]) in ([1, 0], [0, 2, 1])


def _widened(joint: GraphModule, out: Node) -> Node:
    """The result before it is rounded, which `out` is made of from here on."""
    with joint.graph.inserting_before(out):
        call = partial(call_like, joint, out)
        wide = call(out.target, *(call(_CAST, factor, torch.float32) for factor in out.args))
        rounded = call(_CAST, wide, out.meta["val"].dtype)
    out.replace_all_uses_with(rounded)
    joint.graph.erase_node(out)
    return wide


def _replace(joint: GraphModule, out: Node, total: Node, gradient: Node, views: Sequence[Node]) -> None:
    """Let `total` be the sum of result times gradient of each row."""
    call = partial(call_like, joint, total)
    with joint.graph.inserting_before(total):
        value = call(_CAST, gradient, torch.float32)
        value = call(_ATEN.sum.dim_IntList, call(_ATEN.mul.Tensor, value, out), [-1], True)
        for view in views:
            sizes = view.args[1]
            assert isinstance(sizes, list | tuple)
            value = call(_ATEN.view.default, value, [*sizes[:-1], 1])
    total.replace_all_uses_with(value)
    joint.graph.erase_node(total)
