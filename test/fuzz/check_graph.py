"""One random graph through the passes and the compiler; what goes wrong is a `Find`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.registry import new_context
from tilewright.frontend.check.aten_callback import aten_callback
from tilewright.frontend.check.native import check_compiled
from tilewright.frontend.check.session import SemanticCheck
from tilewright.passes.manager import module_text, parse_pipeline, run_pipeline, verify_hook
from tilewright.passes.pipeline import pipeline_text
from tilewright.passes.setup import end_of_setup, take_setup


@dataclass(frozen=True)
class Find:
    """A failure, and what reproduces it."""

    kind: str
    message: str
    text: str
    """The module, or the program, that fails."""
    pipeline: str = "cpu"
    """What a module went through."""


def check_graph(
    module: ModuleOp, *, compiled: Path | None, budget: float = 1.0, pipeline: str = "cpu"
) -> Find | None:
    """Run a pipeline with the check after each pass; then the compiled code of CPUs, in cache `compiled`."""
    text = module_text(module, locations=False)
    try:
        check = SemanticCheck(module, aten=aten_callback, budget=budget)
        passes = parse_pipeline(pipeline_text(pipeline))
        split = end_of_setup(passes)
        hooks = [verify_hook(), check]
        run_pipeline(new_context(), module, passes[:split], hooks=hooks)
        take_setup(module)
        run_pipeline(new_context(), module, passes[split:], hooks=hooks, first=split + 1)
        if compiled is not None:
            from tilewright.targets.cpu_openmp.launch import load

            check_compiled(load(module, cache_dir=compiled).call, module, check.baseline)
    except Exception as error:  # whatever it is, it is a find
        return Find(type(error).__name__, f"{type(error).__name__}: {error}", text, pipeline)
    return None
