"""Bags of embeddings that are all as long, as a look-up and a sum.

    functional.embedding_bag(ids, weight, mode="sum")    # ids: [bags, rows]

is, of Dynamo's graph,

    functional.embedding(ids, weight).sum(1)

whose sum takes rows as it looks them up, and is part of what comes next. Later torch has made one dimension
of the ids, and a tensor of where bags begin. Bags of any length, their maxima, rows that are scaled to a norm
(`max_norm`), gradients that are sparse or divided by how often a row is looked up, and those of halves are
ATen's.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node, Proxy
from torch.fx.proxy import GraphAppendingTracer
from torch.nn import functional

_SIGNATURE = inspect.signature(functional.embedding_bag)
_SUMMED = torch.float32
"""What halves are summed up in."""
_KEPT_META = ("stack_trace", "nn_module_stack", "source_fn_stack", "custom")


def sum_bags(gm: GraphModule) -> None:
    """Write each such call of a Dynamo graph, and of graphs in it, anew, in place."""
    for part in gm.modules():
        if isinstance(part, GraphModule):
            for node in part.graph.find_nodes(op="call_function", target=functional.embedding_bag):
                _write_anew(part, node)


def _write_anew(gm: GraphModule, node: Node) -> None:
    bound = _SIGNATURE.bind(*node.args, **node.kwargs)
    bound.apply_defaults()
    if not _is_a_sum(bound.arguments):
        return
    with gm.graph.inserting_before(node):
        summed = _summed(bound.arguments, _Recorder(node))
    node.replace_all_uses_with(summed.node)
    gm.graph.erase_node(node)
    gm.recompile()


class _Recorder(GraphAppendingTracer):
    """What is done with its proxies is written where another node stands, and has its place in the source."""

    def __init__(self, of: Node) -> None:
        super().__init__(of.graph)
        self._meta = {key: of.meta[key] for key in _KEPT_META if key in of.meta}

    def create_node(self, *args: Any, **named: Any) -> Node:
        node = super().create_node(*args, **named)
        node.meta.update(self._meta)
        return node


def _is_a_sum(call: Mapping[str, Any]) -> bool:
    ids, weight = _value(call["input"]), _value(call["weight"])
    if not (isinstance(ids, Tensor) and isinstance(weight, Tensor)) or ids.is_nested:
        return False
    weighted, padding = call["per_sample_weights"] is not None, call["padding_idx"]
    modes = ("sum",) if weighted else ("sum", "mean")
    if weight.itemsize < _SUMMED.itemsize and weight.requires_grad and torch.is_grad_enabled():
        return False  # its gradient would be summed up in a table of f32, twice as large
    others = call["sparse"] or call["scale_grad_by_freq"] or call["max_norm"] is not None
    rows: Any = weight.shape[0]
    known = padding is None or (isinstance(padding, int) and isinstance(rows, int))
    alike = ids.dim() == weight.dim() == 2 and ids.dtype in (torch.int32, torch.int64)
    has_rows = alike and ids.shape[1] != 0 and call["offsets"] is None  # or torch says what is wrong
    return has_rows and known and call["mode"] in modes and not others


def _value(argument: Any) -> Any:
    return argument.meta.get("example_value") if isinstance(argument, Node) else argument


def _summed(call: Mapping[str, Any], recorder: _Recorder) -> Any:
    """The call as it is computed, of arguments that record what is done with them.

    By functions alone: graphs with methods of what has no example value are not kept for later processes.
    """
    given: list[Any] = [call[name] for name in ("input", "weight", "per_sample_weights")]
    proxies: list[Any] = [Proxy(each, recorder) if isinstance(each, Node) else each for each in given]
    ids, weight, weights = proxies
    dtype, padding = _value(call["weight"]).dtype, call["padding_idx"]
    rows: Any = functional.embedding(ids, weight, padding)
    if weights is not None:
        rows = torch.mul(rows, torch.unsqueeze(weights, -1))
    sums = torch.promote_types(dtype, _SUMMED)
    if padding is None:
        summed: Any = torch.sum(rows, 1, dtype=sums) if call["mode"] == "sum" else torch.mean(rows, 1)
        return torch.ops.aten.to.dtype(summed, dtype)
    seen: Any = torch.ne(ids, padding if padding >= 0 else padding + _value(call["weight"]).shape[0])
    summed = torch.sum(torch.where(torch.unsqueeze(seen, -1), rows, 0.0), 1, dtype=sums)
    if call["mode"] == "mean":
        summed = torch.div(summed, torch.clamp(torch.sum(seen, 1, keepdim=True), min=1))
    return torch.ops.aten.to.dtype(summed, dtype)
