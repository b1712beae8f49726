"""`options={"target": "gpu_emulated"}`: the GPU target's kernels, executed from their Triton text on the CPU.

No GPU and no triton is needed. Every access is checked against bounds and against other
programs, and memory that nobody wrote is poisoned: slow, and what it finds is an error of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from xdsl.ir import Operation

from ..fx.graph import Graph
from ..torch_internals import real_tensors
from .fallback import CalledFunctions
from .lower import check_compiled_graph, lower
from .reference_runtime import draw_seed, placed, result_layouts
from .request import Request


def build(graph: Graph, request: Request) -> Callable[[list[Any]], list[Any]]:
    """A function that runs the plan on CPU tensors; results are new ones in the layouts the IR asks for."""
    from tilewright.targets.gpu_triton.emit import emit_unit
    from tilewright.targets.gpu_triton.emulate import run_graph

    lowered = lower(graph, request)
    layouts = result_layouts(graph)  # passes choose some
    unit = emit_unit(graph.module)
    lowered.write("kernels.py", unit.listing)
    functions = CalledFunctions()

    def run(args: list[Any]) -> list[Any]:
        env = {var: int(args[index]) for var, index in graph.symbols}

        def aten(op: Operation, operands: Sequence[Any]) -> Sequence[Any]:
            return functions[op](operands, env)

        plain = [a.data if isinstance(a, torch.Tensor) else a for a in args]  # versions do not count up
        with real_tensors():  # AOTAutograd watches the first call, op by op, as do modes of the caller
            results = run_graph(graph.module, unit, plain, aten=aten, draw_seed=draw_seed)
        return [placed(r, layout, env) for r, layout in zip(results, layouts, strict=True)]

    check_compiled_graph(run, graph, request)
    return run
