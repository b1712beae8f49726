"""Attention without dropout draws no random numbers, though torch's tags say that its operators do.

Around what is tagged so, and what a checkpoint computes again, torch saves the state of the generator: by an
operator on a function, which no graph of ours holds. While a joint graph is divided, a function that has no
tags stands for such an operator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch.fx import GraphModule, Node

from .joint_nodes import argument
from .torch_internals import NONDETERMINISTIC, Operator, is_operator, schema_of


@dataclass(frozen=True)
class _Undrawn:
    operator: Operator
    __name__ = "undrawn"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.operator(*args, **kwargs)


def hide_operators(joint: GraphModule) -> None:
    """Let functions stand for the operators that draw nothing."""
    for node in joint.graph.nodes:
        if _draws_nothing(node):
            node.target = _Undrawn(node.target)


def show_operators(part: GraphModule) -> None:
    """Put the operators back."""
    for node in part.graph.nodes:
        if isinstance(node.target, _Undrawn):
            node.target = node.target.operator
    part.recompile()


def _draws_nothing(node: Node) -> bool:
    target: Any = node.target
    if not is_operator(target) or NONDETERMINISTIC not in target.tags:
        return False
    named = any(parameter.name == "dropout_p" for parameter in schema_of(target).arguments)
    return named and argument(node, "dropout_p") == 0.0
