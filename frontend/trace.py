"""What happened while graphs were compiled: filled in by the driver, read by `explain` and tests."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.diagnostics import TilewrightError
from tilewright.passes.manager import PassRun, Timing

from .fx.graph import Graph
from .runtime.code import Code

if TYPE_CHECKING:
    from torch.fx import GraphModule

    from .check.session import SemanticCheck
    from .runtime.call import Boxed


class Observer(Protocol):
    """Somebody who wants to see every form of a graph."""

    def imported(self, graph: Graph) -> None: ...

    def __call__(self, run: PassRun, module: ModuleOp) -> None: ...

    def write(self, name: str, text: str) -> None: ...


@dataclass
class Trace:
    """One graph on its way through the compiler."""

    kind: str
    """`inference`, `forward` or `backward`."""
    graph: Graph | None = None
    """The imported graph; native targets lower its module in place."""
    setup: ModuleOp | None = None
    """`@setup`: what is derived from the parameters, apart from the calls."""
    code: Code | None = None
    """What another process can load; None where the target has nothing to keep."""
    timing: Timing = field(default_factory=Timing)
    """Every pass that ran, with its seconds."""
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """Seconds of the other stages, in their order."""
    check: SemanticCheck | None = None
    """The check of meaning that the options asked for."""
    observer: Observer | None = None
    """Who sees every form of it."""
    by_aten: TilewrightError | None = None
    """Why ATen runs the whole graph; None where it is compiled."""

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Count the time of the block as stage `name`."""
        start = perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - start

    def passes(self) -> dict[str, float]:
        """Seconds of each pass, by name; runs of one pass together."""
        found: dict[str, float] = {}
        for run in self.timing.runs:
            found[run.name] = found.get(run.name, 0.0) + run.seconds
        return found

    def stages(self) -> dict[str, float]:
        """Seconds of each stage; the passes are one."""
        import_, *others = self.seconds.items() if self.seconds else [("import", 0.0)]
        return dict([import_, ("passes", sum(run.seconds for run in self.timing.runs)), *others])


@dataclass
class Record:
    """Every graph of a compile, in the order in which they were compiled."""

    traces: list[Trace] = field(default_factory=list[Trace])

    def begin(self, trace: Trace, gm: GraphModule) -> None:
        """A graph is about to be compiled."""
        self.traces.append(trace)

    def compiling(self, compile_: Callable[[], Boxed]) -> Boxed:
        """Compile one graph."""
        return compile_()

    @property
    def graphs(self) -> list[tuple[str, Graph]]:
        """The kind of each imported graph, and the graph."""
        return [(trace.kind, trace.graph) for trace in self.traces if trace.graph is not None]
