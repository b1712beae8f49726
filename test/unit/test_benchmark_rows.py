"""`python -m benchmarks.run`: what of the rows that are there stays when some are measured anew."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from benchmarks import run
from benchmarks.harness import Job


def measure(job: Job, seconds: float) -> dict[str, Any]:
    """A row as `harness.measure` makes it, of a backend that took so long for everything."""
    spread = {"median": seconds, "low": seconds, "high": seconds}
    backends: dict[str, dict[str, Any]] = {name: {"seconds": spread} for name in job.backends}
    if job.cold:
        for name in set(job.backends) - {"eager"}:
            backends[name]["cold"] = {"wall_s": seconds, "cpu_s": seconds, "facts": {"kernels": 3}}
    return {"title": job.title, "job": asdict(job), "backends": backends, "other_cpus": 0.0}


class Runs:
    """Runs of the command at one revision after another."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch, self.json, self.page = monkeypatch, folder / "rows.json", folder / "page.md"

    def __call__(self, revision: str, seconds: float, *how: str) -> list[dict[str, Any]]:
        """The rows that it leaves."""

        def measured(job: Job, tell: object) -> dict[str, Any]:
            return measure(job, seconds)

        command = ["run", "--dtypes", "f32", "--batches", "1", "--json", str(self.json)]
        self.monkeypatch.setattr(sys, "argv", [*command, "--page", str(self.page), *how])
        self.monkeypatch.setattr(run, "describe", lambda: {"tilewright": f"at {revision}"})
        self.monkeypatch.setattr(run, "measure", measured)
        assert run.main() == 0
        return json.loads(self.json.read_text())


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    return Runs(tmp_path, monkeypatch)


def test_cold_compiles_stay_where_none_is_measured(runs: Runs) -> None:
    runs("r1", 1.0, "--models", "bert,lstm")
    runs("r2", 2.0, "--models", "bert", "--add", "--warm")
    bert, lstm = runs("r3", 3.0, "--models", "bert", "--add", "--warm")
    assert bert["backends"]["mlir"]["cold"]["wall_s"] == 1.0
    assert bert["backends"]["mlir"]["seconds"]["median"] == 3.0
    assert "cold" not in bert["backends"]["eager"]
    assert (bert["revision"], bert["cold_revision"], lstm["revision"]) == ("r3", "r1", "r1")
    assert "measured at r3 (1 rows), r1 (1 rows); cold compiles of r1 (1 rows)" in runs.page.read_text()


def test_cold_compiles_that_are_measured_replace_older_ones(runs: Runs) -> None:
    runs("r1", 1.0, "--models", "bert")
    runs("r2", 2.0, "--models", "bert", "--add", "--warm")
    (bert,) = runs("r3", 3.0, "--models", "bert", "--add")
    assert bert["backends"]["mlir"]["cold"]["wall_s"] == 3.0
    assert "cold_revision" not in bert
    assert "cold compiles of" not in runs.page.read_text()


def test_other_rows_go_without_add(runs: Runs) -> None:
    runs("r1", 1.0, "--models", "bert,lstm")
    (lstm,) = runs("r2", 2.0, "--models", "lstm", "--warm")
    assert "cold" not in lstm["backends"]["mlir"]
