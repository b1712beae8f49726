"""Attention that the program writes out: weights are computed again for gradients instead of being kept.

    s = q k^T;  p = exp(x(s) - m) / l;  o = p v          kept: q, k, v, m, l, o
    d = sum(p * (g v^T))                          ->     d = sum(g * o)

`m` and `l`, the maximum and the sum of a row, are kept, `s` and `p` are not: they are as large as rows times
columns. `d`, which the derivative of a softmax subtracts, needs neither then. So a target whose kernels
compute products again (`recompute-products`) needs no memory for what lies between them, neither forward
nor backward; where it does not, or where more reads the weights, all is kept as AOTAutograd decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg
from torch.utils.checkpoint import CheckpointPolicy

from tilewright.passes.schedule.chain_blocks import DEEPEST_GRAD

from .torch_internals import size_expression

_ATEN = torch.ops.aten
_CAST = torch.ops.prims.convert_element_type.default
_VIEWS = (_ATEN.view.default, _ATEN._unsafe_view.default, _ATEN.reshape.default)
_SAME = (*_VIEWS, _CAST, _ATEN.expand.default, _ATEN.alias.default, _ATEN.clone.default)
"""What leaves each number where it is, or rounds it."""


@dataclass(frozen=True)
class _Attention:
    """Nodes of one."""

    out: Node
    values: Node
    weights: Node
    """As the softmax makes them."""
    kept: tuple[Node, Node]
    between: tuple[Node, ...]
    """From the scores to the weights as `out` reads them, in order."""


def recompute_weights(joint: GraphModule, num_fwd_outputs: int) -> None:
    """Say of each such attention in a joint graph what is kept."""
    outputs = joint.graph.output_node().args[0]
    assert isinstance(outputs, list | tuple)
    forward = _ancestors([n for n in outputs[:num_fwd_outputs] if isinstance(n, Node)])
    for product in list(joint.graph.find_nodes(op="call_function", target=_ATEN.bmm.default)):
        if product not in forward or (found := _attention(product, forward)) is None:
            continue
        sums = list(_row_sums(found))
        if not sums:
            continue
        for total, gradient, views in sums:
            _replace(joint, found.out, total, gradient, views)
        for node in found.between:
            node.meta |= {"recompute": CheckpointPolicy.MUST_RECOMPUTE, "ac_graph_id": 0}
        for node in (*found.kept, found.out):
            node.meta["recompute"] = CheckpointPolicy.MUST_SAVE


def _ancestors(nodes: Sequence[Node]) -> dict[Node, None]:
    found: dict[Node, None] = {}
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if node not in found:
            found[node] = None
            todo += node.all_input_nodes
    return found


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


def _attention(out: Node, forward: dict[Node, None]) -> _Attention | None:
    """What `out` is the result of, if that is attention which kernels can compute again."""
    read, values = out.args
    if not isinstance(read, Node) or not isinstance(values, Node) or not _fits(values):
        return None
    weights, steps = _stripped(read)
    if not _is(weights, _ATEN.div.Tensor):
        return None
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
    between = _between(shifted)
    if between is None:
        return None
    nodes = (*between, difference, power, weights, *reversed(steps))
    known = {*nodes, peak, total, out}
    if any("recompute" in n.meta for n in known) or any(
        user.op == "output" or (user in forward and user not in known) for n in nodes for user in n.users
    ):
        return None
    return _Attention(out, values, weights, (peak, total), nodes)


def _is_of_rows(node: Any, target: Any, source: Any) -> bool:
    """Whether it reduces `source` over its last dimension, which stays with size 1."""
    if not _is(node, target) or len(node.args) < 3 or node.args[0] is not source or node.args[2] is not True:
        return False
    return list(node.args[1]) in ([-1], [len(_sizes(node)) - 1])


def _fits(factor: Node) -> bool:
    """Whether a program can hold the last dimension of a factor of halves."""
    value = factor.meta["val"]
    size = value.shape[-1]
    return (
        value.dtype in (torch.bfloat16, torch.float16) and isinstance(size, int) and 2 <= size <= DEEPEST_GRAD
    )


def _between(shifted: Node) -> list[Node] | None:
    """What leads from the one product of rows and columns to `shifted`, number by number."""
    sides, seen, order = _sizes(shifted)[-2:], set[Node](), list[Node]()
    if any(size in (0, 1) for size in sides):
        return None
    todo: list[tuple[Node, bool]] = [(shifted, False)]
    while todo:
        node, done = todo.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            todo.append((node, True))
            value = node.meta.get("val")
            if (
                isinstance(value, torch.Tensor)
                and node.target is not _ATEN.bmm.default
                and node.op == "call_function"
            ):
                todo += [(n, False) for n in node.all_input_nodes]
    scores = [n for n in order if n.target is _ATEN.bmm.default]
    if len(scores) != 1 or _sizes(scores[0])[-2:] != sides or not _fits(scores[0].args[0]):  # type: ignore[arg-type]
        return None
    found = dict.fromkeys(scores)
    for node in order:
        if any(source in found for source in node.all_input_nodes):
            if _sizes(node)[-2:] != sides or not _is_pointwise(node):
                return None
            found[node] = None
    return list(found)


def _is_pointwise(node: Node) -> bool:
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
            if not isinstance(other, Node):
                continue
            source, steps = _stripped(other)
            if not _is(source, _ATEN.bmm.default) or not _is_turned(source.args[1], found.values):
                continue
            for total in list(product.users):
                if _is_of_rows(total, _ATEN.sum.dim_IntList, product):
                    gradient = source.args[0]
                    assert isinstance(gradient, Node)
                    yield total, gradient, [step for step in reversed(steps) if step.target in _VIEWS]


def _is_turned(node: Any, values: Node) -> bool:
    if not _is(node, _ATEN.permute.default) or list(node.args[1]) != [0, 2, 1]:
        return False
    return node.args[0] is values


def _replace(joint: GraphModule, out: Node, total: Node, gradient: Node, views: Sequence[Node]) -> None:
    """Let `total` be the sum of result times gradient of each row."""

    def call(target: Any, *args: Any) -> Node:
        node = joint.graph.call_function(target, args)
        with total.meta["val"].fake_mode:
            fakes = map_arg(args, _value)
            node.meta = {key: value for key, value in total.meta.items() if key != "val"}
            node.meta["val"] = target(*fakes)
        return node

    with joint.graph.inserting_before(total):
        wide = [call(_CAST, node, total.meta["val"].dtype) for node in (gradient, out)]
        value = call(_ATEN.sum.dim_IntList, call(_ATEN.mul.Tensor, *wide), [-1], True)
        for view in views:
            sizes = view.args[1]
            assert isinstance(sizes, list | tuple)
            value = call(_ATEN.view.default, value, [*sizes[:-1], 1])
    total.replace_all_uses_with(value)
    joint.graph.erase_node(total)


def _value(node: Node) -> Any:
    return node.meta["val"]
