"""Runs the passes of a target over an imported graph; what every target's build begins with."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilewright.dialects.registry import new_context
from tilewright.passes.manager import (
    Dump,
    Fact,
    Hook,
    module_text,
    parse_pipeline,
    run_pipeline,
    verify_hook,
    with_facts,
)
from tilewright.passes.rewrite import counting_rewrites, without_remarks
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


Tune = Callable[[ModuleOp, Sequence[ModulePass]], None]
"""Puts the best of candidates in the place of what would be taken; these passes follow `schedule-gpu`."""
_WITH_CANDIDATES: Mapping[str, Fact] = {"candidates": True}


@dataclass
class Lowered:
    """A graph whose module goes through the passes, in place."""

    graph: Graph
    request: Request
    sinks: tuple[Dump | Observer, ...]
    """Who wants the emitted text."""
    hooks: Sequence[Hook]
    context: Context = field(default_factory=new_context)
    setup: ModuleOp | None = None
    """The module of `@setup`: what is derived from frozen parameters, if anything is."""
    schedules: Sequence[ModulePass] = ()
    """`schedule-gpu` and what comes after it: nothing where a target has other passes."""
    unscheduled: ModuleOp | None = None
    """A copy of the module before these."""
    ran: int = 0
    """How many passes did."""

    def write(self, name: str, text: str) -> None:
        """Hand on what the target emitted."""
        for sink in self.sinks:
            sink.write(name, text)

    def run(self, passes: Sequence[ModulePass]) -> None:
        """Run the next passes."""
        run_pipeline(self.context, self.graph.module, passes, hooks=self.hooks, first=self.ran + 1)
        self.ran += len(passes)

    def schedule(self) -> None:
        """Run the passes that schedule."""
        self.run(self.schedules)

    def schedule_tuned(self, tune: Tune) -> None:
        """As `schedule`; `tune` has its turn after the first pass."""
        self.run(with_facts(self.schedules[:1], _WITH_CANDIDATES))
        self.choose(tune)
        self.run(self.schedules[1:])

    def keep_unscheduled(self) -> None:
        """Let `schedule_again` follow `schedule`, which comes next."""
        self.unscheduled = self.graph.module.clone() if self.schedules else None

    def schedule_again(self, tune: Tune) -> None:
        """As `schedule_tuned`, of what was kept: no passes are heard, and no rewrites counted, a second time.

        The numbers of a dump go on.
        """
        assert self.unscheduled is not None, "keep it first"
        body = self.graph.module.body
        body.detach_block(body.block)
        body.add_block(self.unscheduled.body.detach_block(0))
        with counting_rewrites(), without_remarks():
            self.run(with_facts(self.schedules[:1], _WITH_CANDIDATES))
        self.choose(tune)
        with counting_rewrites(), without_remarks():
            self.run(self.schedules[1:])

    def choose(self, tune: Tune) -> None:
        """Let `tune` change the module, and dump that."""
        with self.request.trace.stage("autotune"):
            tune(self.graph.module, self.schedules[1:])
        if self.sinks:
            self.write(f"{self.ran:02}-autotuned.mlir", module_text(self.graph.module))


def lower(graph: Graph, request: Request) -> Lowered:
    """Run the pipeline of the request's target on the graph's module."""
    lowered = lower_unscheduled(graph, request)
    lowered.schedule()
    return lowered


def lower_unscheduled(graph: Graph, request: Request, *, candidates: bool = False) -> Lowered:
    """Run the passes before `schedule-gpu`, all where there is none.

    `candidates` says that `schedule_tuned` follows: the dump begins with the whole pipeline.
    """
    passes = pipeline_of(request)
    if candidates:
        passes = with_facts(passes, _WITH_CANDIDATES)
    dump = open_dump(request.dump_folder, request.kind)
    observer = request.trace.observer
    if dump is not None:
        write_import(dump, graph.module, passes)
    if observer is not None:
        observer.imported(graph)
    sinks = tuple(sink for sink in (dump, observer) if sink is not None)
    lowered = Lowered(graph, request, sinks, [request.trace.timing, *sinks, *_checks(graph, request)])
    end = end_of_setup(passes)
    lowered.run(passes[:end])
    lowered.setup = request.trace.setup = take_setup(graph.module)
    if dump is not None and lowered.setup is not None:
        dump.write("setup.mlir", module_text(lowered.setup))
    begin = next((i for i, p in enumerate(passes) if p.name == "schedule-gpu"), len(passes))
    lowered.run(passes[end:begin])
    lowered.schedules = passes[begin:]
    return lowered


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
