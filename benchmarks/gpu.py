"""Everything that is claimed of the GPU target, measured: `python -m benchmarks.gpu --json results.json`.

One command, under 8 minutes on one GPU. Each section has its share of the time; what was left out
says so, and `--resume` goes on with it. What is timed was compiled beforehand, by several processes at once
(not so the section `cold`). Items run in processes of their own (`gpu_worker.py`): one that
fails, crashes or hangs is a row with an error, and the next ones are measured all the same. The file is
written after each item; a summary is printed at the end. With `--device cpu` all sections run small on
the CPU, which shows that this script works, and nothing else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import torch

from benchmarks.gpu_bench import Row
from benchmarks.gpu_sections import SECTIONS, summary
from benchmarks.gpu_worker import share
from benchmarks.machine import describe

Command = Callable[[Mapping[str, Any], Path], Sequence[str]]
"""(job, file to write lines to) -> the command of a worker."""

LONGEST = 180.0
"""Seconds after which an item counts as hung."""
GRACE = 45.0
"""Seconds that an item may take beyond the end of all time."""
PREPARING = 0.4
"""Of the time of sections, what compiling for them may take."""
PROCESSES = 8
"""That compile at once."""


def worker(job: Mapping[str, Any], lines: Path) -> Sequence[str]:
    """A process that finds modules where this one does."""
    program = f"import sys; sys.path[:] = {sys.path!r}; from benchmarks.gpu_worker import main; main()"
    return [sys.executable, "-c", program, json.dumps(job), str(lines)]


@dataclass
class Results:
    """What was found so far, in a file after each row."""

    path: Path | None = None
    about: Row = field(default_factory=Row)
    sections: dict[str, dict[str, Row]] = field(default_factory=dict[str, dict[str, Row]])

    def add(self, section: str, name: str, row: Row) -> None:
        self.sections.setdefault(section, {})[name] = row
        click.echo(f"{section}: {name}: {json.dumps(row)}")
        self.write()

    def write(self) -> None:
        if self.path is None:
            return
        text = json.dumps({"about": self.about, "summary": summary(self.sections), **self.sections}, indent=1)
        beside = self.path.with_name(f"{self.path.name}.part")
        beside.write_text(text)
        beside.replace(self.path)

    def resume(self) -> None:
        """What an earlier run measured; what it left out is measured now."""
        if self.path is None or not self.path.exists():
            return
        found = json.loads(self.path.read_text())
        for name in SECTIONS:
            rows: dict[str, Row] = found.get(name, {})
            kept = {key: row for key, row in rows.items() if "left out" not in row}
            if kept:
                self.sections[name] = kept


@dataclass
class Part:
    """One process at work, and what is known of it."""

    job: dict[str, Any]
    process: subprocess.Popen[bytes]
    lines: Path
    errors: Path
    read: int = 0
    item: tuple[str, str] | None = None
    """The section and name of what it measures just now."""
    rows: int = 0
    finished: bool = False
    since: float = field(default_factory=time.monotonic)

    def new_lines(self) -> list[dict[str, Any]]:
        """Whole lines that were written since the last look."""
        data = self.lines.read_bytes()[self.read :] if self.lines.exists() else b""
        whole = data[: data.rfind(b"\n") + 1]
        self.read += len(whole)
        return [json.loads(line) for line in whole.splitlines()]

    def said(self) -> str:
        return " ".join(self.errors.read_text(errors="replace").split())[-300:] or "it said nothing"


@dataclass
class Runner:
    """Runs the processes of some sections."""

    results: Results
    sections: Sequence[str]
    device: str
    folder: Path
    deadline: float
    """Of these sections: nothing begins after it."""
    last: float
    """Of everything."""
    command: Command = worker
    longest: float = LONGEST
    prepares: bool = False
    """Whether to fill caches only; what fails is a row then, and is not tried again."""
    _started: int = 0
    _prepared: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def run(self, processes: int) -> None:
        parts = [self._start(part, processes) for part in range(processes)]
        try:
            while parts:
                time.sleep(0.05)
                parts = [now for part in parts if (now := self._watched(part)) is not None]
        finally:
            for part in parts:
                part.process.kill()

    def _start(self, part: int, parts: int) -> Part:
        self._started += 1
        done = {
            name: [*self.results.sections.get(name, ()), *self._prepared.get(name, ())]
            for name in self.sections
        }
        left = max(0.0, self.deadline - time.monotonic())
        job = {"device": self.device, "sections": list(self.sections), "part": part, "parts": parts}
        job |= {"seconds": left, "done": done, "prepares": self.prepares}
        lines, errors = (self.folder / f"{self._started}.{kind}" for kind in ("lines", "errors"))
        with errors.open("wb") as file:
            process = subprocess.Popen(self.command(job, lines), stdout=file, stderr=file)
        return Part(job, process, lines, errors)

    def _watched(self, part: Part) -> Part | None:
        """The process that works on, perhaps another one; None where all is done."""
        status = part.process.poll()
        for line in part.new_lines():
            part.since = time.monotonic()
            self._heard(part, line)
        if part.finished:
            part.process.wait()
            return None
        why = f"the process ended with status {status}: {part.said()}"
        now = time.monotonic()
        if status is None:
            if now - part.since < self.longest and now < self.last + GRACE:
                return part
            part.process.kill()
            part.process.wait()
            why = f"no result after {now - part.since:.0f} s"
        if part.item or not part.rows:
            section, name = part.item or (self.sections[0], f"process {part.job['part']}")
            self.results.add(section, name, {"error": why})
        goes_on = now < self.last + GRACE and (part.item or part.rows)
        return self._start(part.job["part"], part.job["parts"]) if goes_on else None

    def _heard(self, part: Part, line: Mapping[str, Any]) -> None:
        if "begin" in line:
            part.item = line["section"], line["begin"]
        elif "facts" in line:
            self.results.about |= line["facts"]
        elif "finished" in line:
            part.finished = True
        else:
            part.item, part.rows = None, part.rows + 1
            if self.prepares:
                self._prepared.setdefault(line["section"], []).append(line["name"])
            else:
                self.results.add(line["section"], line["name"], line["row"])


@click.command(help=__doc__)
@click.option("--device", default="cuda:0", show_default=True)
@click.option("--seconds", default=450.0, show_default=True, help="Begin nothing after this.")
@click.option("--sections", default=",".join(SECTIONS), show_default=True)
@click.option("--json", "path", type=click.Path(path_type=Path), default=None, help="Where to write results.")
@click.option("--resume", is_flag=True, help="Go on with what --json names: measure what it lacks.")
def main(device: str, seconds: float, sections: str, path: Path | None, resume: bool) -> None:
    on_gpu = torch.device(device).type == "cuda"
    if on_gpu and not torch.cuda.is_available():
        raise click.ClickException("there is no CUDA device; --device cpu only tries out the script")
    names = sections.split(",")
    if unknown := [name for name in names if name not in SECTIONS]:
        raise click.ClickException(f"there is no section {unknown[0]}; there are {', '.join(SECTIONS)}")
    last = time.monotonic() + seconds
    results = Results(path, {**describe(), "device": device})
    if resume:
        results.resume()
    for group in _groups(names):
        now = time.monotonic()
        if now >= last:
            for name in group:
                results.add(name, "everything", {"left out": "no time"})
            continue
        deadline = now + share(names[names.index(group[0]) :], last - now, len(group))
        at_once = max(1, (os.cpu_count() or 1) // 2) if on_gpu else 1
        prepared = [name for name in group if SECTIONS[name].prepared]
        with tempfile.TemporaryDirectory() as folder:
            if prepared and at_once > 1:
                until = now + PREPARING * (deadline - now)
                before = Runner(results, prepared, device, Path(folder), until, last, prepares=True)
                before.run(min(PROCESSES, at_once))
                click.echo(f"compiled in {time.monotonic() - now:.0f} s")
        with tempfile.TemporaryDirectory() as folder:
            runner = Runner(results, group, device, Path(folder), deadline, last)
            runner.run(min(SECTIONS[group[0]].processes, at_once))
    results.write()
    click.echo(json.dumps(summary(results.sections), indent=1))


def _groups(names: Sequence[str]) -> list[list[str]]:
    """Sections in their order; those for one process share it, since it takes a while to start."""
    groups: list[list[str]] = []
    for name in names:
        alone = SECTIONS[name].processes > 1
        if groups and not alone and SECTIONS[groups[-1][0]].processes == 1:
            groups[-1].append(name)
        else:
            groups.append([name])
    return groups


if __name__ == "__main__":
    main()
