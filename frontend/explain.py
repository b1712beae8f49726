"""`tilewright.explain(f, *args)`: what a compile did, what it left to ATen, how long it took, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.passes.rewrite import Remark, remarks_to

from .dynamo_internals import GraphBreak
from .explain_graph import GraphReport, counted, report_of
from .fx.locations import readable_places
from .trace import Trace


@dataclass(frozen=True)
class Explanation:
    """What `explain` found; printing it gives the report."""

    result: Any
    """What the call returned."""
    graphs: tuple[GraphReport, ...]
    """Every graph that was compiled, in order."""
    graph_breaks: tuple[GraphBreak, ...]
    """Where and why TorchDynamo split the function."""
    untraced: tuple[GraphBreak, ...]
    """What it met that it traces in no way; where splitting does not help, Python runs the whole function."""
    remarks: tuple[Remark, ...]
    """Why patterns left ops alone (missed fusions among them), in the order of the passes."""
    seconds: Mapping[str, float]
    """Seconds in TorchDynamo, in AOTAutograd and in our own stages, all graphs together."""

    @property
    def kernels(self) -> int:
        """Distinct kernels of all graphs."""
        return sum(len(graph.kernels) for graph in self.graphs)

    @property
    def library_calls(self) -> int:
        """Calls of ATen operators of all graphs, fall-backs included."""
        return sum(sum(graph.library_calls.values()) for graph in self.graphs)

    @property
    def fallbacks(self) -> int:
        """Operations for which ATen stands in."""
        return sum(len(graph.fallbacks) for graph in self.graphs)

    def __str__(self) -> str:
        total = sum(self.seconds.values())
        stages = ", ".join(f"{name} {seconds:.3f}" for name, seconds in self.seconds.items())
        lines = [
            f"{counted(len(self.graphs), 'graph')}, {counted(len(self.graph_breaks), 'graph break')}, "
            f"{counted(self.kernels, 'kernel')}, {counted(self.library_calls, 'library call')}, "
            f"{counted(self.fallbacks, 'fall-back')}",
            f"compiled in {total:.3f} s: {stages}",
        ]
        lines += [f"graph {i}, {graph}" for i, graph in enumerate(self.graphs)]
        lines += [str(graph_break) for graph_break in (*self.graph_breaks, *self.untraced)]
        remarks = Counter(readable_places(str(remark)) for remark in self.remarks)
        lines += [f"remark ({count}x): {text}" for text, count in remarks.items()]
        return "\n".join(lines)


def explain(
    function: Callable[..., Any],
    *args: Any,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
    dynamic: bool | None = None,
    **kwargs: Any,
) -> Explanation:
    """Compile `function` afresh, call it once, and report.

    >>> print(tilewright.explain(model, x, options={"target": "cpu_openmp"}))
    """
    import torch

    from .compile import compile_captured
    from .dynamo_internals import (
        compile_seconds,
        compiled_apart,
        recorded_graph_breaks,
        refusals,
        untraced,
    )
    from .environment import read_environment
    from .options import make_options
    from .trace import Record

    record, remarks = Record(), list[Remark]()
    chosen, environment = make_options(options, mode), read_environment()

    def backend(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        return compile_captured(gm, inputs, chosen, environment, record)

    breaks, refused, before = len(recorded_graph_breaks()), refusals(), compile_seconds()
    with remarks_to(remarks.append), compiled_apart(function, backend, dynamic) as compiled:
        result = compiled(*args, **kwargs)
    ours = _stages(record.traces)
    frames, backends = (after - start for after, start in zip(compile_seconds(), before, strict=True))
    return Explanation(
        result=result,
        graphs=tuple(report_of(trace) for trace in record.traces),
        graph_breaks=tuple(recorded_graph_breaks()[breaks:]),
        untraced=tuple(untraced(refused)),
        remarks=tuple(remarks),
        seconds={
            "dynamo": max(frames - backends, 0.0),
            "aot": max(backends - sum(ours.values()), 0.0),
            **ours,
        },
    )


def _stages(traces: Sequence[Trace]) -> dict[str, float]:
    """Our own seconds, summed over the graphs."""
    found: dict[str, float] = {}
    for trace in traces:
        for name, seconds in trace.stages().items():
            found[name] = found.get(name, 0.0) + seconds
    return found
