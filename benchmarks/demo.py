"""`make demo`: four models, eager against TorchInductor against tilewright, in five minutes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from benchmarks import report
from benchmarks.harness import Job, measure
from benchmarks.machine import describe

MODELS = ("bert", "gpt2", "resnet18", "unet")


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="torch.compile(model, backend=...)", title_justify="left", box=SIMPLE_HEAD, padding=0)
    for heading in report.HEADINGS:
        table.add_column(heading.replace(" ", "\n"), justify="left" if heading == "model" else "right")
    for row in rows:
        table.add_row(*(Text(cell, style=_style(cell)) for cell in report.cells(row, brief=True)))
    return table


def _style(cell: str) -> str:
    if cell.startswith(("NO", "FAILED")):
        return "bold red"
    return "green" if cell == "yes" else ""


def _summary(console: Console, rows: list[dict[str, Any]]) -> None:
    for line in [line for row in rows for line in report.problems(row)]:
        console.print(Text(line, style="bold red"))
    for line in report.means(rows):
        console.print(line)
    if warning := report.disturbance(rows):
        console.print(Text(warning, style="yellow"))
    machine = describe()
    console.print(f"{machine['processor']}; torch {machine['torch']}; {machine['compiler']}")
    console.print(Text(report.NOTE, style="dim"))


def main() -> int:
    """Measure, draw the table as it grows; fail if a result is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--scale", default="bench", choices=("tiny", "bench"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=4.0, help="timing per model")
    parser.add_argument("--json", type=Path, help="write the rows here")
    options = parser.parse_args()

    console = Console()
    console.width = max(console.width, 100)
    rows: list[dict[str, Any]] = []
    with Live(console=console, refresh_per_second=4) as live:

        def tell(what: str) -> None:
            grid = Table.grid()
            grid.add_row(_table(rows))
            grid.add_row(Spinner("dots", text=what))
            live.update(grid)

        for name in options.models.split(","):
            job = Job(name, options.scale, threads=options.threads, seconds=options.seconds)
            rows.append(measure(job, tell))
        live.update(_table(rows))
    _summary(console, rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    good = all(row["backends"]["mlir"].get("verdict", {}).get("ok") for row in rows)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
