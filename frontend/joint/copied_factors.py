"""What attention copies for its products is copied again in backward, where all of it is kept anyway.

    q, k, v = unbind(view(mm(x, w)), 2);  einsum("bihd,bjhd->bhij", q, k) ...        kept: the product

Its heads lie behind its rows: each factor of a batched product is a copy of a view, which torch keeps, since
products read memory. Kernels of ours that compute attention again read what the copies are made of where it
is, so that nothing is copied. A product of which parts are read alone stays as it is: all would be kept.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch.fx import Node

from .joint_nodes import is_product, is_view, make_again, sizes_of

_ATEN = torch.ops.aten
_CUTS: tuple[Any, ...] = (_ATEN.slice.Tensor, _ATEN.select.int, operator.getitem)
"""What shows a part."""


@dataclass(frozen=True)
class _Copy:
    """A factor that is made of `source` by views and copies alone."""

    source: Node
    part: Node
    """All of `source` that is read."""
    steps: tuple[Node, ...]


def copy_again(factors: Iterable[Node]) -> None:
    """Say of the factors of attention which copies the backward pass makes again."""
    copies = [copy for factor in dict.fromkeys(factors) if (copy := _copy(factor)) is not None]
    for source in dict.fromkeys(copy.source for copy in copies):
        of_source = [copy for copy in copies if copy.source is source]
        if source.op == "placeholder" or _covered(source, {copy.part for copy in of_source}):
            for node in dict.fromkeys(step for copy in of_source for step in copy.steps):
                make_again(node)


def _copy(factor: Node) -> _Copy | None:
    """How `factor` is copied, if it is, of what is in memory whole."""
    node, part, steps = factor, None, list[Node]()
    while is_view(node) or node.target is _ATEN.clone.default:
        if "recompute" in node.meta:
            return None
        if part is None and node.target in _CUTS:
            part = node
        steps.append(node)
        (node,) = node.all_input_nodes[:1]
    if not (node.op == "placeholder" or is_product(node)):
        return None
    copied = any(step.target is _ATEN.clone.default for step in steps)
    return _Copy(node, part or node, tuple(steps)) if copied else None


def _covered(source: Node, parts: set[Node]) -> bool:
    """Whether `parts` have as many elements as all of `source`."""
    left: Any = sum(prod(sizes_of(part)) for part in parts) - prod(sizes_of(source))
    return left >= 0 if isinstance(left, int) else left.expand().is_nonnegative is True
