"""Measures models, each step in a fresh process, and keeps whatever came out of it.

A compile is cold when its caches are empty: every model gets a cache folder of its own,
which the timing step then reuses. Nothing here imports torch.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.bytecode import write_bytecode

ROOT = Path(__file__).resolve().parent.parent
DEMO_BACKENDS = ("eager", "inductor", "mlir")


@dataclass(frozen=True)
class Job:
    """What to measure."""

    model: str
    scale: str = "bench"
    batch: int = 1
    dtype: str = "f32"
    threads: int = 1
    backends: tuple[str, ...] = DEMO_BACKENDS
    seconds: float = 5.0
    timeout: float = 240.0
    cold: bool = True
    """Whether cold compiles are measured, too."""

    @property
    def title(self) -> str:
        """The model as tables show it."""
        return f"{self.model} {self.dtype} x{self.batch}"


def measure(job: Job, tell: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Cold compile of each backend, then all of them in turns.

    The row is plain JSON; its `backends` maps a name to `cold`, `verdict`,
    `seconds`, `speedup` or, for what failed, `error`.
    """
    write_bytecode()
    rows: dict[str, dict[str, Any]] = {name: {} for name in job.backends}
    with tempfile.TemporaryDirectory(prefix="tilewright-bench-") as caches:
        for name in job.backends:
            if name == "eager" or not job.cold:
                continue
            tell(f"{job.title}: cold compile, {name}")
            rows[name]["cold"] = _work(job, {"task": "cold", "backend": name}, caches)
        healthy = [name for name in job.backends if "error" not in rows[name].get("cold", {})]
        tell(f"{job.title}: timing")
        timed = _work(job, {"task": "time", "backends": healthy}, caches)
        if "error" in timed:  # the process died: time the others, and name the culprit
            timed = _without_mlir(job, healthy, caches, timed["error"])
    for name, row in timed.get("backends", {}).items():
        rows[name].update(row)
    for row in rows.values():
        if "error" in row.get("cold", {}):
            row["error"] = row["cold"]["error"]
    return {
        "title": job.title,
        "job": asdict(job),
        "backends": rows,
        "rounds": timed.get("rounds"),
        "other_cpus": timed.get("other_cpus"),
    }


def _without_mlir(job: Job, names: Sequence[str], caches: str, error: str) -> dict[str, Any]:
    others = [name for name in names if name != "mlir"]
    timed = _work(job, {"task": "time", "backends": others}, caches)
    failed = ["mlir"] if "error" not in timed and "mlir" in names else list(names)
    timed.setdefault("backends", {}).update({name: {"error": error} for name in failed})
    return timed


def _work(job: Job, task: Mapping[str, Any], caches: str) -> dict[str, Any]:
    """Run one task in a fresh process; a crash or a time-out is a result, too."""
    source, target = Path(caches, "job.json"), Path(caches, "result.json")
    source.write_text(json.dumps({**asdict(job), **task}))
    target.unlink(missing_ok=True)
    command = [sys.executable, "-m", "benchmarks.worker", str(source), str(target)]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=_environment(job, caches),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, errors = process.communicate(timeout=job.timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return {"error": f"no result within {job.timeout:.0f} s"}
    if process.returncode == 0 and target.exists():
        return json.loads(target.read_text())
    if process.returncode < 0:
        return {"error": f"crashed: {signal.Signals(-process.returncode).name}"}
    return {"error": (errors.strip().splitlines() or ["no message"])[-1][:300]}


def _environment(job: Job, caches: str) -> dict[str, str]:
    own = {
        "TORCHINDUCTOR_CACHE_DIR": f"{caches}/inductor",
        "TILEWRIGHT_CACHE_DIR": f"{caches}/tilewright",
        "TRITON_CACHE_DIR": f"{caches}/triton",
        "OMP_NUM_THREADS": str(job.threads),
        "TRANSFORMERS_VERBOSITY": "error",
    }
    return {**os.environ, **own}
