"""Bags of embeddings that are all as long, as a look-up and a sum.

    functional.embedding_bag(ids, weight, mode="sum")    # ids: [bags, rows]; weight: [words, depth]

becomes, in Dynamo's graph,

    functional.embedding(ids, weight).sum(1)             # [bags, depth], of weight's dtype

which one kernel computes with what comes next. In ATen's graph (`aten::_embedding_bag`) it is too late: the
ids have one dimension there, and where bags begin is a tensor. ATen keeps, as reports say (TW1101): bags of
any length (`offsets`), maxima, `max_norm`, `scale_grad_by_freq`, `sparse`, and halves whose table is trained.
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

from .locations import place_metadata

_SIGNATURE = inspect.signature(functional.embedding_bag)


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
        self._place = place_metadata(of)

    def create_node(self, *args: Any, **named: Any) -> Node:
        node = super().create_node(*args, **named)
        node.meta.update(self._place)
        return node


def _is_a_sum(call: Mapping[str, Any]) -> bool:
    """Whether the call, as bound to `functional.embedding_bag`, is one that we write anew.

    Where torch refuses a call (bags of no rows, weights of means), it is left to torch to say so.
    """
    ids, weight = _value(call["input"]), _value(call["weight"])
    if not (isinstance(ids, Tensor) and isinstance(weight, Tensor)) or ids.is_nested:
        return False
    weighted, padding = call["per_sample_weights"] is not None, call["padding_idx"]
    modes = ("sum",) if weighted else ("sum", "mean")
    if weight.itemsize < torch.float32.itemsize and weight.requires_grad and torch.is_grad_enabled():
        return False  # its gradient would be added up in a table of f32, and rounded to another one
    others = call["sparse"] or call["scale_grad_by_freq"] or call["max_norm"] is not None
    rows: Any = weight.shape[0]
    known = padding is None or (isinstance(padding, int) and isinstance(rows, int))
    alike = ids.dim() == weight.dim() == 2 and ids.dtype in (torch.int32, torch.int64)
    has_rows = alike and ids.shape[1] != 0 and call["offsets"] is None
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
    sums = torch.promote_types(dtype, torch.float32)
    if padding is None:
        summed: Any = torch.sum(rows, 1, dtype=sums) if call["mode"] == "sum" else torch.mean(rows, 1)
        return torch.ops.aten.to.dtype(summed, dtype)
    seen: Any = torch.ne(ids, padding if padding >= 0 else padding + _value(call["weight"]).shape[0])
    summed = torch.sum(torch.where(torch.unsqueeze(seen, -1), rows, 0.0), 1, dtype=sums)
    if call["mode"] == "mean":
        summed = torch.div(summed, torch.clamp(torch.sum(seen, 1, keepdim=True), min=1))
    return torch.ops.aten.to.dtype(summed, dtype)
