"""One model and one compiler of `benchmarks.gpu_compare`, in a process of its own: prints JSON.

python -m benchmarks.gpu_compare_worker bert bf16 bench training inductor
"""

# ruff: noqa: I001 (fake_models goes before torch)
from __future__ import annotations

from benchmarks.fake_models import FakeCase, stop

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from math import prod
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn
from torch._inductor import config, ir
from torch._inductor.dependencies import MemoryDep
from torch._inductor.graph import GraphLowering
from torch._inductor.scheduler import BaseSchedulerNode, ExternKernelSchedulerNode
from torch._inductor.scheduler import NopKernelSchedulerNode

from benchmarks.gpu_traffic import Call, calls_of, touched
from tilewright.frontend.fx.graph import Graph
from tilewright.frontend.runtime.lower import lower
from tilewright.passes.pipeline import PIPELINES
from tilewright.targets.gpu_triton.architectures import architecture
from tilewright.targets.registry import Target, register_target

_FOUND: list[tuple[str, list[Call]]] = []
"""Of each graph, in order: its kind and its launches."""
_PIPELINE = PIPELINES["gpu"]


def ours() -> Callable[[nn.Module], Any]:
    """Our backend, up to the plan: what follows schedules each kernel for itself."""

    def build(graph: Graph, request: Any) -> Any:
        lower(graph, request)
        _FOUND.append((request.kind, calls_of(graph.module)))
        return stop

    planned = _PIPELINE[: _PIPELINE.index("flatten-axes")]
    facts = {"halves": architecture("sm_90").halves}  # what decides on launches; Inductor is told of sm_90
    register_target(Target(name="gpu_planned", build=build, pipeline=planned, facts=lambda _: facts))
    options = {"target": "gpu_planned", "fallback": True}
    return lambda model: torch.compile(model, backend="mlir", options=options)


def inductor() -> Callable[[nn.Module], Any]:
    """Inductor with its defaults, without what it times on a device (padding of products)."""

    def compiled(self: GraphLowering) -> Any:
        text = self.codegen()[0]
        launches = count_launches(getattr(text, "value", text))
        calls = [call for node in self.scheduler.nodes for call in _of_node(self, node)]
        # What its wrapper does around kernels (a sum of partial results) moves bytes nobody counts.
        calls += [Call("wrapper", True, 0, ())] * (launches - len(calls))
        if launches < len(calls):
            raise AssertionError(f"{launches} launches in the text, {len(calls)} in the schedule")
        _FOUND.append(("backward" if self.is_backward else "forward", calls))
        return SimpleNamespace(__file__=__file__, call=stop)

    GraphLowering.compile_to_module = compiled
    config.shape_padding = False
    config.force_disable_caches = True
    return lambda model: torch.compile(model, backend="inductor")


_LAUNCH = re.compile(
    r"^\s+(?:[\w, ]+ = )?(?:\w+\.run\(|extern_kernels\.\w+\(|(?:torch\.ops\.)?aten\.[\w.]+\(|.*\.sum\(dim)",
    re.M,
)


def count_launches(text: str) -> int:
    """Launches in Inductor's Python wrapper."""
    body = text[text.index("def call(") :]
    return len(_LAUNCH.findall(body))


def _of_node(graph: GraphLowering, node: BaseSchedulerNode) -> Iterable[Call]:
    if isinstance(node, NopKernelSchedulerNode):
        return
    if isinstance(node, ExternKernelSchedulerNode):
        if not isinstance(node.node, ir.MultiOutput):
            yield _library(node.node)
        return
    yield _kernel(graph, node)


