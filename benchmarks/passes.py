"""How the time of each pass grows: `python -m benchmarks.passes --write docs/pass-speed.md`.

CPU seconds of this process (garbage collector off, as in a compile), over graphs of 1k, 4k and 16k
ops, and the exponent that fits them: 1 is linear. Below a millisecond there is nothing to fit.
"""

from __future__ import annotations

import argparse
import gc
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import linear_regression
from time import process_time
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from benchmarks.graphs import GRAPHS
from tilewright.dialects.parser import ModuleParser
from tilewright.dialects.registry import new_context
from tilewright.passes.manager import PassRun, module_text, parse_pipeline, run_pipeline, verify_module
from tilewright.passes.pipeline import pipeline_text
from tilewright.targets.cpu_openmp.emit import emit_cpp

SIZES = (1000, 4000, 16000)
NOISE = 0.02
"""Seconds at the largest size below which an exponent says nothing."""

Seconds = dict[str, float]


def measure(graph: str, count: int) -> Seconds:
    """CPU seconds of every step from text to C++; passes that run twice are added up."""
    seconds: Seconds = {}

    def timed(name: str, step: Callable[[], Any]) -> Any:
        start = process_time()
        result = step()
        seconds[name] = seconds.get(name, 0.0) + process_time() - start
        return result

    text, context = GRAPHS[graph](count), new_context()
    module: ModuleOp = timed("(parse)", lambda: ModuleParser(context, text, graph).parse_module())
    timed("(verify)", lambda: verify_module(module))
    timed("(print)", lambda: module_text(module))
    last = process_time()

    def hook(run: PassRun, module: ModuleOp) -> None:
        nonlocal last
        now = process_time()
        seconds[run.name] = seconds.get(run.name, 0.0) + now - last
        last = now

    run_pipeline(context, module, parse_pipeline(pipeline_text("cpu")), hooks=[hook])
    timed("(emit C++)", lambda: emit_cpp(module))
    return seconds


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float | None:
    """The slope of the line through the logarithms; None where the times are noise."""
    if seconds[-1] < NOISE:
        return None
    logs = [math.log(max(s, 1e-4)) for s in seconds]
    return linear_regression([math.log(n) for n in sizes], logs).slope


def table(found: Mapping[int, Seconds]) -> list[str]:
    """Markdown, slowest step first."""
    sizes = sorted(found)
    head = ["step", *(f"{n // 1000}k ops, s" for n in sizes), "exponent"]
    lines = [f"| {' | '.join(head)} |", "| --- |" + " ---: |" * (len(head) - 1)]
    for name in sorted(found[sizes[-1]], key=lambda name: -found[sizes[-1]][name]):
        times = [found[n][name] for n in sizes]
        slope = exponent(sizes, times)
        cells = [name, *(f"{s:.3f}" for s in times), "-" if slope is None else f"{slope:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    total = [sum(found[n].values()) for n in sizes]
    cells = ["total", *(f"{s:.2f}" for s in total), f"{exponent(sizes, total) or 0:.2f}"]
    return [*lines, f"| {' | '.join(cells)} |"]


def report(graphs: Sequence[str], sizes: Sequence[int]) -> str:
    """One table per graph."""
    measure(graphs[0], 200)  # imports and caches that every later run has
    lines = ["# How passes scale", "", "Made by `python -m benchmarks.passes`; CPU seconds on one core.", ""]
    for graph in graphs:
        note = (GRAPHS[graph].__doc__ or "").strip()
        lines += [f"## {graph}", "", note, "", *table({n: measure(graph, n) for n in sizes}), ""]
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=list(GRAPHS), help=f"some of {', '.join(GRAPHS)}")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="numbers of ops")
    parser.add_argument("--write", type=Path, help="where to write the page")
    args = parser.parse_args()
    gc.disable()
    text = report(args.graphs, args.sizes)
    print(text)
    if args.write is not None:
        args.write.write_text(text)


if __name__ == "__main__":
    main()
