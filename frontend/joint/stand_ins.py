"""Functions that stand for operators while torch divides a joint graph, and say what it cannot know of them.

Attention without dropout draws no random numbers, though torch's tags say that its operators do. Around what
is tagged so, and what a checkpoint computes again, torch saves the state of the generator: by an operator on
a function, which no graph of ours holds.

    wide = to(offsets, int32);  read = constant_pad_nd(wide)          kept: offsets, not wide

torch lists what fuses with what reads it; what anything else reads it takes for stored, and not worth to be
computed again. Kernels of ours read views of any kind, and padded or reversed tensors, in place. Of those
that the forward pass needs torch may think as it does: of windows, it would reduce in the backward pass again
what it keeps now.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch._functorch.partitioners import get_default_op_list
from torch.fx import GraphModule, Node

from ..torch_internals import NONDETERMINISTIC, Operator, is_operator, schema_of
from .joint_nodes import argument, forward_nodes, is_view

_ATEN = torch.ops.aten
_ELSEWHERE = (_ATEN.constant_pad_nd.default, _ATEN.flip.default)
"""What reads each element at some other place, or none."""


@dataclass(frozen=True)
class _StandIn:
    operator: Operator
    overloadpacket: Any
    """That of an operator that torch knows to fuse; None where there is nothing to know."""
    __name__ = "stand_in"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.operator(*args, **kwargs)


def hide_operators(joint: GraphModule, num_fwd_outputs: int) -> None:
    """Put functions in the place of operators."""
    listed, forward = get_default_op_list().fusible_ops, forward_nodes(joint, num_fwd_outputs)
    for node in joint.graph.nodes:
        target: Any = node.target
        if not is_operator(target) or target.overloadpacket in listed:
            continue
        if _draws_nothing(node):
            node.target = _StandIn(target, None)
        elif node not in forward and (is_view(node) or target in _ELSEWHERE):
            node.target = _StandIn(target, _ATEN.neg)


def show_operators(part: GraphModule) -> None:
    """Put the operators back."""
    for node in part.graph.nodes:
        if isinstance(node.target, _StandIn):
            node.target = node.target.operator
    part.recompile()


def _draws_nothing(node: Node) -> bool:
    target: Any = node.target
    if not is_operator(target) or NONDETERMINISTIC not in target.tags:
        return False
    named = any(parameter.name == "dropout_p" for parameter in schema_of(target).arguments)
    return named and argument(node, "dropout_p") == 0.0
