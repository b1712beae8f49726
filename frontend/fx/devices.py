"""Where a graph computes: one device, to which scalars of the CPU may come along.

Eager lets a CPU tensor without dimensions meet tensors of a GPU; so do graphs: such an argument
is copied to the device in each call, such a constant once, and what is computed from them
alone is computed on the device. Results on the CPU are computed on the device and copied; an argument
is given back as it came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch.fx import GraphModule, Node

from tilewright.targets.gpu_triton.host_errors import MixedDevices

from ..torch_internals import is_operator, real_tensors, schema_of
from .aliases import storage_of
from .graph import Argument, Constant, Input
from .locations import location_of, place_of

CPU = torch.device("cpu")
_CONVERSIONS = ("aten._to_copy.default", "prims.convert_element_type.default")
_MIXING = (
    "aten._to_copy.default",
    "prims.device_put.default",
    "aten.copy.default",
    "aten.index.Tensor",
    "aten.index_put.default",
    "aten._unsafe_index.Tensor",
    "aten._unsafe_index_put.default",
)
"""Operators whose result is on a device although they take a tensor of the CPU with dimensions."""


@dataclass(frozen=True)
class Placement:
    """The device of a graph, and which of its arguments are copied there."""

    device: torch.device
    copied: frozenset[int] = frozenset()

    def bring(self, inputs: Sequence[Input]) -> tuple[Input, ...]:
        """The arguments of @main, all of them on the device."""
        if self.device == CPU:
            return tuple(inputs)
        return tuple(self._brought(source) for source in inputs)

    def _brought(self, source: Input) -> Input:
        match source:
            case Argument(index=index) if index in self.copied:
                return replace(source, device=self.device)
            case Constant(tensor=tensor):
                with real_tensors():
                    return Constant(tensor.to(self.device))
            case _:
                return source


def placement(gm: GraphModule) -> Placement:
    """Where a graph computes; raises MixedDevices where that is not one place."""
    found = list(_tensors(gm))
    device = next((tensor.device for _, tensor in found if tensor.device != CPU), CPU)
    if device == CPU:
        return Placement(CPU)
    shared = _shared_by_results(gm)
    for node, tensor in found:
        reason = ""
        if tensor.device == CPU:
            reason = _stays(node, tensor, shared)
        elif tensor.device != device:
            reason = f"`{node.name}` is on another one"
        if reason:
            where, devices = place_of(location_of(node)), f"{device} and {tensor.device}"
            raise MixedDevices(where=where, devices=devices, reason=reason)
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
    on_cpu = {node for node, tensor in found if tensor.device == CPU}
    return Placement(device, frozenset(i for i, node in enumerate(placeholders) if node in on_cpu))


def _tensors(gm: GraphModule) -> Iterator[tuple[Node, torch.Tensor]]:
    """Every tensor of the graph, with the node that makes it."""
    for node in gm.graph.nodes:
        value: Any = node.meta.get("val")
        if node.op == "get_attr" and value is None:
            value = getattr(gm, str(node.target), None)
        for tensor in _tensors_of(value):
            yield node, tensor


def _tensors_of(value: Any) -> list[torch.Tensor]:
    items = cast("Sequence[Any]", value) if isinstance(value, tuple | list) else (value,)
    return [item for item in items if isinstance(item, torch.Tensor)]


def _shared_by_results(gm: GraphModule) -> frozenset[int]:
    """The memory that several results have: copies of them would have none in common."""
    results = {node: node.meta.get("val") for node in gm.graph.output_node().all_input_nodes}
    counts = Counter(storage_of(tensor) for value in results.values() for tensor in _tensors_of(value))
    return frozenset(memory for memory, count in counts.items() if count > 1)


def _stays(node: Node, tensor: torch.Tensor, shared: Collection[int]) -> str:
    """Why a tensor of the CPU cannot come to the device; empty where it can."""
    if tensor.dim() > 0 and node.op == "placeholder" and not _only_moved(node):
        return f"`{node.name}` has dimensions, so that only a copy could bring it there"
    for user in node.users:
        if user.op == "output" and node.op != "placeholder" and storage_of(tensor) in shared:
            return f"`{node.name}` is a result that shares its memory with another"
        if is_operator(user.target) and schema_of(user.target).is_mutable and user.args[:1] == (node,):
            return f"`{node.name}` is written to"
        if tensor.dim() > 0 and _on_device(user) and str(user.target) not in _MIXING:
            return f"`{user.name}` takes `{node.name}` on the CPU"
    return ""


def _only_moved(node: Node) -> bool:
    """A copy of it is all that the program makes of it, perhaps of another dtype."""
    return all(
        user.op == "output"
        or (str(user.target) in _MIXING and _on_device(user))
        or (str(user.target) in _CONVERSIONS and _only_moved(user))
        for user in node.users
    )


def _on_device(node: Node) -> bool:
    """Its result, or one of them, is not on the CPU."""
    return any(tensor.device != CPU for tensor in _tensors_of(node.meta.get("val")))
