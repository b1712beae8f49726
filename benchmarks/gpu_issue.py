"""Which kernels issue instructions for longer than they move bytes: told from machine code, without a GPU.

    python -m benchmarks.gpu_issue --models resnet18,unet --dtypes bf16 --kinds training
    python -m benchmarks.gpu_issue --models bert --dtypes f32 --target sm_80 --above 2

Counted are the instructions of each kernel's cubin (nvdisasm), loops as often as the Triton text says, for
all warps of all programs; a multiprocessor issues four in a cycle at best. Beside it stands the time that
the kernel's bytes take (benchmarks/gpu_traffic.py) at the full rate of the memory. Both are for the device
of `Device` at its best, and overlap: where the first is longer, memory is not what the kernel waits for.
Where it is shorter, nothing is proven: instructions that depend on each other, dear ones (`exp2`, division),
and too few programs come on top.

Of a group of kernels, which are branches of one, all parts count alike. Loops whose length is no number in
the text count once.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import prod
from pathlib import Path

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table
from xdsl.dialects.builtin import ModuleOp

from benchmarks.gpu_static import compile_missing, job_of, lowering_for, modules_of, texts_of, unit_of
from benchmarks.gpu_traffic import calls_of
from benchmarks.kinds import KINDS, kinds_of
from benchmarks.models import BY_NAME, DTYPES
from tilewright.targets.gpu_triton.compiler import compile_job


@dataclass(frozen=True)
class Device:
    """What an H100 does at best: instructions of warps, and bytes, in a microsecond."""

    issues: float = 132 * 4 * 1.7e3
    moved: float = 3.35e6


@dataclass(frozen=True)
class Row:
    """One kernel of a graph; times in microseconds, of one launch."""

    model: str
    kernel: str
    launches: int
    programs: int
    warps: int
    instructions: int
    issue: float
    memory: float

    @property
    def lost(self) -> float:
        """Microseconds by which all launches issue longer than they move bytes."""
        return self.launches * max(0.0, self.issue - self.memory)


def instructions_run(assembly: str, trips: Sequence[int]) -> int:
    """How many instructions a warp runs of what `nvdisasm -c` prints.

    `trips` are those of the text's loops, in its order. Machine code has more loops where it waits: the
    longest ones are the text's. What stands in two of them counts for both.
    """
    code, labels = _instructions(assembly)
    found = sorted(_loops(code, labels), key=len, reverse=True)[: len(trips)]
    times = [1] * len(code)
    for body, trip in zip(sorted(found, key=min), trips, strict=False):
        for at in body:
            times[at] *= trip
    return sum(n for n, line in zip(times, code, strict=True) if not line.startswith("NOP"))


def _loops(code: Sequence[str], labels: Mapping[str, int]) -> list[set[int]]:
    """What runs between a place and a jump back to it that only leads there through it.

    Not so what waits for memory beside the straight way: it stands behind the end and jumps back.
    """
    after = [_next(at, line, labels, len(code)) for at, line in enumerate(code)]
    before: list[list[int]] = [[] for _ in code]
    for at, targets in enumerate(after):
        for target in targets:
            before[target].append(at)
    jumps = [(at, to) for at, targets in enumerate(after) for to in targets if to <= at]
    reached = _reached(0, after)
    return [
        _reached(at, before, without=to) | {to}
        for at, to in jumps
        if at in reached and (to == 0 or at not in _reached(0, after, without=to))
    ]


def _next(at: int, line: str, labels: Mapping[str, int], end: int) -> list[int]:
    """The instructions that may run after one: a jump with a condition, of lanes or of the warp, may not."""
    jump = [labels[name]] if (name := _target(line)) in labels else []
    always = re.match(r"(BRA|EXIT|RET)\b(?!.*\bU?P\d)", line) is not None
    return jump if always or at + 1 == end else [*jump, at + 1]


def _reached(start: int, steps: Sequence[Sequence[int]], without: int = -1) -> set[int]:
    """All that steps lead to from `start`, and it, around one place."""
    found, todo = {start, without}, [start]
    while todo:
        new = [at for at in steps[todo.pop()] if at not in found]
        found.update(new)
        todo += new
    return found - {without}


def _instructions(assembly: str) -> tuple[list[str], dict[str, int]]:
    code: list[str] = []
    labels: dict[str, int] = {}
    for line in assembly.splitlines():
        if label := re.match(r"\s*(\.L_x_\d+):", line):
            labels[label[1]] = len(code)
        elif found := re.search(r"/\*[0-9a-f]{4,}\*/\s+(.*?);", line):
            code.append(found[1].strip())
    return code, labels


def _target(line: str) -> str:
    found = re.search(r"\bBRA\b.*`\((\.L_x_\d+)\)", line)
    return found[1] if found else ""


def trips_of(text: str) -> list[int]:
    """How often the loops of a kernel run whose bounds are numbers, in the order of the text."""
    bounds = re.findall(r"for \w+ in range\((\d+), (\d+), (\d+)\)", text)
    return [-(-(int(stop) - int(start)) // int(step)) for start, stop, step in bounds]


def _disassembled(image: bytes) -> str:
    tool = Path(str(files("triton"))) / "backends/nvidia/bin/nvdisasm"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(image)
        file.flush()
        return subprocess.run([tool, "-c", file.name], capture_output=True, text=True, check=True).stdout


def rows_of(title: str, module: ModuleOp, target: str, cache: Path, workers: int) -> list[Row]:
    """The kernels that a planned module launches."""
    device, unit = Device(), unit_of(module, target)
    compile_missing([job_of(unit, kernel, target) for kernel in unit.kernels], cache, workers)
    calls = [(call.name.split()[0], call.bytes) for call in calls_of(module) if not call.library]
    names = [name for name, _ in calls]
    rows: list[Row] = []
    for kernel in unit.kernels:
        binary = compile_job(job_of(unit, kernel, target), cache)
        *parts, own = texts_of(unit, kernel)
        parts = parts or [own]
        trips = [trip for part in parts for trip in trips_of(part)]
        run = instructions_run(_disassembled(binary.image), trips) / len(parts)
        programs = prod(int(size.evaluate({})) for size in kernel.grid)
        moved = max((number for name, number in calls if name == kernel.name), default=0)
        issue, memory = run * binary.warps * programs / device.issues, moved / device.moved
        launches = names.count(kernel.name)
        rows.append(Row(title, kernel.name, launches, programs, binary.warps, round(run), issue, memory))
    return rows


def _table(rows: Sequence[Row], above: float) -> Table:
    made = Table(title="Issue and memory, lower bounds in microseconds")
    for heading in (
        "model",
        "kernel",
        "launches",
        "programs",
        "warps",
        "instructions",
        "issue",
        "memory",
        "lost",
    ):
        made.add_column(heading, justify="left" if heading in ("model", "kernel") else "right")
    for row in sorted(rows, key=lambda row: -row.lost):
        if row.issue > above * row.memory:
            counts = map(str, (row.launches, row.programs, row.warps, row.instructions))
            times = (f"{time:.1f}" for time in (row.issue, row.memory, row.lost))
            made.add_row(row.model, row.kernel, *counts, *times)
    return made


@click.command()
@click.option("--models", default=",".join(BY_NAME), help="Names of benchmarks/models.py.")
@click.option("--dtypes", default=",".join(DTYPES))
@click.option("--kinds", default=",".join(KINDS), callback=kinds_of, help="Which graphs.")
@click.option("--scale", default="slim", type=click.Choice(["slim", "bench", "tiny"]))
@click.option("--target", default="sm_90", help="An NVIDIA row of targets/gpu_triton/architectures.py.")
@click.option("--above", default=1.0, show_default=True, help="Show kernels whose ratio is above.")
@click.option("--workers", default=2, help="Processes that compile.")
@click.option("--cache", default=Path("build/gpu_static"), type=click.Path(path_type=Path))
def main(
    models: str,
    dtypes: str,
    kinds: tuple[str, ...],
    scale: str,
    target: str,
    above: float,
    workers: int,
    cache: Path,
) -> None:
    """Compare what kernels issue with what they move, and print those that issue longer."""
    cases = [(m, d, k) for m in models.split(",") for d in dtypes.split(",") for k in kinds]
    rows: list[Row] = []
    for model, dtype, kind in track(cases, "cases", console=Console(stderr=True)):
        for module in modules_of(model, dtype, scale, kind == "training", lowering_for(target)):
            rows += rows_of(f"{model} {dtype} {kind}", module, target, cache, workers)
    console = Console(width=160)
    console.print(_table(rows, above))
    for title in dict.fromkeys(row.model for row in rows):
        own = [row for row in rows if row.model == title]
        memory, lost = sum(row.launches * row.memory for row in own), sum(row.lost for row in own)
        console.print(f"{title}: {memory:.0f} us of memory, {lost:.0f} us lost")


if __name__ == "__main__":
    main()
