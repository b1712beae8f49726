"""`python -m benchmarks.small`: one or a few operations; eager, TorchInductor and tilewright in turns.

Times are CPU seconds of the calling thread (one thread), the least of many rounds: both
say the same on a busy machine as on a quiet one, as far as caches are not shared. What
`torch.compile` itself takes per call is in the numbers.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch._dynamo as dynamo

from benchmarks.small_blocks import blocks
from benchmarks.small_cases import SINGLE, Small
from benchmarks.timing import geomean

FAMILIES: Mapping[str, Callable[[], list[Small]]] = {**SINGLE, "blocks": blocks}

_BATCH_S = 1e-3
"""A round repeats a call for about this long."""


def measure(case: Small, rounds: int, backends: Sequence[str]) -> dict[str, Any]:
    """Microseconds of each contender and whether results agree; plain JSON."""
    inputs = case.tensors()
    eager = case.make()
    calls: dict[str, Callable[[], Any]] = {"eager": lambda: eager(*inputs)}
    errors: dict[str, str] = {}
    dynamo.reset()
    with torch.no_grad():
        for backend in backends:
            try:
                compiled = torch.compile(case.make(), backend=backend, dynamic=False)
                _check(compiled(*inputs), eager(*inputs))
                calls[backend] = lambda run=compiled: run(*inputs)
            except Exception as error:
                errors[backend] = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        return {"case": case.name, "us": _times(calls, rounds), "errors": errors}


def _check(result: Any, expected: Any) -> None:
    """Close, by the size of the largest value: chains of products cancel."""
    pairs = zip(result, expected, strict=True) if isinstance(expected, tuple) else [(result, expected)]
    for one, other in pairs:
        if not other.dtype.is_floating_point:
            torch.testing.assert_close(one, other)
            continue
        slack = 4e-2 if other.dtype == torch.bfloat16 else 1e-4
        largest = other.float().abs().amax().item() if other.numel() else 0.0
        torch.testing.assert_close(one, other, rtol=slack, atol=slack * largest)


def _times(calls: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    repeats = {name: _repeats(call) for name, call in calls.items()}
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            least[name] = min(least[name], _per_call(call, repeats[name]))
    return {name: seconds * 1e6 for name, seconds in least.items()}


def _repeats(call: Callable[[], Any]) -> int:
    for _ in range(3):
        call()
    return max(1, int(_BATCH_S / max(_per_call(call, 1), 1e-7)))


def _per_call(call: Callable[[], Any], repeats: int) -> float:
    began = time.thread_time()
    for _ in range(repeats):
        call()
    return (time.thread_time() - began) / repeats


def ratio(row: Mapping[str, Any], over: str) -> float:
    """How many times as fast as `over`; NaN for what failed."""
    us = row["us"]
    return us[over] / us["mlir"] if over in us and "mlir" in us else float("nan")


def worst(row: Mapping[str, Any]) -> float:
    """Against the better of the others."""
    return min((r for over in ("eager", "inductor") if (r := ratio(row, over)) == r), default=0.0)


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """The table, and what it amounts to."""
    lines = ["| case | eager us | inductor us | mlir us | vs eager | vs inductor |", "| --- |" + " --- |" * 5]
    for row in rows:
        times = [f"{row['us'][n]:.1f}" if n in row["us"] else "failed" for n in ("eager", "inductor", "mlir")]
        ratios = [f"{ratio(row, over):.2f}x" for over in ("eager", "inductor")]
        lines.append("| " + " | ".join([row["case"], *times, *ratios]) + " |")
    for over in ("eager", "inductor"):
        ratios = [r for row in rows if (r := ratio(row, over)) == r]
        lines += ["", f"- mlir against {over}: geometric mean {geomean(ratios):.2f}x of {len(ratios)} cases"]
    slow = [row["case"] for row in rows if worst(row) < 0.9]
    lines += ["", f"- below 0.9 of the better one: {len(slow)} of {len(rows)}"]
    return "\n".join(lines)


def main() -> int:
    """Measure; rows of the JSON file that are not measured now stay."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--match", default="", help="only cases whose name contains this")
    parser.add_argument("--backends", default="inductor,mlir")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", type=Path, help="keep rows here, from run to run")
    parser.add_argument("--page", type=Path, help="write the table into this file")
    options = parser.parse_args()

    torch.set_num_threads(1)
    cases = [case for family in options.families.split(",") for case in FAMILIES[family]()]
    kept = options.json is not None and options.json.exists()
    rows = {row["case"]: row for row in (json.loads(options.json.read_text()) if kept else [])}
    for case in cases:
        if options.match not in case.name:
            continue
        row = measure(case, options.rounds, options.backends.split(","))
        rows[case.name] = row
        print(_line(row), flush=True)
        if options.json is not None:
            options.json.write_text(json.dumps(list(rows.values()), indent=1))
    table = markdown(list(rows.values()))
    print(table, file=sys.stderr)
    if options.page is not None:
        options.page.write_text(table + "\n")
    return 0


def _line(row: Mapping[str, Any]) -> str:
    us = " ".join(f"{name} {taken:.1f}" for name, taken in row["us"].items())
    mark = "   <-- slow" if worst(row) < 0.9 else ""
    return f"{worst(row):.2f}x {row['case']}: {us} {row['errors'] or ''}{mark}"


if __name__ == "__main__":
    raise SystemExit(main())
