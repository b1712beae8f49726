"""`tilewright.explain(f, *args)`: what became of each captured graph, and what fell back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .graph import Fallback


@dataclass(frozen=True)
class GraphReport:
    """One compiled graph."""

    kind: str
    """`inference`, `forward` or `backward`."""
    ops: int
    """tw ops that were imported."""
    fallbacks: tuple[Fallback, ...]
    """Operations that run through ATen, with a place and a reason each."""


@dataclass(frozen=True)
class Explanation:
    """All graphs that a call made; `str` of it is for people."""

    graphs: tuple[GraphReport, ...]

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        return tuple(fallback for graph in self.graphs for fallback in graph.fallbacks)

    def __str__(self) -> str:
        lines: list[str] = []
        for number, graph in enumerate(self.graphs):
            count = len(graph.fallbacks)
            lines.append(f"graph {number} ({graph.kind}): {graph.ops} ops, {count} through ATen")
            kinds = Counter((f.code, f.op, f.reason) for f in graph.fallbacks)
            first = {(f.code, f.op, f.reason): f.place for f in reversed(graph.fallbacks)}
            for key, times in kinds.items():
                code, op, reason = key
                lines.append(f"  {code} {op} x{times}, first at {first[key]}: {reason}")
        return "\n".join(lines)


def explain(
    function: Callable[..., Any],
    *args: Any,
    options: dict[str, Any] | None = None,
    mode: str | None = None,
    dynamic: bool | None = None,
    **kwargs: Any,
) -> Explanation:
    """Compile `function` anew, call it once and tell what each graph became.

    A backward graph is reported if the call runs `backward()` or autograd needs it compiled.
    """
    import torch

    from .compile import Record, compile_captured
    from .environment import read_environment
    from .options import make_options

    record = Record()
    chosen = make_options(options, mode)

    def backend(gm: Any, example_inputs: Any) -> Callable[..., Any]:
        return compile_captured(gm, example_inputs, chosen, read_environment(), record)

    torch.compile(function, backend=backend, dynamic=dynamic)(*args, **kwargs)
    return Explanation(tuple(GraphReport(g.kind, g.ops, g.fallbacks) for g in record.graphs))
