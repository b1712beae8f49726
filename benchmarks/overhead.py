"""`python -m benchmarks.overhead`: what a function of three elementwise ops costs before any work.

Cold compiles are CPU seconds, children's included, of fresh processes with empty caches, from
after `import torch` to the first result. Call times are of compiled functions on 8 elements, in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.harness import ROOT
from benchmarks.timing import Spread, interleave, tree_cpu_seconds

BACKENDS = ("inductor", "mlir")


def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Three elementwise ops."""
    return torch.relu(x * y + 1.0)


def cold(backend: str) -> dict[str, float]:
    """CPU seconds of this process so far, and how many of them the backend's import took."""
    before = tree_cpu_seconds()
    if backend == "mlir":
        import tilewright  # noqa: F401  # pyright: ignore[reportUnusedImport]
    imported = tree_cpu_seconds()
    x = torch.randn(8)
    _compiled(backend)(x, x)
    return {"import": imported - before, "all": tree_cpu_seconds() - before}


def _compiled(backend: str) -> Callable[..., Any]:
    return torch.compile(function, backend=backend)  # pyright: ignore[reportUnknownMemberType]


def cold_apart(backend: str) -> dict[str, float]:
    """`cold` in a fresh process with empty caches."""
    with tempfile.TemporaryDirectory(prefix="tilewright-bench-") as caches:
        folders = {name: f"{caches}/{name}" for name in ("TORCHINDUCTOR_CACHE_DIR", "TILEWRIGHT_CACHE_DIR")}
        command = [sys.executable, "-m", "benchmarks.overhead", "--cold", backend]
        environment = {**os.environ, **folders, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def calls(seconds: float) -> dict[str, Spread]:
    """Microseconds of one call of each contender."""
    torch.set_num_threads(1)
    x = torch.randn(8)
    contenders: dict[str, Callable[[], Any]] = {"eager": lambda: function(x, x)}
    for backend in BACKENDS:
        torch.compiler.reset()
        compiled = _compiled(backend)
        compiled(x, x)
        contenders[backend] = lambda run=compiled: run(x, x)
    with torch.no_grad():
        timings = interleave(contenders, seconds)
    return {name: Spread.of([1e6 * s for s in timings.seconds[name]]) for name in contenders}


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cold", choices=BACKENDS, help="one cold compile in this process, as JSON")
    parser.add_argument("--processes", type=int, default=5, help="cold compiles of each")
    parser.add_argument("--seconds", type=float, default=3.0, help="timing of calls")
    options = parser.parse_args()
    if options.cold:
        print(json.dumps(cold(options.cold)))
        return
    found: dict[str, list[dict[str, float]]] = {backend: [] for backend in BACKENDS}
    for _ in range(options.processes):
        for backend in BACKENDS:
            found[backend].append(cold_apart(backend))
    print("| cold compile, CPU s | median | quartiles | of it import |\n| --- | --- | --- | --- |")
    for backend, rows in found.items():
        spread, imports = (Spread.of([row[key] for row in rows]) for key in ("all", "import"))
        print(
            f"| {backend} | {spread.median:.2f} | {spread.low:.2f}-{spread.high:.2f} | {imports.median:.2f} |"
        )
    print("\n| call, us | median | quartiles |\n| --- | --- | --- |")
    for name, spread in calls(options.seconds).items():
        print(f"| {name} | {spread.median:.1f} | {spread.low:.1f}-{spread.high:.1f} |")


if __name__ == "__main__":
    main()
