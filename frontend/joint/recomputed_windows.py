"""Windows are made again in the backward pass, not kept: they have each element as often as it is in one.

    pad(x, 1).unfold(2, 3, 1) * y        kept: x and y

They only read `x` at other places, but torch's list of operators that cost nothing lacks them. Those that a
product reads are in memory, and stay there; so does what is reduced in the forward pass, instead of `x`.
"""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from .joint_nodes import goes_one_by_one, is_product, make_again, readers_behind, tangents_of

_ATEN = torch.ops.aten


def recompute_windows(joint: GraphModule) -> None:
    """Of a joint graph: windows that the backward pass reads, and the padding that only they show."""
    found = joint.graph.find_nodes(op="call_function", target=_ATEN.unfold.default)
    of_tangents = readers_behind(tangents_of(joint)) if found else set[Node]()
    windows: set[Node] = set()
    for node in found:
        readers = readers_behind([node], through=goes_one_by_one)
        if not any(map(is_product, readers)) and not readers.isdisjoint(of_tangents):
            windows.add(node)
    for node in joint.graph.find_nodes(op="call_function", target=_ATEN.constant_pad_nd.default):
        if windows.issuperset(node.users):
            windows.add(node)
    for node in windows:
        if "recompute" not in node.meta:
            make_again(node)
