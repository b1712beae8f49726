"""Element types that some releases of torch trace wrong: what an operator returns, where a trace differs.

torch 2.11 says that the log-sum-exp of attention on CPUs is f32; of f64 it is f64, and gradients need that.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import GraphModule, Node

_ATTENTION = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
_SAME = (torch.ops.aten.alias.default, torch.ops.aten.detach.default)


def correct_types(gm: GraphModule) -> None:
    """Let each node of a traced graph have the type that its operator returns."""
    for node in gm.graph.find_nodes(op="call_function", target=_ATTENTION):
        out, logsumexp = node.meta["val"]
        if out.dtype is not torch.float64 or logsumexp.dtype is torch.float64:
            continue
        with logsumexp.fake_mode:
            true = torch.empty_like(logsumexp, dtype=torch.float64)
        node.meta["val"] = (out, true)
        for user in node.users:
            if user.target is operator.getitem and user.args[1] == 1:
                _have_type_of(user, true)


def _have_type_of(node: Node, value: Any) -> None:
    node.meta["val"] = value
    for user in node.users:
        if user.target in _SAME:
            _have_type_of(user, value)
