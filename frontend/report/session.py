"""Listens to compiles, and writes their pages.

tilewright.report(model, x, path="report.html")
TILEWRIGHT_REPORT=dir python model.py      dir/000-inference.html, one page per compiled function
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import torch
from torch.fx import GraphModule
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.dialects.index_expr import Var
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.passes.manager import PassRun
from tilewright.passes.rewrite import Remark, remarks_to

from ..dynamo_internals import GraphBreak
from ..environment import Environment
from ..fx.graph import Argument, Graph, Part, SizeOf
from ..options import Options
from ..runtime.call import Boxed
from ..runtime.native_code import NativeCode
from ..tools.tool_io import write_text
from ..trace import Record, Trace
from .measure import Measured, measure
from .stages import Place, Stage, code_stage, fx_stage, stage_of
from .work import Work, work_of

LOGGER = logging.getLogger("tilewright.report")


@dataclass
class GraphRecord:
    """What is kept of one graph while it is compiled and called. Implements `trace.Observer`."""

    trace: Trace
    environment: Environment
    cache_folder: Path
    stages: list[Stage] = field(default_factory=list[Stage])
    works: dict[str, Work] = field(default_factory=dict[str, Work])
    schedules: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    remarks: list[Remark] = field(default_factory=list[Remark])
    symbols: dict[Var, int] = field(default_factory=dict[Var, int])
    """Sizes of the call that was measured."""
    measured: Measured | None = None
    not_measured: str = "the graph was never called"
    _written: tuple[int, ...] = ()
    _before: dict[Operation, str] | None = None

    def imported(self, graph: Graph) -> None:
        from ..runtime.gpu_runtime import written_arguments

        inputs = [graph.inputs[i] for i in written_arguments(graph)]
        self._written = tuple(source.index for source in inputs if isinstance(source, Argument))
        self._add(graph.module, "import", self.trace.seconds.get("import"))

    def __call__(self, run: PassRun, module: ModuleOp) -> None:
        self._add(module, run.name, run.seconds)
        for op in module.ops:
            if isinstance(op, FuncOp):
                self._note_kernel(op)

    def _add(self, module: ModuleOp, name: str, seconds: float | None) -> None:
        stage, self._before = stage_of(module, name, seconds, self._before)
        self.stages.append(stage)

    def _note_kernel(self, op: FuncOp) -> None:
        name = op.sym_name.data
        if op.scheduled is None:
            self.works[name] = work_of(op)
        chosen = {key: str(value) for key, value in op.attributes.items() if key.startswith("tk.")}
        if chosen:
            self.schedules.setdefault(name, {}).update(chosen)

    def write(self, name: str, text: str) -> None:
        """What a target emitted (the imported module is known already)."""
        if not name.endswith(".mlir"):
            self.stages.append(code_stage(text, name, self.places()))

    def places(self) -> dict[tuple[str, int], Place]:
        """Every line that a stage names."""
        found = (line.place for stage in self.stages for line in stage.lines)
        return {(place.file, place.line): place for place in found if place is not None}

    # Calls

    def watched(self, call: Boxed, done: Callable[[], None]) -> Boxed:
        """`call`, whose first run is followed by the measurement; then `done`."""

        def first(args: list[Any]) -> Sequence[Any]:
            if not todo:
                return call(args)
            todo.clear()
            kept = self._copies(args)
            results = call(args)
            self._measure(kept)
            done()
            return results

        todo = [True]
        first._boxed_call = True  # pyright: ignore[reportFunctionMemberAccess]
        return first

    def _copies(self, args: Sequence[Any]) -> list[Any]:
        """The arguments as they are before the call: what it writes to is copied."""
        kept = list(args)
        for i in self._written:
            kept[i] = args[i].clone()
        return kept

    def _measure(self, args: Sequence[Any]) -> None:
        graph, code = self.trace.graph, self.trace.code
        if graph is None:
            self.not_measured = "ATen runs the graph"
            return
        self.symbols = {var: _symbol(graph, i, args) for var, i in graph.symbols}
        if not isinstance(code, NativeCode):
            self.not_measured = "only code for CPUs is measured" if graph.has_work else "it computes nothing"
            return
        variables = self.environment.variables
        self.measured = measure(code, graph.boundary, args, self.cache_folder, variables)


def _symbol(graph: Graph, number: int, args: Sequence[Any]) -> int:
    match graph.inputs[number]:
        case Argument(index=index):
            return int(args[index])
        case Part(index=index, sign=sign):
            return max(sign * int(args[index]), 0)
        case SizeOf(index=index, dim=dim):
            return int(args[index].shape[dim])
        case _:
            raise AssertionError("a symbol is an argument or a size")


@dataclass
class ReportRecord(Record):
    """A record that keeps every stage of its graphs, and writes the page when there is news."""

    options: Options = field(default_factory=Options)
    environment: Environment | None = None
    path: Path | None = None
    """Where to write after each graph; None where the caller does."""
    graphs_seen: list[GraphRecord] = field(default_factory=list[GraphRecord])
    captured: list[Stage] = field(default_factory=list[Stage])
    """TorchDynamo's graphs."""
    breaks: tuple[GraphBreak, ...] = ()

    def begin(self, trace: Trace, gm: GraphModule) -> None:
        super().begin(trace, gm)
        assert self.environment is not None
        folder = Path(self.options.cache_dir) if self.options.cache_dir else self.environment.cache
        trace.observer = one = GraphRecord(trace, self.environment, folder)
        one.stages += [*self.captured, fx_stage(gm, f"ATen graph ({trace.kind})")]
        self.captured = []
        self.graphs_seen.append(one)

    def compiling(self, compile_: Callable[[], Boxed]) -> Boxed:
        remarks = list[Remark]()
        known = len(self.graphs_seen)
        try:
            with remarks_to(remarks.append):
                call = compile_()
        finally:
            if len(self.graphs_seen) > known:
                self.graphs_seen[known].remarks = remarks
            self.write()
        return self.graphs_seen[known].watched(call, self.write)

    def write(self) -> None:
        """Write the page to `path`, if there is one."""
        if self.path is not None:
            from .render import page

            write_text(str(self.path), page(self))


