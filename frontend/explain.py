"""`tilewright.explain(f, *args)`: what a compile did, what it left to ATen, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from tilewright.passes.rewrite import Remark, remarks_to

from .graph import Fallback, Graph


@dataclass(frozen=True)
class GraphReport:
    """One compiled graph."""

    kind: str
    """`inference`, `forward` or `backward`."""
    operations: Mapping[str, int]
    """How many of each op the compiled module holds, by name."""
    fallbacks: tuple[Fallback, ...]
    """Operations that run through ATen, each with its reason and its place in the model."""

    def __str__(self) -> str:
        kernels, launches = self.operations.get("tk.func", 0), self.operations.get("th.launch", 0)
        library = sum(self.operations.get(name, 0) for name in ("th.extern", "th.call"))
        lines = [f"{self.kind}: {kernels} kernels, {launches} launches, {library} library calls"]
        lines += [f"  {fallback}" for fallback in self.fallbacks]
        return "\n".join(lines)


@dataclass(frozen=True)
class Explanation:
    """What `explain` found; printing it gives the report."""

    result: Any
    """What the call returned."""
    graphs: tuple[GraphReport, ...]
    graph_breaks: Mapping[str, int]
    """Why TorchDynamo split the function, and how often."""
    remarks: tuple[Remark, ...]
    """Why patterns left ops alone, in the order of the passes."""

    def __str__(self) -> str:
        lines = [f"{len(self.graphs)} graphs"]
        lines += [f"{i}. {graph}" for i, graph in enumerate(self.graphs)]
        lines += [f"graph break ({count}x): {reason}" for reason, count in self.graph_breaks.items()]
        lines += [f"remark ({count}x): {text}" for text, count in Counter(map(str, self.remarks)).items()]
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
    from torch._dynamo.utils import counters

    from .compile import Record, compile_captured
    from .environment import read_environment
    from .options import make_options

    record, remarks = Record(), list[Remark]()
    chosen, environment = make_options(options, mode), read_environment()

    def backend(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        return compile_captured(gm, inputs, chosen, environment, record)

    breaks_before = dict(counters["graph_break"])
    with remarks_to(remarks.append):
        compiled: Callable[..., Any] = torch.compile(  # pyright: ignore[reportUnknownMemberType]
            function, backend=backend, dynamic=dynamic
        )
        result = compiled(*args, **kwargs)
    breaks = Counter(counters["graph_break"])
    breaks.subtract(breaks_before)
    return Explanation(
        result=result,
        graphs=tuple(_report(kind, graph) for kind, graph in record.graphs),
        graph_breaks={reason: count for reason, count in breaks.items() if count > 0},
        remarks=tuple(remarks),
    )


def _report(kind: str, graph: Graph) -> GraphReport:
    return GraphReport(kind, _operations(graph.module), graph.fallbacks)


def _operations(module: ModuleOp) -> dict[str, int]:
    counts = Counter(op.name for op in module.walk() if op is not module)
    return dict(sorted(counts.items()))
