"""A mask as an index, where data decide how many elements it takes: the places of its ones, looked up.

    x[m] + y[m]            i = m.nonzero();  x[i] + y[i]

torch finds the places of each mask once, and kernels look up, with what is computed of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch.fx import GraphModule, Node

from ..torch_internals import decided_by_data, fresh_symbols_ignored, size_expression

_ATEN = torch.ops.aten
_LOOK_UPS: tuple[Any, ...] = (_ATEN.index.Tensor, _ATEN._unsafe_index.Tensor)


def look_up_masked(gm: GraphModule) -> None:
    """Of a graph: the look-ups of which the only index is a mask."""
    found: dict[Node, Node] = {}
    for node in gm.graph.nodes:
        if node.target not in _LOOK_UPS:
            continue
        indices = cast("Sequence[Node | None]", node.args[1])
        masks = [index for index in indices if index is not None]
        if len(masks) != 1 or masks[0].meta["val"].dtype is not torch.bool:
            continue
        (mask,), before = masks, len(indices) - 1
        size = node.meta["val"].shape[before]
        if decided_by_data(size) != [size_expression(size)]:
            continue
        if mask not in found:
            found[mask] = _places(gm, node, mask, size)
        _look_up(gm, node, found[mask], before)


def _places(gm: GraphModule, node: Node, mask: Node, size: torch.SymInt) -> Node:
    """The call of `nonzero`, whose fake tensor lies as torch says, and has `size` rows."""
    fake = mask.meta["val"]
    with fake.fake_mode, fresh_symbols_ignored(size):
        rows, own = _ATEN.nonzero.default(fake), size
        strides = (1, own) if fake.dim() > 1 and rows.stride(0) == 1 else (fake.dim(), 1)
        value = rows.new_empty_strided((own, fake.dim()), strides)
    with gm.graph.inserting_before(node):
        new = gm.graph.call_function(_ATEN.nonzero.default, (mask,))
    new.meta = {key: value for key, value in node.meta.items() if key != "val"}
    new.meta["val"] = value
    return new


def _look_up(gm: GraphModule, node: Node, places: Node, before: int) -> None:
    columns: list[Node] = []
    with gm.graph.inserting_before(node):
        for d in range(places.meta["val"].shape[1]):
            column = gm.graph.call_function(_ATEN.select.int, (places, 1, d))
            column.meta = {key: value for key, value in node.meta.items() if key != "unbacked_bindings"}
            column.meta["val"] = places.meta["val"].select(1, d)
            columns.append(column)
    node.args = (node.args[0], [None] * before + columns)
    node.meta.pop("unbacked_bindings", None)
    for user in list(node.users):
        if user.target is _ATEN.sym_size.int and user.args[1] == before:
            user.args = (places, 0)
