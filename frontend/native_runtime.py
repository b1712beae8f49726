"""Builds native code for an imported graph: the target's passes, then the target's compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .call import Run
from .frozen import with_setup
from .graph import Graph
from .lower import lower

if TYPE_CHECKING:
    from .compile import Request


def build_cpu(graph: Graph, request: Request) -> Run:
    """C++ with OpenMP, compiled and loaded."""
    from tilewright.targets.cpu_openmp.build import recipe
    from tilewright.targets.cpu_openmp.emit import emit_unit
    from tilewright.targets.native.launch import exports, load_unit

    trace, lowered = request.trace, lower(graph, request)
    with trace.stage("emit C++"):
        unit = emit_unit(graph.module, exports)
    if lowered.dump is not None:
        lowered.dump.write("kernels.cpp", unit.text)
    with trace.stage("compile C++"):
        compiled = load_unit(
            unit,
            recipe=recipe(request.environment.variables),
            cache_dir=request.cache_folder,
            environment=request.environment.variables,
            pooled=request.options.pool_outputs,
        )
    if lowered.setup is None:
        return compiled.call
    return with_setup(compiled.call, lowered.setup, compiled.prober)


def build_gpu(graph: Graph, request: Request) -> Run:
    """Triton text and a C launcher."""
    raise ImportError("the Triton target has no launcher yet")
