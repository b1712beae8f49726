"""What is compared with its own extreme is the same number in both places, whatever kernels compute it.

    y = x * exp(a) + a;  m = amax(y)      kept: y and m
    gradient of y: (y == m) / sum(y == m)

The gradient of an extreme is shared by the elements that equal it. Were `y` computed again in the backward
pass, it could differ from what `m` was found among by a rounding (of halves, or of a sum in another order);
then no element equals `m`, and 0 / 0 is NaN. Where a checkpoint asks for `y` to be computed again, `m` is
found again, too: among the same numbers. Those that are only picked, as messages of nodes along edges, are
the same whenever they are picked; what they are picked from is kept.

Halves that a product makes, as activations that are pooled, are in memory before their extreme is known:
there `y == m` is made again, for which the forward pass would read `y` once more, and keep a mask beside
others. Of wider numbers, masks are so much smaller that they are kept.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from math import prod
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.utils.checkpoint import CheckpointPolicy

from .joint_nodes import (
    AGAIN,
    goes_one_by_one,
    is_product,
    is_tensor,
    is_view,
    make_again,
    number_in,
    sizes_of,
)

_ATEN = torch.ops.aten
_EXTREMES: tuple[Any, ...] = (
    _ATEN.amax.default,
    _ATEN.amin.default,
    _ATEN.max.default,
    _ATEN.min.default,
    _ATEN.max.dim,
    _ATEN.min.dim,
    _ATEN.median.default,
    _ATEN.nanmedian.default,
    _ATEN.linalg_vector_norm.default,
    _ATEN.scatter_reduce.two,
    _ATEN.index_reduce.default,
)
"""What returns elements of a tensor, or of several, or their absolute values."""
_PICK: tuple[Any, ...] = (_ATEN.gather.default, _ATEN.index_select.default, _ATEN.index.Tensor)
_SAME: tuple[Any, ...] = (
    _ATEN.detach.default,
    _ATEN.clone.default,
    _ATEN.abs.default,
    _ATEN.neg.default,
)
"""What rounds nothing."""
_NUMBERS_LIKE: tuple[Any, ...] = (
    _ATEN.full_like.default,
    _ATEN.zeros_like.default,
    _ATEN.ones_like.default,
)
"""What makes tensors of one number, as large as another one: like `full`, the same whenever they are made."""
_HALF = 2
"""Bytes."""


def keep_extremes(joint: GraphModule) -> None:
    """Of a joint graph: what is compared with extremes of itself is kept, or all of it is made again."""
    for comparison in joint.graph.find_nodes(op="call_function", target=_ATEN.eq.Tensor):
        for extreme, source in _extremes(comparison):
            again = _maker(source).meta.get("recompute") in AGAIN
            origin = _behind(source, (*_SAME, *_PICK)) if again else source
            if _maker(origin).meta.get("recompute") in AGAIN:
                make_again(extreme)
            elif origin.op == "call_function":
                origin.meta["recompute"] = CheckpointPolicy.MUST_SAVE
            if not again and _is_of_product(source) and "recompute" not in comparison.meta:
                make_again(comparison)


def _extremes(comparison: Node) -> Iterator[tuple[Node, Node]]:
    """Extremes that one side shows, each with what it was found among, which the other side shows."""
    sides = [side for side in comparison.args if isinstance(side, Node)]
    if len(sides) != 2 or not sides[0].meta["val"].is_floating_point():
        return
    for one, other in (sides, reversed(sides)):
        extreme = _maker(_behind(one, (*_SAME, *_PICK)))
        source = _behind(other, _SAME)
        constant = number_in(source) is not None or source.target in _NUMBERS_LIKE
        if extreme.target in _EXTREMES and source.op == "call_function" and not constant:
            if any(_behind(among, _SAME) is source for among in extreme.all_input_nodes):
                yield extreme, source


def _is_of_product(node: Node) -> bool:
    """Whether a product of halves makes it, by what follows element by element, and nothing else of that."""
    if node.meta["val"].dtype.itemsize > _HALF:
        return False
    size = prod(sizes_of(node))
    while not is_product(node):
        like = [n for n in node.all_input_nodes if prod(sizes_of(n)) == size]
        if not goes_one_by_one(node) or len(like) != 1 or len(like[0].users) != 1:
            return False
        (node,) = like
    return True


def _behind(node: Node, through: tuple[Any, ...]) -> Node:
    """What `node` shows, behind views and what goes `through`: a tensor, if only one of several results."""
    while node.op == "call_function" and (node.target in through or is_view(node)):
        shown = node.args[0]
        assert isinstance(shown, Node)
        if not is_tensor(shown) and not is_view(shown):
            return node
        node = shown
    return node


def _maker(node: Node) -> Node:
    """What computes `node`: where that is one of several results, all of them."""
    maker = node.args[0] if node.target is operator.getitem else node
    assert isinstance(maker, Node)
    return maker
