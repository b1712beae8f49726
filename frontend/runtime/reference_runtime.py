"""`options={"target": "reference"}`: interpret the module, op by op, with torch.

Slow, but with nothing between the IR and its meaning: what it disagrees with is wrong. It runs the graph
as it was imported, or what the passes of `pipeline` and `insert` made of it, at any level.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import torch
from xdsl.ir import Operation

from tilewright.dialects.index_expr import Expr, Var
from tilewright.dialects.interpreter import interpret
from tilewright.dialects.th.run import run_plan
from tilewright.dialects.tw.base import stated_strides
from tilewright.passes.memory.result_memory import result_attributes

from ..check.signature import is_plan
from ..fx.graph import Graph
from ..torch_internals import real_tensors
from .call import Run
from .fallback import CalledFunctions
from .frozen import with_setup
from .lower import check_compiled_graph, lower
from .request import Request


def build(graph: Graph, request: Request) -> Run:
    """A function that interprets @main; results are new tensors in the layouts the IR asks for."""
    functions = CalledFunctions()
    setup = lower(graph, request).setup
    layouts = result_layouts(graph)  # passes choose some
    execute = run_plan if is_plan(graph.main) else interpret

    def run(args: list[Any]) -> list[Any]:
        env = {var: int(args[index]) for var, index in graph.symbols}

        def aten(op: Operation, operands: Sequence[Any]) -> Sequence[Any]:
            return functions[op](operands, env)

        with torch.no_grad(), real_tensors():  # not watched op by op, as in emulated_runtime.py
            plain = [a.detach() if isinstance(a, torch.Tensor) else a for a in args]
            results = execute(graph.module, plain, torch, aten=aten, draw_seed=draw_seed)
            return [placed(r, layout, env) for r, layout in zip(results, layouts, strict=True)]

    call: Run = run
    if setup is not None:
        call = with_setup(run, setup, lambda parameters: count().__next__)  # derived anew in each call
    check_compiled_graph(call, graph, request)
    return call


def draw_seed() -> int:
    """One number from torch's default generator: `torch.manual_seed` makes runs repeat."""
    return int(torch.randint(-(1 << 63), (1 << 63) - 1, (), dtype=torch.int64))


def result_layouts(graph: Graph) -> list[tuple[Expr, ...] | None]:
    """The strides that the IR asks for, per result; None means row-major."""
    return [stated_strides(attrs) for attrs in result_attributes(graph.main)]


def placed(value: torch.Tensor, strides: tuple[Expr, ...] | None, env: dict[Var, int]) -> torch.Tensor:
    """`value` in memory of its own, with those strides."""
    if strides is None:
        return value.clone(memory_format=torch.contiguous_format)
    numbers = [stride.evaluate(env) for stride in strides]
    return torch.empty_strided(value.shape, numbers, dtype=value.dtype, device=value.device).copy_(value)
