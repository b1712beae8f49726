"""`make bench`: every model of the zoo, into benchmarks/results.md and results.json beside it."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.harness import DEMO_BACKENDS, ROOT, Job, measure
from benchmarks.machine import describe

MODELS = (  # as in the zoo
    "bert,gpt2,llama,t5-encoder,vit,resnet18,resnet50,convnext,encoder,encoder-fast-path,lstm,unet,mlp-mixer"
)


def jobs(options: argparse.Namespace) -> list[Job]:
    """The product of the options, one model after another."""
    return [
        Job(
            name,
            options.scale,
            batch,
            dtype,
            threads,
            tuple(options.backends.split(",")),
            options.seconds,
            cold=not options.warm,
        )
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
    for threads, batch in sorted({(row["job"]["threads"], row["job"]["batch"]) for row in rows}):
        chosen = [r for r in rows if (r["job"]["threads"], r["job"]["batch"]) == (threads, batch)]
        title = f"## {threads} thread{'s' if threads > 1 else ''}, batch {batch}"
        parts += [title, "", report.markdown(chosen), ""]
        parts += [f"- {line}" for line in [*report.means(chosen), revisions(chosen)]] + [""]
    return "\n".join(parts)


def revisions(rows: Sequence[dict[str, Any]]) -> str:
    """Which commits the rows were measured at; their cold compiles, where these are older."""
    text = "measured at " + _counted([row["revision"] for row in rows])
    older = [row["cold_revision"] for row in rows if "cold_revision" in row]
    return f"{text}; cold compiles of {_counted(older)}" if older else text


def _counted(revisions: Sequence[str]) -> str:
    return ", ".join(f"{revision} ({count} rows)" for revision, count in Counter(revisions).items())


def keep_cold(row: dict[str, Any], old: dict[str, Any]) -> None:
    """What `old` tells of cold compiles comes to a row that was measured without any."""
    backends = old["backends"]
    kept = {name: backends[name]["cold"] for name in row["backends"] if "cold" in backends.get(name, {})}
    if row["job"]["cold"] or not kept:
        return
    for name, cold in kept.items():
        row["backends"][name]["cold"] = cold
    row["cold_revision"] = old.get("cold_revision", old["revision"])


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one[key] == other[key] for key in ("model", "scale", "batch", "dtype", "threads"))


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
    parser.add_argument("--warm", action="store_true", help="no cold compiles: half the time per row")
    parser.add_argument("--add", action="store_true", help="keep rows of --json not measured now")
    parser.add_argument("--page", type=Path, default=ROOT / "benchmarks" / "results.md")
    parser.add_argument("--json", type=Path, default=ROOT / "benchmarks" / "results.json")
    options = parser.parse_args()

    rows: list[dict[str, Any]] = json.loads(options.json.read_text()) if options.add else []
    revision = describe()["tilewright"].rpartition(" ")[2]
    for job in jobs(options):
        row = measure(job, lambda what: print(what, file=sys.stderr, flush=True))
        row["revision"] = revision
        place = next((i for i, old in enumerate(rows) if _same(old["job"], row["job"])), len(rows))
        for old in rows[place : place + 1]:
            keep_cold(row, old)
        rows[place : place + 1] = [row]
        print(" | ".join(report.cells(row)), flush=True)
        options.json.write_text(json.dumps(rows, indent=1))
        options.page.write_text(document(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
