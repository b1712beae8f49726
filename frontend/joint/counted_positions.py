"""Positions that are counted are no tensors worth keeping, nor is what is looked up there.

    positions = arange(n) + 2;  table[positions]                 kept: the table

torch would keep both for the backward pass, or what was looked up. It computes positions again there, of
which the passes see that they are counted: then a table is sliced, and its gradient needs no index
(`slice-gathers`). What a library's product reads (images that are padded by reflection, or made larger) is in
memory anyway, and stays there; kernels of ours multiply what they look up.

Few numbers that depend on no input, however they are made, are literals in each pass (`canonicalize`): the
blocks of attention without a mask are scattered, sorted and counted, and then not even read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tag
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_leaves

from tilewright.passes.tensor.fold_constants import MAX_ELEMENTS

from ..torch_internals import is_operator
from .joint_nodes import is_product, is_view, make_again, number_in, readers

_ATEN = torch.ops.aten
_COUNTS = (torch.ops.prims.iota.default, _ATEN.arange.default, _ATEN.arange.start, _ATEN.arange.start_step)
_LOOK_UPS = (_ATEN.embedding.default, _ATEN.index.Tensor, _ATEN.index_select.default)


def recompute_positions(joint: GraphModule) -> None:
    """Of a joint graph: what is made of counted positions and numbers alone, and look-ups there."""
    counted: set[Node] = set()
    for node in joint.graph.nodes:
        results = _tensors((node,))
        if node.op != "call_function" or not results:
            continue
        target: Any = node.target
        tensors = [a for a in node.all_input_nodes if _tensors((a,))]
        same = all(a in counted for a in tensors)
        made = _keeps(node) or (_is_a_function(target) and _are_literals(_tensors((*tensors, node))))
        if target in _COUNTS or number_in(node) is not None or (tensors and same and made):
            counted.add(node)
        elif target not in _LOOK_UPS or not counted.issuperset(tensors[1:]) or not _costs_nothing(node):
            continue
        elif "recompute" in node.meta or _is_multiplied(node):
            continue  # a table that changes, say: what was looked up is kept
        make_again(node)


def _is_a_function(target: Any) -> bool:
    """Whether it makes the same of the same: others draw numbers, or may do anything."""
    if not is_operator(target) or target.namespace != "aten":
        return False
    return Tag.nondeterministic_seeded not in target.tags


def _tensors(nodes: Iterable[Node]) -> list[torch.Tensor]:
    """What nodes make, all results of those that have several."""
    values = tree_leaves([node.meta.get("val") for node in nodes])
    return [value for value in values if isinstance(value, torch.Tensor)]


def _are_literals(values: Iterable[Any]) -> bool:
    """Whether tensors are of integers, and so few that passes compute with them."""
    exact = not any(value.is_floating_point() or value.is_complex() for value in values)
    return exact and all(isinstance(n := value.numel(), int) and n <= MAX_ELEMENTS for value in values)


def _is_multiplied(look_up: Node) -> bool:
    """Whether a product, which is a library's unless of halves, reads what was looked up."""
    if look_up.meta["val"].dtype not in (torch.float32, torch.float64):
        return False
    return any(is_product(reader) for reader in readers(look_up))


def _costs_nothing(look_up: Node) -> bool:
    """Whether to keep the table keeps no more than what is looked up: it is an input, or not longer."""
    table: Any = look_up.all_input_nodes[0]
    numbers = [node.meta["val"].numel() for node in (table, look_up)]
    while is_view(table):
        table = table.args[0]
    known = all(isinstance(number, int) for number in numbers)
    return table.op == "placeholder" or (known and numbers[0] <= numbers[1])


def _keeps(node: Node) -> bool:
    return is_view(node) or (is_operator(node.target) and Tag.pointwise in node.target.tags)
