"""Builds native code for an imported graph: the target's passes, then the target's compiler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.registry import new_context
from tilewright.passes.manager import (
    Dump,
    Hook,
    module_text,
    parse_pipeline,
    run_pipeline,
    verify_hook,
    with_facts,
)
from tilewright.passes.pipeline import pipeline_text

from .call import Run
from .dump import open_dump, write_import
from .frozen import take_setup, with_setup
from .graph import Graph

if TYPE_CHECKING:
    from .compile import Request


def build_cpu(graph: Graph, request: Request) -> Run:
    """C++ with OpenMP, compiled and loaded."""
    from tilewright.targets.cpu_openmp.emit import emit_unit
    from tilewright.targets.cpu_openmp.isa import machine_isa
    from tilewright.targets.cpu_openmp.launch import exports, load_unit

    trace, environment = request.trace, request.environment
    dump = open_dump(request.dump_folder, request.kind)
    setup = _lower(graph, request, "cpu", machine_isa(environment.variables).facts, dump)
    with trace.stage("emit C++"):
        unit = emit_unit(graph.module, exports)
    if dump is not None:
        dump.write("kernels.cpp", unit.text)
    with trace.stage("compile C++"):
        compiled = load_unit(
            unit,
            cache_dir=request.cache_folder,
            environment=environment.variables,
            pooled=request.options.pool_outputs,
        )
    return compiled.call if setup is None else with_setup(compiled.call, setup, compiled.prober)


def build_gpu(graph: Graph, request: Request) -> Run:
    """Triton text and a C launcher."""
    raise ImportError("the Triton target has no launcher yet")


def _lower(
    graph: Graph, request: Request, target: str, facts: Mapping[str, int | bool], dump: Dump | None
) -> ModuleOp | None:
    """Run the target's pipeline on the module, in place; gives the module of @setup, if there is one."""
    passes = with_facts(parse_pipeline(pipeline_text(target)), facts)
    hooks: list[Hook] = [request.trace.timing]
    if dump is not None:
        write_import(dump, graph.module, passes)
        hooks.append(dump)
    if request.options.verify or request.environment.verify_each:
        hooks.append(verify_hook)  # after the dump, which then holds the broken stage, too
    split = next(i for i, p in enumerate(passes, start=1) if p.name == "hoist-frozen")
    context = new_context()
    run_pipeline(context, graph.module, passes[:split], hooks=hooks)
    setup = request.trace.setup = take_setup(graph.module)
    if dump is not None and setup is not None:
        dump.write("setup.mlir", module_text(setup))
    run_pipeline(context, graph.module, passes[split:], hooks=hooks, first=split + 1)
    return setup
