"""What dropout makes of weights, and of their gradients, in graphs that AOTAutograd traced.

    w' = where(kept, w * c, 0)        g = g' * (kept * c)          `native_dropout`, for GPUs
    w' = w * m                        g = g' * m                   m = kept / p, and any other factor

A factor has a name by which that of the weights and that of their gradients can be told to be the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from .joint_nodes import number_in

_ATEN = torch.ops.aten
_CAST = torch.ops.prims.convert_element_type.default


@dataclass(frozen=True)
class Dropped:
    """`source` times a factor, number by number."""

    source: Node
    by: Node
    """The factor, or what says which numbers are kept."""
    scale: float
    """What those are multiplied with; 1 if that is part of the factor."""
    nodes: tuple[Node, ...]
    """The last comes first."""

    def is_by(self, other: Dropped) -> bool:
        """Whether another one has the same factor."""
        return self.by is other.by and self.scale == other.scale


def dropped(node: Node) -> Iterator[Dropped]:
    """How `node` can be understood as a product with a factor."""
    if node.target is _ATEN.where.self:
        yield from _kept_or_zero(node)
    elif node.target is _ATEN.mul.Tensor:
        for source, factor in (node.args, node.args[::-1]):
            if isinstance(source, Node) and isinstance(factor, Node):
                yield Dropped(source, *_name(factor), (node,))


def _kept_or_zero(node: Node) -> Iterator[Dropped]:
    kept, raised, other = node.args
    if not (isinstance(kept, Node) and isinstance(raised, Node) and _is_zero(other)):
        return
    source, scale = raised.args if raised.target is _ATEN.mul.Tensor else (None, None)
    if isinstance(source, Node) and isinstance(scale, float):
        yield Dropped(source, kept, scale, (node, raised))


def _is_zero(value: Any) -> bool:
    return isinstance(value, Node) and number_in(value) == 0


def _name(factor: Node) -> tuple[Node, float]:
    """Of `kept * scale` its parts."""
    if factor.target is _ATEN.mul.Tensor:
        cast, scale = factor.args
        if isinstance(cast, Node) and cast.target is _CAST and isinstance(scale, float):
            (kept,) = cast.all_input_nodes
            if kept.meta["val"].dtype == torch.bool:
                return kept, scale
    return factor, 1.0
