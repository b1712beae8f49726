"""What a forward graph keeps for the backward pass: nobody else sees it, so passes choose its strides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from tilewright.passes.memory.result_memory import order_of, result_attributes

from ..runtime.call import Boxed
from ..torch_internals import tracing_context
from .aliases import storage_of
from .graph import Graph, Result
from .strides import Strides, dense_strides

Order = tuple[int, ...]
"""All dimensions, outermost in memory first."""


def seen_by_caller() -> int | None:
    """How many results of the forward graph being compiled the caller sees; None if that is unknown."""
    context = tracing_context()
    if context is None or context.fw_metadata is None:
        return None
    return int(context.fw_metadata.num_forward)


def free_results(arguments: Iterable[Any], outputs: Sequence[Any], seen: int | None) -> frozenset[int]:
    """The results behind the first `seen` that share memory with no argument and no other result."""
    if seen is None:
        return frozenset()
    taken = {storage_of(fake) for fake in map(_fake, arguments) if fake is not None}
    fakes = [_fake(output) for output in outputs]
    sharing = Counter(storage_of(fake) for fake in fakes if fake is not None)
    return frozenset(
        i
        for i, fake in enumerate(fakes)
        if i >= seen and fake is not None and sharing[key := storage_of(fake)] == 1 and key not in taken
    )


def _fake(node: Any) -> torch.Tensor | None:
    fake = node.meta.get("val") if isinstance(node, Node) else None
    return fake if isinstance(fake, torch.Tensor) else None


def chosen_orders(graph: Graph) -> dict[int, Order]:
    """The orders that passes chose for results, by the number of the caller's result."""
    attributes = result_attributes(graph.main)
    return {
        i: order
        for i, output in enumerate(graph.outputs)
        if isinstance(output, Result) and (order := order_of(attributes[output.index])) is not None
    }


def report_strides(graph: Graph, gm: GraphModule, orders: Mapping[int, Order]) -> None:
    """Tell AOTAutograd the strides of our results: the backward graph is traced with them."""
    context = tracing_context()
    if context is None or context.output_strides is None:
        return
    assert not context.output_strides
    outputs = gm.graph.output_node().args[0]
    assert isinstance(outputs, Sequence)
    strides: list[Strides | None] = list(graph.output_strides[: len(outputs)])
    for i, order in orders.items():
        fake = _fake(outputs[i])
        assert fake is not None
        strides[i] = dense_strides(fake.shape, order)
    context.output_strides.extend(strides)


def in_orders(call: Boxed, orders: Mapping[int, Order]) -> Boxed:
    """`call`, whose results get the orders that were reported."""
    if not orders:
        return call

    def ordered(args: list[Any]) -> Sequence[Any]:
        results = list(call(args))
        for i, order in orders.items():
            tensor: torch.Tensor = results[i]
            strides = dense_strides(tensor.shape, order)
            results[i] = torch.empty_strided(
                tensor.shape, strides, dtype=tensor.dtype, device=tensor.device
            ).copy_(tensor)
        return results

    ordered._boxed_call = True  # pyright: ignore[reportFunctionMemberAccess]
    return ordered
