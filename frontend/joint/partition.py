"""What the forward pass keeps for the backward pass, and what is computed again, random numbers too.

torch would save the state of the generator around each random operator that a checkpoint recomputes: an
operator on a function, which no graph of ours holds. So a seed is drawn before, and kept; from it both passes
draw the same numbers. Seeds of attention with dropout are kept, too; without, it draws none (`stand_ins.py`).
What is kept of attention that the program writes out: `recomputed_weights.py`, `copied_factors.py`; of its
masks: `recomputed_masks.py`; of repetitions: `repetitions.py`; of positions: `counted_positions.py`; of
windows and gathers: `recomputed_copies.py`; of constants that a few numbers change:
`recomputed_selections.py`; of what is divided: `kept_whole.py`; of what has an extreme: `kept_extremes.py`;
of inputs that the program writes: `mutated_inputs.py`; of what is not read: `unread_kept.py`. Views in a
row become one before products are looked for: `unit_axes.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.fx import GraphModule, Node
from torch.utils.checkpoint import CheckpointPolicy

from ..fx.true_types import correct_types
from ..operators.own_operators import operators
from ..torch_internals import share_equal_nodes
from .counted_positions import recompute_positions
from .distinct_positions import store_distinct
from .joint_nodes import AGAIN, argument
from .kept_extremes import keep_extremes
from .kept_whole import keep_whole
from .mutated_inputs import keep_what_is_read
from .permutations import look_up_gradients
from .permuted_rows import look_up_rows
from .recomputed_copies import recompute_copies
from .recomputed_masks import recompute_masks
from .recomputed_selections import recompute_selections
from .recomputed_weights import recompute_weights
from .repetitions import keep_shorter
from .stand_ins import hide_operators, show_operators
from .unit_axes import join_views
from .unread_kept import drop_unread_kept

_APART = 1 << 40
"""Counters of one operator: more than it has elements, times two."""
_DRAWN: dict[Any, str] = {
    torch.ops.aten.rand.default: "uniform",
    torch.ops.aten.randn.default: "normal",
}

_ATTENTION: tuple[Any, ...] = (
    torch.ops.aten._scaled_dot_product_efficient_attention.default,
    torch.ops.aten._scaled_dot_product_flash_attention.default,
    torch.ops.aten._scaled_dot_product_cudnn_attention.default,
)
"""What torch chooses for GPUs; among what they return are a seed and an offset, of these types."""
_SEEDS = (torch.int64, torch.uint64)
_ATTENTION_OF_CPUS = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
"""It has no seed: torch gives dropout on CPUs another operator."""


def partition(
    joint: GraphModule, inputs: Any, *, again: Callable[[GraphModule], bool], **how: Any
) -> tuple[GraphModule, GraphModule]:
    """The forward and the backward graph of a joint one; `again`: whether kernels compute products again."""
    correct_types(joint)
    look_up_gradients(joint)
    look_up_rows(joint)
    store_distinct(joint)
    keep_what_is_read(joint)
    products = again(joint)
    if products:
        join_views(joint)
        share_equal_nodes(joint)  # what else reads equal scores: kernels share these
        recompute_weights(joint, how["num_fwd_outputs"])
    keep_shorter(joint, (*_ATTENTION, _ATTENTION_OF_CPUS), products=products)
    recompute_positions(joint)
    recompute_copies(joint)
    recompute_masks(joint)
    recompute_selections(joint)
    keep_whole(joint)
    keep_extremes(joint)
    _draw_from_seeds(joint)
    _forget_seeds(joint)
    hide_operators(joint, how["num_fwd_outputs"])
    forward, backward = min_cut_rematerialization_partition(joint, inputs, **how)
    drop_unread_kept(forward, backward, how["num_fwd_outputs"])
    for part in (forward, backward):
        show_operators(part)
    return forward, backward


def _draw_from_seeds(joint: GraphModule) -> None:
    """Let what is drawn again be a function of a seed: one per device, which the backward pass is given."""
    for node in joint.graph.find_nodes(op="call_function", target=operators()["random_state"]):
        node.meta["recompute"] = CheckpointPolicy.MUST_SAVE
    seeds: dict[torch.device, Node] = {}
    drawn = [node for target in _DRAWN for node in joint.graph.find_nodes(op="call_function", target=target)]
    again = [node for node in sorted(drawn) if node.meta.get("recompute") in AGAIN]
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


def _forget_seeds(joint: GraphModule) -> None:
    """Let attention without dropout keep no seed and no offset: its gradients are given zeros instead."""
    for target in _ATTENTION:
        for node in joint.graph.find_nodes(op="call_function", target=target):
            if argument(node, "dropout_p") != 0.0:
                continue
            for part in list(node.users):
                value = part.meta.get("val")
                if isinstance(value, torch.Tensor) and value.dtype in _SEEDS:
                    with joint.graph.inserting_before(part):
                        how: dict[str, Any] = {"dtype": value.dtype, "device": value.device}
                        zeros = joint.graph.call_function(
                            torch.ops.aten.full.default, (list(value.shape), 0), how
                        )
                    zeros.meta = dict(part.meta)
                    part.replace_all_uses_with(zeros)
                    joint.graph.erase_node(part)


def _seed(joint: GraphModule, before: Node, like: Any) -> Node:
    with joint.graph.inserting_before(before):
        seed = joint.graph.call_function(operators()["random_seed"], (), {"device": like.device})
    with like.fake_mode:
        seed.meta["val"] = torch.empty((), dtype=torch.int64, device=like.device)
    seed.meta["recompute"] = CheckpointPolicy.MUST_SAVE
    return seed
