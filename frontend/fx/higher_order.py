"""Higher-order operators that torch itself defines by ordinary ones: a node of theirs becomes that graph.

`flex_attention` takes graphs: what happens to a score, and which are hidden. torch's implementation for any
device says what it means: products, `vmap` of these graphs over all indices, a softmax. Traced on what the
node's arguments look like, it is a graph of operators, which is imported in place of the node:

    flex_attention(q, k, v, score_graph, (..., mask_graph), 0.125, {...}, (bias,), ())
      ->  scores = bmm(q, k^T) * 0.125; where(rows >= columns, scores + bias[heads], -inf); ...

The table names those for which this is so. `cond` and loops, whose graphs run as often as data says, are not
among them: see control_flow.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_flatten, tree_unflatten

from ..decompositions.table import Decompositions, decompositions
from ..errors import Unsupported
from ..operators.own_operators import operators
from ..operators.scan_operators import linear_leaves
from ..torch_internals import composite_kernel, fake_mode_of, higher_order_name, trace_fake
from .block_masks import with_lists
from .locations import place_metadata

Definition = Callable[..., Any]
_SYMBOLIC = (Tensor, torch.SymInt, torch.SymFloat)


@dataclass(frozen=True)
class Expansion:
    """What a node computes, as a graph of its own."""

    graph: GraphModule
    arguments: tuple[Any, ...]
    """What its placeholders stand for: arguments of the node, as they stand there."""


def expand(node: Node, values: Mapping[Node, Any]) -> Expansion | None:
    """The graph of `node`, None where the table does not name its operator. Raises Unsupported."""
    define = _DEFINED.get(higher_order_name(node.target))
    if define is None:
        return None
    definition = define(node.target)
    given, structure = tree_flatten((node.args, node.kwargs))
    leaves = [_seen(arg, values) for arg in given]
    varying = [i for i, leaf in enumerate(leaves) if isinstance(leaf, _SYMBOLIC)]

    def run(*tensors: Any) -> Any:
        filled = list(leaves)
        for i, tensor in zip(varying, tensors, strict=True):
            filled[i] = tensor
        args, kwargs = cast("tuple[Sequence[Any], Mapping[str, Any]]", tree_unflatten(filled, structure))
        return definition(*args, **kwargs)

    try:
        graph = trace_fake(run, [leaves[i] for i in varying], fake_mode_of(leaves), _table())
    except (RuntimeError, TypeError, ValueError) as error:
        first = str(error).strip().partition("\n")[0]
        raise Unsupported(f"torch's own definition of it cannot be traced: {first}", "TW1105") from error
    graph.graph.eliminate_dead_code()
    place = place_metadata(node)
    for inner in graph.graph.nodes:
        inner.meta.update(place)
    return Expansion(graph, tuple(given[i] for i in varying))


def _seen(arg: Any, values: Mapping[Node, Any]) -> Any:
    """What tracing sees of an argument."""
    if not isinstance(arg, Node):
        return arg
    bound = values.get(arg)
    return _mappable(bound) if isinstance(bound, GraphModule) else arg.meta["val"]


def _mappable(module: GraphModule) -> GraphModule:
    """The same graph of operators that `vmap` knows: decompositions leave some that it does not."""
    graph = deepcopy(module.graph)
    for node in graph.nodes:
        if node.target is torch.ops.prims.convert_element_type.default:
            node.target, (source, dtype) = torch.ops.aten._to_copy.default, node.args
            node.args, node.kwargs = (source,), {"dtype": dtype}
    return GraphModule(module, graph)


def _inlined(_: Any) -> Definition:
    def call(graph: Callable[..., Any], name: str, *operands: Any) -> Any:
        return graph(*operands)

    return call


def _flex_attention(op: Any) -> Definition:
    """What the lists of the block mask leave out is hidden, too."""
    kernel = composite_kernel(op)

    def forward(*args: Any) -> Any:
        query, key, value, graph, mask, *rest = args
        return kernel(query, key, value, graph, with_lists(mask, _scores(query, key)), *rest)

    return forward


def _scores(query: Tensor, key: Tensor) -> tuple[Any, ...]:
    return *query.shape[:-1], key.shape[-2]


def _flex_attention_backward(op: Any) -> Definition:
    """Gradients of captured tensors are computed where these require them: the joint graph knows which."""
    forward, kernel = composite_kernel(torch.ops.higher_order.flex_attention), composite_kernel(op)

    def backward(*args: Any) -> Any:
        *first, graph, joint, mask, scale, options, captured, hidden = args
        query, key, value, out, saved, *grads = first
        mask = with_lists(mask, _scores(query, key), backward=True)
        if query.dtype is torch.float64:  # of which tracing says that the forward pass saved f32
            _, saved, _ = forward(query, key, value, graph, mask, scale, options, captured, hidden)
        wanted = tuple(map(_requiring, captured, _results(joint)[_SCORE_ARGUMENTS:]))
        first = (query, key, value, out, saved, *grads)
        return kernel(*first, graph, joint, mask, scale, options, wanted, hidden)

    return backward


def _associative_scan(op: Any) -> Definition:
    kernel = composite_kernel(op)

    def scan(join: Any, leaves: Sequence[Any], more: Sequence[Any]) -> Any:
        linear = None if more else linear_leaves(join, leaves)
        if linear is None:
            return kernel(join, leaves, more)
        factor, value = (leaves[n] for n in linear)
        found = torch.cumprod(factor, 0), operators()["linear_scan"](value, factor, 0)
        return found if linear == (0, 1) else found[::-1]

    return scan


_SCORE_ARGUMENTS = 5
"""A score, its batch, head, row and column: captured tensors follow."""


def _results(module: GraphModule) -> Sequence[Any]:
    (output,) = (node for node in module.graph.nodes if node.op == "output")
    return cast("Sequence[Any]", output.args[0])


def _requiring(captured: Any, grad: Any) -> Any:
    return captured.detach().requires_grad_(grad is not None) if isinstance(captured, Tensor) else captured


_DEFINED: Mapping[str, Callable[[Any], Definition]] = {
    "flex_attention": _flex_attention,
    "flex_attention_backward": _flex_attention_backward,
    "invoke_subgraph": _inlined,
    "associative_scan": _associative_scan,
}


def _zeros_and_scatter(shape: Sequence[int], indices: Sequence[Tensor], values: Tensor) -> Tensor:
    """The gradient of a captured tensor that a score reads by its indices."""
    return torch.index_put(values.new_zeros(shape), tuple(indices), values, accumulate=True)


def _table() -> Decompositions:
    scatter = torch.ops.flex_lib.zeros_and_scatter.default
    return {**decompositions(), scatter: _zeros_and_scatter}
