"""Types that some releases of torch trace wrong: what an operator returns, where a trace differs.

torch 2.11 says that the log-sum-exp of attention on CPUs is f32; of f64 it is f64, and gradients need that.
torch 2.13 says that sums of bags of bf16 return the bag of each index, which their kernel on CPUs leaves out
as it does for f32; it is an operand of the gradient.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..torch_internals import schema_of

_ATTENTION = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
_BAGS = torch.ops.aten._embedding_bag.default
_BAGS_ALONE = torch.ops.aten._embedding_bag_forward_only.default
_SAME = (torch.ops.aten.alias.default, torch.ops.aten.detach.default)


def correct_types(gm: GraphModule) -> None:
    """Let each node of a traced graph have the type that its operator returns."""
    for target, true_type in _TRUE.items():
        for node in gm.graph.find_nodes(op="call_function", target=target):
            if (true := true_type(node)) is not None:
                values = list(node.meta["val"])
                values[1] = true
                node.meta["val"] = tuple(values)
                for user in node.users:
                    if user.target is operator.getitem and user.args[1] == 1:
                        _have_type_of(user, true)


def _logsumexp(node: Node) -> Any:
    out, logsumexp = node.meta["val"]
    if out.dtype is not torch.float64 or logsumexp.dtype is torch.float64:
        return None
    with logsumexp.fake_mode:
        return torch.empty_like(logsumexp, dtype=torch.float64)


def _bag_of_each(node: Node) -> Any:
    names = [argument.name for argument in schema_of(_BAGS).arguments]
    given: dict[str, Any] = {**dict(zip(names, node.args, strict=False)), **node.kwargs}
    weight, bags = given["weight"].meta["val"], node.meta["val"][1]
    scale = given.get("per_sample_weights")
    left_out = (
        weight.device.type == "cpu"
        and weight.dtype is torch.bfloat16
        and weight.stride(1) == 1
        and given.get("mode", 0) == 0
        and given.get("padding_idx", -1) < 0
        and (scale is None or scale.meta["val"].stride(0) == 1)
    )
    if not left_out:
        return None
    with bags.fake_mode:
        return bags.new_empty(0)


_TRUE: Mapping[Any, Callable[[Node], Any]] = {
    _ATTENTION: _logsumexp,
    _BAGS: _bag_of_each,
    _BAGS_ALONE: _bag_of_each,
}
"""What the second result truly is, where it is something else."""


def _have_type_of(node: Node, value: Any) -> None:
    node.meta["val"] = value
    for user in node.users:
        if user.target in _SAME:
            _have_type_of(user, value)
