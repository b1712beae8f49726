"""What the forward pass keeps for the backward pass, and what is computed again, random numbers too.

torch would save the state of the generator around each random operator that a checkpoint recomputes: an
operator on a function, which no graph of ours holds. So a seed is drawn before, and kept; from it both passes
draw the same numbers. Seeds of attention with dropout are kept, too. What is kept of attention that the
program writes out: `recomputed_weights.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.fx import GraphModule, Node
from torch.utils.checkpoint import CheckpointPolicy

from .dropout_operators import operators
from .recomputed_weights import recompute_weights
from .true_types import correct_types

_AGAIN = (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)
_APART = 1 << 40
"""Counters of one operator: more than it has elements, times two."""
_DRAWN: dict[Any, str] = {
    torch.ops.aten.rand.default: "uniform",
    torch.ops.aten.randn.default: "normal",
}


def partition(
    joint: GraphModule, inputs: Any, *, again: Callable[[GraphModule], bool], **how: Any
) -> tuple[GraphModule, GraphModule]:
    """The forward and the backward graph of a joint one; `again`: whether kernels compute products again."""
    correct_types(joint)
    if again(joint):
        recompute_weights(joint, how["num_fwd_outputs"])
    _draw_from_seeds(joint)
    return min_cut_rematerialization_partition(joint, inputs, **how)


def _draw_from_seeds(joint: GraphModule) -> None:
    """Let what is drawn again be a function of a seed: one per device, which the backward pass is given."""
    for node in joint.graph.find_nodes(op="call_function", target=operators()["random_state"]):
        node.meta["recompute"] = CheckpointPolicy.MUST_SAVE
    seeds: dict[torch.device, Node] = {}
    drawn = [node for target in _DRAWN for node in joint.graph.find_nodes(op="call_function", target=target)]
    again = [node for node in sorted(drawn) if node.meta.get("recompute") in _AGAIN]
    for number, node in enumerate(again):
        value: torch.Tensor = node.meta["val"]
        if node.kwargs.get("generator") is not None:
            continue
        if value.device not in seeds:
            seeds[value.device] = _seed(joint, again[0], value)
        target = operators()[_DRAWN[node.target]]
        arguments = (seeds[value.device], number * _APART, node.args[0])
        with joint.graph.inserting_before(node):
            new = joint.graph.call_function(target, arguments, {"dtype": value.dtype})
        new.meta = dict(node.meta)
        node.replace_all_uses_with(new)
        joint.graph.erase_node(node)


def _seed(joint: GraphModule, before: Node, like: Any) -> Node:
    with joint.graph.inserting_before(before):
        seed = joint.graph.call_function(operators()["random_seed"], (), {"device": like.device})
    with like.fake_mode:
        seed.meta["val"] = torch.empty((), dtype=torch.int64, device=like.device)
    seed.meta["recompute"] = CheckpointPolicy.MUST_SAVE
    return seed
