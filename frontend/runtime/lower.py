"""Runs the passes of a target over an imported graph; what every target's build begins with."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

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
from tilewright.passes.setup import end_of_setup, take_setup
from tilewright.targets.registry import code

from ..dump import open_dump, write_import
from ..fx.graph import Graph
from .call import Run
from .request import Request

if TYPE_CHECKING:
    from ..check.session import SemanticCheck
    from ..trace import Observer

LOGGER = logging.getLogger("tilewright.check")


@dataclass(frozen=True)
class Lowered:
    """A graph whose module went through the passes, in place."""

    setup: ModuleOp | None
    """The module of `@setup`: what is derived from frozen parameters, if anything is."""
    sinks: tuple[Dump | Observer, ...]
    """Who wants the emitted text."""

    def write(self, name: str, text: str) -> None:
        """Hand on what the target emitted."""
        for sink in self.sinks:
            sink.write(name, text)


Tune = Callable[[ModuleOp, Sequence[ModulePass]], None]
"""Puts the best of `tk.candidates` in the place of what `schedule-gpu` took, before these passes."""


def lower(graph: Graph, request: Request, tune: Tune | None = None) -> Lowered:
    """Run the pipeline of the request's target on the graph's module; `tune` has its turn in between."""
    passes = pipeline_of(request)
    if tune is not None:
        passes = with_facts(passes, {"candidates": True})
    dump = open_dump(request.dump_folder, request.kind)
    observer = request.trace.observer
    if dump is not None:
        write_import(dump, graph.module, passes)
    if observer is not None:
        observer.imported(graph)
    sinks = tuple(sink for sink in (dump, observer) if sink is not None)
    context, hooks = new_context(), [request.trace.timing, *sinks, *_checks(graph, request)]
    begun = 0

    def run_to(end: int) -> None:
        nonlocal begun
        run_pipeline(context, graph.module, passes[begun:end], hooks=hooks, first=begun + 1)
        begun = end

    run_to(end_of_setup(passes))
    setup = request.trace.setup = take_setup(graph.module)
    if dump is not None and setup is not None:
        dump.write("setup.mlir", module_text(setup))
    if tune is not None:
        run_to(next((i for i, p in enumerate(passes, start=1) if p.name == "schedule-gpu"), len(passes)))
        with request.trace.stage("autotune"):
            tune(graph.module, passes[begun:])
        if dump is not None:
            dump.write(f"{begun:02}-autotuned.mlir", module_text(graph.module))
    run_to(len(passes))
    return Lowered(setup, sinks)


def _checks(graph: Graph, request: Request) -> list[Hook]:
    """What looks at each stage, after the dump, which then holds the broken one, too."""
    found: list[Hook] = []
    options = request.options
    if options.verify or options.pipeline or options.insert or request.environment.verify_each:
        found.append(verify_hook())
    if options.check:
        found.append(_semantic_check(graph, request))
    return found


def _semantic_check(graph: Graph, request: Request) -> SemanticCheck:
    """The hook of `options={"check": "each-pass"}`; the trace keeps it for the compiled code."""
    from ..check.aten_callback import aten_callback
    from ..check.session import SemanticCheck

    check = request.trace.check = SemanticCheck(graph.module, aten=aten_callback)
    return check


def check_compiled_graph(call: Run, graph: Graph, request: Request) -> None:
    """Compare compiled code with the imported graph where `check` asks for it; logs what was compared."""
    check = request.trace.check
    if check is None:
        return
    from ..check.native import check_compiled

    compared = check_compiled(call, graph.module, check.baseline, derives=True)
    LOGGER.info("%s kept its meaning (compiled: %d inputs)\n%s", request.kind, compared, check.summary())


def pipeline_of(request: Request) -> Sequence[ModulePass]:
    """The passes that the options ask for, or the target's, told the facts about this machine."""
    assert request.target is not None, "compile.build chooses the target"
    options, target = request.options, request.target
    passes = parse_pipeline(options.pipeline or ",".join(target.pipeline))
    if options.insert:
        from tilewright.passes.insertions import insert_passes

        passes = insert_passes(passes, options.insert)
    if target.facts is None:
        return passes
    return with_facts(passes, code(target.facts)(request.environment.variables))
