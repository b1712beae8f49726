"""An operator of ours for linear recurrences, and which associative scans are one.

`associative_scan` takes a graph that joins what two neighbouring parts of a row have come to. Of two tensors
it is mostly this one (state-space models, gated recurrences):

    def join(left, right): (f, x), (g, y) = left, right; return f * g, x * g + y

Its results are the running product of the factors, and `tilewright::linear_scan`: `tw.linear_scan`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

_MUL, _ADD = torch.ops.aten.mul.Tensor, torch.ops.aten.add.Tensor


def _scan(source: Tensor, factor: Tensor, dim: int) -> Tensor:
    wide = torch.promote_types(source.dtype, torch.float32)
    found: list[Tensor] = []
    for x, f in zip(source.to(wide).unbind(dim), factor.to(wide).unbind(dim), strict=True):
        found.append(f * found[-1] + x if found else x)
    return torch.stack(found, dim).to(source.dtype) if found else source.clone()


def _fake(source: Tensor, factor: Tensor, dim: int) -> Tensor:
    return source.new_empty(source.shape)


OPERATORS: tuple[tuple[str, Callable[..., Any], Callable[..., Any], tuple[torch.Tag, ...]], ...] = (
    ("linear_scan(Tensor source, Tensor factor, int dim) -> Tensor", _scan, _fake, ()),
)
"""Schema, function, what tracing takes for it, tags."""


def linear_leaves(join: Any, leaves: Sequence[Any]) -> tuple[int, int] | None:
    """The numbers of the factor and of the value among two `leaves` that `join` combines linearly."""
    if not isinstance(join, GraphModule) or len(leaves) != 2 or not _alike(*leaves):
        return None
    inputs = list(join.graph.find_nodes(op="placeholder"))
    (output,) = join.graph.find_nodes(op="output")
    results = cast("Sequence[Node]", output.args[0])
    if len(inputs) != 4 or len(results) != 2:
        return None
    for f, x in ((0, 1), (1, 0)):
        product = _terms(results[f], _MUL) == {inputs[f], inputs[2 + f]}
        terms = _terms(results[x], _ADD)
        decayed = next((t for t in terms if _terms(t, _MUL) == {inputs[x], inputs[2 + f]}), None)
        if product and decayed is not None and terms == {decayed, inputs[2 + x]}:
            return f, x
    return None


def _terms(node: Any, op: Any) -> set[Any]:
    """What `op` makes the result of, none if something else does."""
    made = isinstance(node, Node) and node.target is op and not node.kwargs
    return set(node.args) if made else set()


def _alike(one: Any, other: Any) -> bool:
    tensors = isinstance(one, Tensor) and isinstance(other, Tensor)
    return tensors and one.is_floating_point() and (one.dtype, one.shape) == (other.dtype, other.shape)
