"""One measurement in a process of its own: `python -m benchmarks.worker JOB.json RESULT.json`.

A job either compiles one backend from cold (`task: cold`), or runs several backends in
turns (`task: time`). A backend that raises is reported as such and leaves the others alone.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch._dynamo as dynamo
from torch._dynamo.utils import counters

from benchmarks import numerics
from benchmarks.models import BY_NAME, Case, load
from benchmarks.timing import interleave, tree_cpu_seconds

# How each contender is compiled; None is eager.
BACKENDS: Mapping[str, Mapping[str, Any] | None] = {
    "eager": None,
    "aot_eager": {"backend": "aot_eager"},
    "inductor": {"backend": "inductor"},
    "inductor-freezing": {"backend": "inductor", "options": {"freezing": True}},
    "mlir": {"backend": "mlir"},
}


def run_job(job: Mapping[str, Any]) -> dict[str, Any]:
    """Do what a job asks for; the result is plain JSON."""
    torch.set_num_threads(job["threads"])
    case = load(job["model"], job["scale"], job["batch"], job["dtype"])
    task = {"cold": cold, "time": compare}[job["task"]]
    with torch.no_grad(), dynamo.config.patch(dict(BY_NAME[job["model"]].dynamo)):
        return task(case, job)


def cold(case: Case, job: Mapping[str, Any]) -> dict[str, Any]:
    """Seconds from `torch.compile` to the first result; the caller has emptied the caches."""
    case.model(*case.inputs)  # what eager initialises once is nobody's compile time
    counters.clear()
    cpu, began = tree_cpu_seconds(), time.perf_counter()
    try:
        compiled = _compiled(case, job["backend"])
        compiled(*case.inputs)
    except Exception as error:
        return {"error": _one_line(error)}
    wall, cpu = time.perf_counter() - began, tree_cpu_seconds() - cpu
    told = facts(job["backend"])
    if job["backend"] == "mlir":
        told.update(_explained(case))
    return {"wall_s": wall, "cpu_s": cpu, "facts": told}


def compare(case: Case, job: Mapping[str, Any]) -> dict[str, Any]:
    """Correctness and time of each backend, the latter in turns."""
    truth = numerics.run_float64(case.model, case.inputs)
    eager = case.model(*case.inputs)
    rows: dict[str, dict[str, Any]] = {}
    calls: dict[str, Callable[[], Any]] = {}
    for name in job["backends"]:
        try:
            run = _compiled(case, name)
            result = run(*case.inputs)
        except Exception as error:
            rows[name] = {"error": _one_line(error)}
            continue
        rows[name] = {"verdict": asdict(numerics.judge(result, eager, truth))}
        calls[name] = lambda run=run: run(*case.inputs)
    timings = interleave(calls, job["seconds"])
    for name in calls:
        rows[name]["seconds"] = asdict(timings.spread(name))
        rows[name]["speedup"] = {over: asdict(timings.speedup(name, over)) for over in calls}
    return {"backends": rows, "rounds": timings.rounds, "other_cpus": timings.others}


def _compiled(case: Case, backend: str) -> Callable[..., Any]:
    arguments = BACKENDS[backend]
    if arguments is None:
        return case.model
    return torch.compile(case.model, **arguments)


def facts(backend: str) -> dict[str, int | None]:
    """What the compile just done amounts to; None where the backend does not tell."""
    found: dict[str, int | None] = {
        "graphs": counters["stats"]["unique_graphs"],
        "graph_breaks": sum(counters["graph_break"].values()),
        "kernels": None,
        "library_calls": None,
        "fallbacks": None,
    }
    if backend.startswith("inductor"):
        from torch._inductor import metrics

        found["kernels"] = metrics.generated_kernel_count
        found["library_calls"] = counters["inductor"]["extern_calls"]
    return found


def _explained(case: Case) -> dict[str, int]:
    """tilewright's own account of what became of the model; a dash in the table without one."""
    from tilewright.frontend.explain import explain

    try:
        found = explain(case.model, *case.inputs)
    except Exception as error:
        print(f"explain: {_one_line(error)}", file=sys.stderr)
        return {}
    return {
        "kernels": found.kernels,
        "library_calls": found.library_calls,
        "fallbacks": found.fallbacks,
    }


def _one_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"[:300]


def main() -> None:
    """Read the job, write the result."""
    source, target = sys.argv[1:]
    Path(target).write_text(json.dumps(run_job(json.loads(Path(source).read_text()))))


if __name__ == "__main__":
    main()
