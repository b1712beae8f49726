"""What has each element of a smaller tensor several times is made again in the backward pass, not kept.

    pad(x, 1).unfold(2, 3, 1) * y        kept: x and y
    x[source] * w[:, None]               of nodes for each edge of a graph; kept: x, source and w

Windows and gathers only read `x` at other places. torch's list of operators that cost nothing lacks the
first, and of the second it keeps what is read far behind. Those that a product reads are in memory, and stay
there; so does what is reduced in the forward pass, instead of `x`.
"""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch.fx import GraphModule, Node

from .joint_nodes import goes_one_by_one, is_product, make_again, readers_behind, sizes_of, tangents_of

_ATEN = torch.ops.aten
_WINDOWS = _ATEN.unfold.default
_GATHERS: tuple[Any, ...] = (_ATEN.index.Tensor, _ATEN.index_select.default, _ATEN.gather.default)
_TIMES = 2
"""As many elements as it is made of, at least, a gather has: else it is kept instead of these."""


def recompute_copies(joint: GraphModule) -> None:
    """Of a joint graph: windows and gathers that the backward pass reads, and padding of these windows."""
    found = [n for t in (_WINDOWS, *_GATHERS) for n in joint.graph.find_nodes(op="call_function", target=t)]
    found = [node for node in found if node.target == _WINDOWS or _repeats(node)]
    of_tangents = readers_behind(tangents_of(joint)) if found else set[Node]()
    copies: set[Node] = set()
    for node in [node for node in found if node not in of_tangents]:
        readers = readers_behind([node], through=goes_one_by_one)
        if not any(map(is_product, readers)) and not readers.isdisjoint(of_tangents):
            copies.add(node)
    for node in joint.graph.find_nodes(op="call_function", target=_ATEN.constant_pad_nd.default):
        if copies.issuperset(node.users) and all(user.target == _WINDOWS for user in node.users):
            copies.add(node)
    for node in copies:
        if "recompute" not in node.meta:
            make_again(node)


def _repeats(gather: Node) -> bool:
    """Whether it has elements several times, as far as sizes say."""
    source = gather.args[0]
    assert isinstance(source, Node)
    sizes, of_source = sizes_of(gather), sizes_of(source)
    if not all(isinstance(size, int) for size in (*sizes, *of_source)):
        return False
    return prod(sizes) >= _TIMES * prod(of_source)
