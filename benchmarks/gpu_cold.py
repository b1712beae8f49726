"""Cold compiles for a GPU, ours against Inductor's, on a machine without one.

    python -m benchmarks.gpu_cold                                          # four models, about 20 minutes
    python -m benchmarks.gpu_cold --models bert --kinds inference --rounds 5 --json build/gpu_cold.json

Both compilers get the same tensors of a GPU that does not exist (benchmarks/fake_cuda.py) and go as far as
they would before the first launch: tracing, lowering, machine code of every kernel for sm_90 (by as many
processes as there are processors), the host's code. Caches are empty, every compile has a process of its own,
the two take turns. Left out are imports of the two compilers, and what Inductor times on a device.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.bytecode import write_bytecode
from benchmarks.kinds import KINDS, kinds_of
from benchmarks.machine import describe
from benchmarks.timing import Spread, geomean

STUB = Path(__file__).parents[1] / "test/gpu_stub/libcuda.c"
BACKENDS = ("mlir", "inductor")
CACHES = ("TILEWRIGHT_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
TIMES = {"seconds": "wall", "cpu": "CPU", "own": "its own CPU"}
"""What a compile takes, and how the table calls it: `own` is what workers take nothing of."""
Case = tuple[str, str, str, str]


def cold(case: Case, backend: str, driver: Path) -> dict[str, float]:
    """Seconds of one compile (`TIMES`), and how many kernels it made."""
    command = [sys.executable, "-m", "benchmarks.gpu_cold_worker", *case, backend]
    with tempfile.TemporaryDirectory() as folder:
        caches = {name: f"{folder}/{name}" for name in CACHES}
        variables = {**os.environ, **caches, "TILEWRIGHT_GPU_STAND_IN": str(driver)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    if done.returncode:
        raise click.ClickException(f"{' '.join(case)} by {backend}: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout.splitlines()[-1])


def measured(case: Case, rounds: int, driver: Path) -> dict[str, Any]:
    """Both compilers in turns: the spread of each number, and of Inductor's over ours, round by round."""
    found: dict[str, list[dict[str, float]]] = {backend: [] for backend in BACKENDS}
    for number in range(rounds):
        for backend in BACKENDS[:: 1 if number % 2 else -1]:
            found[backend].append(cold(case, backend, driver))
    row: dict[str, Any] = {"case": " ".join(case)}
    for name in TIMES:
        ours, theirs = ([each[name] for each in found[backend]] for backend in BACKENDS)
        row[name] = {"mlir": _three(ours), "inductor": _three(theirs)}
        row[name]["ratio"] = _three([a / b for a, b in zip(ours, theirs, strict=True)])
    row["kernels"] = {backend: int(found[backend][0]["kernels"]) for backend in BACKENDS}
    return row


def _three(values: list[float]) -> list[float]:
    spread = Spread.of(values)
    return [round(value, 3) for value in (spread.median, spread.low, spread.high)]


def table(rows: list[dict[str, Any]]) -> Table:
    made = Table(title="Cold compiles: medians and quartiles, seconds; ratios are ours over Inductor's")
    counted = ("kernels", "Inductor's")
    for heading in ("case", *counted, *(h for time in TIMES.values() for h in (time, "Inductor's", "ratio"))):
        made.add_column(heading, justify="left" if heading == "case" else "right")
    for row in rows:
        cells = [str(count) for count in row["kernels"].values()]
        for name in TIMES:
            cells += ["{:.2f} ({:.2f}-{:.2f})".format(*row[name][key]) for key in (*BACKENDS, "ratio")]
        made.add_row(row["case"], *cells)
    return made


@click.command()
@click.option("--models", default="bert,gpt2,resnet50,unet", help="Names of benchmarks/models.py.")
@click.option("--dtypes", default="bf16")
@click.option("--kinds", default=",".join(KINDS), callback=kinds_of, help="Which graphs.")
@click.option("--scale", default="slim", type=click.Choice(["slim", "bench", "tiny"]))
@click.option("--rounds", default=3, type=click.IntRange(1))
@click.option("--json", "output", default=None, type=click.Path(path_type=Path), help="Every row, as JSON.")
def main(
    models: str, dtypes: str, kinds: tuple[str, ...], scale: str, rounds: int, output: Path | None
) -> None:
    """Time cold compiles of both compilers in turns."""
    cases = [(m, d, scale, k) for m in models.split(",") for d in dtypes.split(",") for k in kinds]
    write_bytecode()
    with tempfile.TemporaryDirectory() as folder:
        driver = Path(folder) / "libcuda_stand_in.so"
        compiler = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", str(STUB), "-o", str(driver)]
        subprocess.run(compiler, check=True)
        shown = track(cases, "compiling", console=Console(stderr=True))
        rows = [measured(case, rounds, driver) for case in shown]
    Console(width=200).print(table(rows))
    for name, words in TIMES.items():
        print(f"{words} time, geometric mean: {geomean([row[name]['ratio'][0] for row in rows]):.2f}x")
    if output is not None:
        output.write_text(json.dumps({"machine": describe(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
