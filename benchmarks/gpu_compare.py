"""Kernel launches and bytes moved on a GPU, ours against Inductor's, on a machine without one.

    python -m benchmarks.gpu_compare                                     # twelve models, bf16 and f32
    python -m benchmarks.gpu_compare --models bert --dtypes bf16 --json build/gpu_compare.json

Both compilers get the same tensors of a GPU that does not exist (benchmarks/fake_cuda.py), and what they plan
to launch is counted by one rule (benchmarks/gpu_traffic.py). Nothing runs. Inductor's results are
kept under --cache, since they do not change with this project.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.kinds import KINDS, kinds_of
from benchmarks.models import BY_NAME, DTYPES


@dataclass(frozen=True)
class Row:
    """One model, in one type: a graph of ours against one of Inductor's."""

    model: str
    dtype: str
    kind: str
    """`inference`, `forward` (of training) or `backward`."""
    launches: int
    inductor_launches: int
    bytes: int
    inductor_bytes: int

    @property
    def launch_ratio(self) -> float:
        return self.launches / self.inductor_launches

    @property
    def byte_ratio(self) -> float:
        return self.bytes / self.inductor_bytes


def planned(model: str, dtype: str, scale: str, kind: str, backend: str) -> list[dict[str, Any]]:
    """The graphs of one case, with their launches, from a process of its own."""
    command = [sys.executable, "-m", "benchmarks.gpu_compare_worker", model, dtype, scale, kind, backend]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = [line for line in done.stderr.splitlines() if "Error" in line or line.startswith("TW")]
        raise RuntimeError(f"{model} {dtype} {kind} by {backend}: {' '.join(reason[-2:])}")
    return json.loads(done.stdout.splitlines()[-1])


def of_inductor(case: tuple[str, str, str, str], cache: Path) -> list[dict[str, Any]]:
    """`planned`, kept in a file."""
    kept = cache / f"inductor-{torch.__version__}-{'-'.join(case)}.json"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(planned(*case, "inductor")))
    return json.loads(kept.read_text())


def rows_of(case: tuple[str, str, str, str], cache: Path) -> list[Row]:
    """A row per direction; graph breaks make several graphs of one direction, which add up."""
    model, dtype, _, kind = case
    ours, theirs = _totals(planned(*case, "mlir")), _totals(of_inductor(case, cache))
    return [
        Row(
            model,
            dtype,
            direction if kind == "training" else kind,
            ours[direction][0],
            theirs[direction][0],
            ours[direction][1],
            theirs[direction][1],
        )
        for direction in theirs
    ]


def _totals(graphs: Iterable[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """Launches and bytes per direction; what is no backward graph is a forward one."""
    found: dict[str, tuple[int, int]] = {}
    for graph in graphs:
        direction = "backward" if graph["kind"] == "backward" else "forward"
        launches, moved = found.get(direction, (0, 0))
        calls = graph["calls"]
        found[direction] = (launches + len(calls), moved + sum(call["bytes"] for call in calls))
    return found


def geomean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def cells(row: Row) -> list[str]:
    return [
        f"{row.model} {row.dtype}",
        row.kind,
        str(row.launches),
        str(row.inductor_launches),
        f"{row.launch_ratio:.2f}",
        f"{row.bytes / 1e6:.2f}",
        f"{row.inductor_bytes / 1e6:.2f}",
        f"{row.byte_ratio:.2f}",
    ]


HEADINGS = ("model", "graph", "launches", "Inductor's", "ratio", "MB", "Inductor's", "ratio")


def table(rows: Sequence[Row]) -> Table:
    made = Table(title="Launches and bytes moved: ours against Inductor's")
    for heading in HEADINGS:
        made.add_column(heading, justify="left" if heading in ("model", "graph") else "right")
    for row in rows:
        made.add_row(*cells(row))
    return made


def summary(rows: Sequence[Row]) -> str:
    launches, moved = [r.launch_ratio for r in rows], [r.byte_ratio for r in rows]
    return (
        f"launches {geomean(launches):.2f}x (worst {max(launches):.2f}x), bytes {geomean(moved):.2f}x "
        f"(worst {max(moved):.2f}x), geometric means over {len(rows)} graphs; "
        f"{sum(r.byte_ratio > 1.1 for r in rows)} move more than 1.1x, "
        f"{sum(r.launch_ratio > 1 for r in rows)} launch more"
    )


@click.command()
@click.option("--models", default=",".join(BY_NAME), help="Names of benchmarks/models.py.")
@click.option("--dtypes", default=",".join(DTYPES))
@click.option("--kinds", default=",".join(KINDS), callback=kinds_of, help="Which graphs.")
@click.option("--scale", default="slim", type=click.Choice(["slim", "bench", "tiny"]))
@click.option("--cache", default=Path("build/gpu_compare"), type=click.Path(path_type=Path))
@click.option("--json", "output", default=None, type=click.Path(path_type=Path), help="Every row, as JSON.")
@click.option("--markdown", is_flag=True, help="Print the table as docs/gpu-measurements.md has it.")
def main(
    models: str,
    dtypes: str,
    kinds: tuple[str, ...],
    scale: str,
    cache: Path,
    output: Path | None,
    markdown: bool,
) -> None:
    """Count launches and bytes of both compilers; fails where a graph moves more than 1.1x of Inductor's."""
    cases = [(m, d, scale, k) for m in models.split(",") for d in dtypes.split(",") for k in kinds]
    rows: list[Row] = []
    failed: list[str] = []
    for case in track(cases, "compiling", console=Console(stderr=True)):
        try:
            rows += rows_of(case, cache)
        except RuntimeError as error:
            failed.append(str(error))
    if markdown:
        for line in (HEADINGS, ["---"] * len(HEADINGS), *map(cells, rows)):
            print(f"| {' | '.join(line)} |")
    else:
        Console(width=120).print(table(rows))
    print("\n".join([summary(rows), *(f"FAILED: {line}" for line in failed)]))
    if output is not None:
        output.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    sys.exit(bool(failed) or any(row.byte_ratio > 1.1 for row in rows))


if __name__ == "__main__":
    main()
