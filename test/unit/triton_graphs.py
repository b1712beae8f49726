"""The target `emulated`: the GPU pipeline, with every launch executed from its Triton text on CPU tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from xdsl.ir import Operation

from tilewright.frontend.fx.graph import Graph
from tilewright.frontend.runtime.fallback import aten_function
from tilewright.frontend.runtime.lower import lower
from tilewright.frontend.runtime.reference_runtime import draw_seed
from tilewright.passes.pipeline import PIPELINES
from tilewright.targets.gpu_triton.emit import emit_unit
from tilewright.targets.gpu_triton.emulate import run_graph
from tilewright.targets.gpu_triton.kernel import TritonUnit
from tilewright.targets.registry import Target, register_target

if TYPE_CHECKING:
    from tilewright.frontend.runtime.request import Request

UNITS: list[TritonUnit] = []
"""What was emitted, graph by graph."""


def build(graph: Graph, request: Request) -> Callable[[list[Any]], list[Any]]:
    lower(graph, request)
    unit = emit_unit(graph.module)
    UNITS.append(unit)

    def run(args: list[Any]) -> list[Any]:
        env = {var: int(args[i]) for var, i in graph.symbols}

        def aten(op: Operation, operands: Sequence[Any]) -> Sequence[Any]:
            return aten_function(op)(operands, env)

        plain = [a.detach().clone() if isinstance(a, torch.Tensor) else a for a in args]
        results = run_graph(graph.module, unit, plain, aten=aten, draw_seed=draw_seed)
        for given, now in zip(args, plain, strict=True):
            changed = isinstance(given, torch.Tensor) and not torch.equal(
                given.detach().nan_to_num(), now.nan_to_num()
            )
            if changed:  # else the version counter would rise, which autograd watches
                given.copy_(now)
        return results

    return run


def register() -> None:
    """Make `options={"target": "emulated"}` known."""
    register_target(Target(name="emulated", build=build, pipeline=PIPELINES["gpu"]))
