"""`make bench`: every model of the zoo, into docs/benchmarks.md and benchmarks/results.json."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.harness import DEMO_BACKENDS, ROOT, Job, measure
from benchmarks.machine import describe

MODELS = (
    "bert,gpt2,llama,t5-encoder,vit,resnet18,resnet50,convnext,encoder,lstm,unet,mlp-mixer"  # as in the zoo
)


def jobs(options: argparse.Namespace) -> list[Job]:
    """The product of the options, one model after another."""
    return [
        Job(name, options.scale, batch, dtype, threads, tuple(options.backends.split(",")), options.seconds)
        for threads in map(int, options.threads.split(","))
        for name in options.models.split(",")
        for dtype in options.dtypes.split(",")
        for batch in map(int, options.batches.split(","))
    ]


def document(rows: Sequence[dict[str, Any]]) -> str:
    """The Markdown page."""
    command = shlex.join(["python", "-m", "benchmarks.run", *sys.argv[1:]])
    parts = ["# Benchmarks", "", f"Made by `{command}`.", ""]
    parts += [f"- {key}: {value}" for key, value in describe().items()]
    parts += ["", report.NOTE, ""]
    if warning := report.disturbance(rows):
        parts += [f"**{warning}**", ""]
    for threads in sorted({row["job"]["threads"] for row in rows}):
        chosen = [row for row in rows if row["job"]["threads"] == threads]
        parts += [f"## {threads} thread{'s' if threads > 1 else ''}", "", report.markdown(chosen), ""]
        parts += [f"- {line}" for line in report.means(chosen)] + [""]
    return "\n".join(parts)


def main() -> int:
    """Measure everything; the files are rewritten after each row, so a stop loses nothing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--scale", default="bench")
    parser.add_argument("--dtypes", default="f32,bf16")
    parser.add_argument("--batches", default="1,8")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--backends", default=",".join(DEMO_BACKENDS))
    parser.add_argument("--seconds", type=float, default=5.0, help="timing per row")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "benchmarks.md")
    parser.add_argument("--json", type=Path, default=ROOT / "benchmarks" / "results.json")
    options = parser.parse_args()

    rows: list[dict[str, Any]] = []
    for job in jobs(options):
        rows.append(measure(job, lambda what: print(what, file=sys.stderr, flush=True)))
        print(" | ".join(report.cells(rows[-1])), flush=True)
        options.json.write_text(json.dumps(rows, indent=1))
        options.page.write_text(document(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
