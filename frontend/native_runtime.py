"""Builds native code for an imported graph: the target's passes, then the target's compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.dialects.registry import new_context
from tilewright.passes.manager import Hook, parse_pipeline, run_pipeline, verify_hook
from tilewright.passes.pipeline import pipeline_text

from .call import Run
from .dump import open_dump, write_import
from .graph import Graph

if TYPE_CHECKING:
    from .compile import Request


def build_cpu(graph: Graph, request: Request) -> Run:
    """C++ with OpenMP, compiled and loaded."""
    from tilewright.targets.cpu_openmp.launch import load

    _lower(graph, request, "cpu")
    compiled = load(
        graph.module, cache_dir=request.environment.cache, environment=request.environment.variables
    )
    return compiled.call


def build_gpu(graph: Graph, request: Request) -> Run:
    """Triton text and a C launcher."""
    raise ImportError("the Triton target has no launcher yet")


def _lower(graph: Graph, request: Request, target: str) -> None:
    """Run the target's pipeline on the module, in place."""
    passes = parse_pipeline(pipeline_text(target))
    hooks: list[Hook] = [verify_hook] if request.options.verify or request.environment.verify_each else []
    dump = open_dump(request.dump_folder, request.kind)
    if dump is not None:
        write_import(dump, graph.module, passes)
        hooks.append(dump)
    run_pipeline(new_context(), graph.module, passes, hooks=hooks)
