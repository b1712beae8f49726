"""What a forward graph keeps for the backward pass: nobody else sees it, so passes choose its strides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch._prims_common import is_contiguous_or_false
from torch.fx import GraphModule, Node

from tilewright.passes.memory.result_memory import order_of, result_attributes

from ..runtime.call import Boxed
from ..torch_internals import decided_by_data, tracing_context
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


def traced_strides(gm: GraphModule) -> dict[int, Strides | None]:
    """Of each result, None of what is no tensor."""
    outputs = gm.graph.output_node().args[0]
    assert isinstance(outputs, Sequence)
    fakes = map(_fake, outputs)
    return {i: None if fake is None else tuple(fake.stride()) for i, fake in enumerate(fakes)}


def traced_orders(gm: GraphModule) -> dict[int, Order]:
    """Of results that were traced row-major or column-major, as what torch makes of data is."""
    outputs = gm.graph.output_node().args[0]
    assert isinstance(outputs, Sequence)
    found = {i: _traced_order(fake) for i, fake in enumerate(map(_fake, outputs)) if fake is not None}
    return {i: order for i, order in found.items() if order is not None}


def _traced_order(fake: torch.Tensor) -> Order | None:
    if fake.layout != torch.strided:
        return None
    rows = tuple(range(fake.dim()))
    orders = (order for order in (rows, rows[::-1]) if is_contiguous_or_false(fake.permute(order)))
    return next(orders, None)


def report_strides(strides: Sequence[Strides | None], gm: GraphModule, orders: Mapping[int, Order]) -> None:
    """Tell AOTAutograd how results lie, some in `orders`: the backward graph is traced with these strides.

    It wants numbers: of strides that data decide nothing is told, and the backward graph has those as traced.
    """
    context = tracing_context()
    if context is None or context.output_strides is None:
        return
    assert not context.output_strides
    outputs = gm.graph.output_node().args[0]
    assert isinstance(outputs, Sequence)
    reported = list(strides[: len(outputs)])
    for i, order in orders.items():
        fake = _fake(outputs[i])
        assert fake is not None
        reported[i] = dense_strides(fake.shape, order)
    context.output_strides.extend(None if decided_by_data(lying) else lying for lying in reported)


def in_orders(call: Boxed, orders: Mapping[int, Order]) -> Boxed:
    """`call`, whose results get these orders where they have others."""
    if not orders:
        return call

    def ordered(args: list[Any]) -> Sequence[Any]:
        results = list(call(args))
        for i, order in orders.items():
            tensor: torch.Tensor = results[i]
            strides = dense_strides(tensor.shape, order)
            if tensor.stride() != strides:
                copy = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device)
                results[i] = copy.copy_(tensor)
        return results

    ordered._boxed_call = True  # pyright: ignore[reportFunctionMemberAccess]
    return ordered
