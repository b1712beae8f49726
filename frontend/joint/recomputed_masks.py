"""Masks that torch makes of conditions are made again in the backward pass; at most the condition is kept.

    scaled_dot_product_attention(q, k, v, attn_mask=allowed)         kept: allowed, one byte for two

torch adds `where(allowed, 0, -inf)` to the scores and would keep that, since no kernel of its own makes it.
Kernels of ours select by the condition (`frontend/aten/boolean_masks.py`), if they see one.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..operators.own_operators import operators
from .joint_nodes import argument, is_view, make_again, number_in

_ATEN = torch.ops.aten
_KEEPING: tuple[Any, ...] = (_ATEN.constant_pad_nd.default, torch.ops.prims.convert_element_type.default)


def recompute_masks(joint: GraphModule) -> None:
    """Of a joint graph: what stands between a condition and attention, forward and backward alike."""
    masked: dict[Any, str] = {
        _ATEN._scaled_dot_product_efficient_attention.default: "attn_bias",
        _ATEN._scaled_dot_product_cudnn_attention.default: "attn_bias",
        operators()["dropout_attention"]: "mask",
    }
    for target, name in masked.items():
        for node in joint.graph.find_nodes(op="call_function", target=target):
            for made in _of_condition(argument(node, name)):
                if "recompute" not in made.meta:
                    make_again(made)


def _of_condition(mask: Node | None) -> list[Node]:
    """The nodes from a selection of 0 or -inf to `mask`; none if that is made of anything else."""
    found: list[Node] = []
    while mask is not None and (is_view(mask) or mask.target in _KEEPING):
        found.append(mask)
        mask = mask.all_input_nodes[0]
    if mask is None or mask.target is not _ATEN.where.self:
        return []
    chosen: Any = mask.args[1:]
    return [*found, mask] if {_number(value) for value in chosen} == {0.0, -math.inf} else []


def _number(value: Node) -> Any:
    """The number that all of a tensor is, if that is known."""
    while is_view(value):
        value = value.all_input_nodes[0]
    return number_in(value)
