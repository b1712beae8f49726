"""Builds native code for an imported graph: the target's passes, then the target's compiler."""

from __future__ import annotations

from ..errors import NotOnCpu
from ..fx.graph import Graph
from .call import Run
from .lower import check_compiled_graph, lower
from .native_code import NativeCode
from .request import Request


def build_cpu(graph: Graph, request: Request) -> Run:
    """C++ with OpenMP, compiled and loaded."""
    from tilewright.targets.cpu_openmp.emit import emit_unit
    from tilewright.targets.native.launch import exports

    if graph.device.type != "cpu":
        raise NotOnCpu(device=graph.device.type)
    trace, lowered = request.trace, lower(graph, request)
    with trace.stage("emit C++"):
        unit = emit_unit(graph.module, exports)
    lowered.write("kernels.cpp", unit.text)
    trace.code = NativeCode(
        unit, "tilewright.targets.cpu_openmp.build:recipe", request.options.pool_outputs, lowered.setup
    )
    with trace.stage("compile C++"):
        call = trace.code.load(request.cache_folder, request.environment.variables)
    check_compiled_graph(call, graph, request)
    return call