def compile_reported(
    gm: GraphModule, inputs: Sequence[Any], options: Options, environment: Environment
) -> Callable[..., Any]:
    """`compile_captured` with a page in the folder that TILEWRIGHT_REPORT names."""
    from ..compile import compile_captured

    assert environment.report is not None
    path = _new_path(environment.report, "training" if torch.is_grad_enabled() else "inference")
    record = ReportRecord(options=options, environment=environment, path=path)
    record.captured.append(fx_stage(gm, "TorchDynamo's graph"))
    LOGGER.warning("the report of this compile is %s", path)
    return compile_captured(gm, inputs, options, environment, record)


def _new_path(folder: Path, label: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in count(sum(1 for _ in folder.iterdir())):
        path = folder / f"{number:03}-{label}.html"
        try:
            path.touch(exist_ok=False)
        except FileExistsError:  # another process was faster
            continue
        return path
    raise AssertionError("count() never ends")


def report(
    function: Callable[..., Any],
    *args: Any,
    path: str | Path = "report.html",
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
    dynamic: bool | None = None,
    **kwargs: Any,
) -> Path:
    """Compile `function` afresh, call it once, time its kernels and write one static HTML page.

    >>> tilewright.report(model, x, path="report.html")
    """
    return report_call(lambda f: f(*args, **kwargs), function, Path(path), options, mode, dynamic)


def report_call(
    call: Callable[[Callable[..., Any]], object],
    function: Callable[..., Any],
    path: Path,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
    dynamic: bool | None = None,
) -> Path:
    """`report`, of whatever `call(compiled function)` does."""
    from ..environment import read_environment
    from ..options import make_options

    record = ReportRecord(options=make_options(options, mode), environment=read_environment())
    record_call(call, function, record, dynamic)
    record.path = path
    record.write()
    return path


def record_call(
    call: Callable[[Callable[..., Any]], object],
    function: Callable[..., Any],
    record: ReportRecord,
    dynamic: bool | None = None,
) -> None:
    """Compile and call, with everything noted in `record`."""
    from ..compile import compile_captured
    from ..dynamo_internals import compiled_apart, recorded_graph_breaks, refusals, untraced

    environment = record.environment
    assert environment is not None

    def backend(gm: GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        record.captured.append(fx_stage(gm, "TorchDynamo's graph"))
        return compile_captured(gm, inputs, record.options, environment, record)

    breaks, refused = len(recorded_graph_breaks()), refusals()
    with compiled_apart(function, backend, dynamic) as compiled:
        call(compiled)
    record.breaks = (*recorded_graph_breaks()[breaks:], *untraced(refused))