def _kernel(graph: GraphLowering, node: BaseSchedulerNode) -> Call:
    """A fused kernel: memory that only its own parts use does not count."""
    own = set(node.get_nodes()) | {node}
    inside = {name for part in node.get_nodes() for name in part.get_buffer_names()}
    points = _points(node)
    parts: list[tuple[str, str, int, int]] = []
    for way, deps in (("read", node.read_writes.reads), ("written", node.read_writes.writes)):
        by_name: dict[str, list[MemoryDep]] = {}
        for dep in sorted(deps, key=str):
            if isinstance(dep, MemoryDep):
                by_name.setdefault(dep.name, []).append(dep)
        for name, found in by_name.items():
            if name in inside and (way == "read" or _only_inside(graph, name, own)):
                continue
            # What a library's function wrote to has a name of its own, and no size.
            buffer = graph.try_get_buffer(graph.scheduler.mutation_real_name.get(name, name))
            if buffer is None:
                continue
            target = _storage(graph, buffer)
            count = touched([(_touches(d), _elements(d, points)) for d in found], _numbers(target.get_size()))
            parts.append((way, str(target.get_dtype()), count, target.get_dtype().itemsize))
    texts = tuple(f"{way} {count} {dtype}" for way, dtype, count, _ in parts)
    return Call(str(node.get_name()), False, sum(count * width for *_, count, width in parts), texts)


def _storage(graph: GraphLowering, buffer: Any) -> Any:
    """The buffer that a name stands for: a mutation has another's memory."""
    if isinstance(buffer.get_output_spec(), ir.MutationLayoutSHOULDREMOVE):
        return buffer.get_output_spec().get_buffer()
    return buffer


def _only_inside(graph: GraphLowering, name: str, own: set[Any]) -> bool:
    users = {user.node for user in graph.scheduler.name_to_buf[name].users if not user.is_weak}
    return users <= own


def _touches(dep: MemoryDep) -> Any:
    return dep.normalize().index


def _points(node: BaseSchedulerNode) -> Mapping[str, int]:
    """How many points access each buffer with an index that was loaded: the most of the parts of a kernel.

    Inductor does not list all axes of such an access: of `table[indices]` none.
    """
    found: dict[str, int] = {}
    for part in node.get_nodes():
        count = _numbers(size for sizes in part.get_ranges() for size in sizes)
        for dep in part.read_writes.reads_and_writes():
            if isinstance(dep, MemoryDep) and dep.is_indirect():
                found[dep.name] = max(found.get(dep.name, 0), count)
    return found


def _elements(dep: MemoryDep, points: Mapping[str, int]) -> int:
    """Elements of one access: the axes that its index uses; all points with an index that was loaded."""
    if dep.is_indirect():
        return points[dep.name]
    return prod(int(size) for var, size in dep.ranges.items() if dep.index.has(var))


def _numbers(sizes: Iterable[Any]) -> int:
    return prod(int(size) for size in sizes)


def _library(node: Any) -> Call:
    """A library's function: what it is given, without repeated elements, and what it returns."""
    given: list[Any] = []
    for item in node.inputs:
        given += item if isinstance(item, list | tuple) else [item]
    found = [_view(item) for item in given]
    outputs = getattr(node, "outputs", None) or [node]
    found += [_view(item) for item in outputs]
    moved = [one for one in found if one is not None]
    name = getattr(node, "python_kernel_name", None) or type(node).__name__
    return Call(str(name), True, sum(n * d.itemsize for n, d in moved), tuple(f"{n} {d}" for n, d in moved))


def _view(item: Any) -> tuple[int, torch.dtype] | None:
    if not isinstance(item, ir.IRNode) or item.maybe_get_size() is None or item.maybe_get_dtype() is None:
        return None
    strides = item.maybe_get_stride() or [1] * len(item.get_size())
    count = prod(int(size) for size, stride in zip(item.get_size(), strides, strict=True) if stride != 0)
    return count, item.get_dtype()


def main() -> None:
    name, dtype, scale, kind, backend = sys.argv[1:]
    compiler = {"mlir": ours, "inductor": inductor}[backend]()
    FakeCase.load(name, dtype, scale, kind).first_call(compiler)
    print(json.dumps([{"kind": kind, "calls": [asdict(call) for call in calls]} for kind, calls in _FOUND]))


if __name__ == "__main__":
    main()
