"""benchmarks/gpu.py must not fail on the day when there is a GPU: here it runs small, on the CPU."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner

from benchmarks import gpu, gpu_bench, gpu_sections, gpu_worker
from benchmarks.gpu_bench import COMPARED, Bench, Row
from benchmarks.gpu_classes import CLASSES
from benchmarks.gpu_sections import SECTIONS, TUNED, summary

CPU = Bench(torch.device("cpu"), small=True)
ALL = {"part": 0, "parts": 1, "seconds": 600.0, "done": {}}
PREPARES = Bench(torch.device("cpu"), small=True, prepares=True)


def measured(*sections: str, bench: Bench = CPU, **job: Any) -> dict[str, dict[str, Row]]:
    lines: list[Mapping[str, Any]] = []
    assert gpu_worker.work(bench, {**ALL, "sections": sections, **job}, lines.append)
    assert [line["begin"] for line in lines if "begin" in line] == [
        line["name"] for line in lines if "row" in line and "left out" not in line["row"]
    ]
    found: dict[str, dict[str, Row]] = {name: {} for name in sections}
    for line in lines:
        if "row" in line:
            found[line["section"]][line["name"]] = line["row"]
    return found


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three classes of kernels and one model; each backend is ours."""
    names = {"chain", "softmax", "argmax"}
    monkeypatch.setattr(gpu_bench, "BACKENDS", {key: {"backend": "mlir"} for key in gpu_bench.BACKENDS})
    monkeypatch.setattr(gpu_sections, "CLASSES", [c for c in CLASSES if c.name in names])
    monkeypatch.setattr(gpu_sections, "MODELS", ("mlp-mixer",))
    torch._dynamo.reset()


@pytest.mark.usefixtures("few")
def test_sections_measure_something() -> None:
    found = measured("bandwidth", "gemm", "attention", "tuned")
    rows = [row for section in found.values() for row in section.values()]
    assert [row for row in rows if "error" in row] == []
    assert list(found["bandwidth"]) == ["chain", "softmax"]
    median, low, high = found["bandwidth"]["chain"]["over copy"]
    assert 0 < low <= median <= high
    assert found["gemm"]["64x32x48"]["with epilogue"]["over inductor with epilogue"][0] > 0
    assert found["attention"]["1x2x32x16 causal"]["training"]["over eager"][0] > 0
    lines = summary(found)
    assert lines["bandwidth: norm over copy"].endswith(" of 1")
    assert lines["attention: training over eager"].endswith(" of 2")


@pytest.mark.usefixtures("few")
def test_results_and_gradients_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_sections, "MODELS", ())
    found = measured("correctness")["correctness"]
    assert set(found) == {
        *(f"{name} {dtype}" for name in ("chain", "softmax", "argmax") for dtype in _FLOATS),
        *(f"{name} gradients" for name in ("chain", "softmax")),
    }
    assert [name for name, row in found.items() if not row["ok"]] == []
    assert summary({"correctness": found})["right"] == f"{len(found)} of {len(found)}"


_FLOATS = ("float32", "bfloat16")


@pytest.mark.usefixtures("few")
def test_what_prepares_times_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_bench, "interleave", lambda *args: pytest.fail("something was timed"))
    found = measured("gemm", "attention", "overhead", "end_to_end", bench=PREPARES)
    rows = [row for section in found.values() for row in section.values()]
    assert [row for row in rows if "error" in row or "us" in str(row)] == []
    assert found["end_to_end"]["mlp-mixer inference bf16"]["mlir"]["first call s"] > 0


@pytest.mark.usefixtures("few")
def test_a_backend_that_fails_drops_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> Any:
        raise RuntimeError("no such kernel\nand more")

    monkeypatch.setitem(gpu_bench.BACKENDS, "inductor", {"backend": broken})
    (row,) = measured("end_to_end", parts=2)["end_to_end"].values()
    assert "no such kernel and more" in row["inductor"]["error"]
    assert row["mlir"]["over inductor"] is None
    assert row["mlir"]["over inductor-graphs"][0] > 0
    assert list(row["inductor"]) == ["error"]
    assert row["mlir"]["first call s"] > 0


def test_wrong_results_are_told() -> None:
    wrong = {"exp float32": {"ok": False, "why": "output 0: RMSE"}, "late": {"left out": "no time"}}
    lines = summary({"correctness": {**wrong, "neg float32": {"ok": True}}})
    assert lines["right"] == "1 of 2"
    assert lines["wrong"] == {"exp float32": "output 0: RMSE"}


def test_each_section_has_its_share_of_the_time() -> None:
    assert gpu._groups(list(SECTIONS)) == [["correctness"], list(SECTIONS)[1:]]  # pyright: ignore
    assert gpu_worker.share(["gemm", "cold"], 95.0) == 35.0
    assert gpu_worker.share(["gemm", "cold"], 95.0, 2) == 95.0
    left = measured("overhead", "tuned", seconds=0.0)
    assert {str(row) for rows in left.values() for row in rows.values()} == {"{'left out': 'no time'}"}
    assert all(left.values())


def test_names_of_classes() -> None:
    assert set(TUNED) <= {each.name for each in CLASSES}
    assert set(COMPARED) <= set(gpu_bench.BACKENDS)


WORKER = """
import json, os, signal, sys, time
job, file = json.loads(sys.argv[1]), open(sys.argv[2], "a")
def say(**line): print(json.dumps(line), file=file, flush=True)
say(facts={"gpu": "none"})
for name in [n for n in ITEMS if n not in job["done"].get("gemm", [])]:
    say(section="gemm", begin=name)
    if name == "crashes":
        print("a last word", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if name == "hangs":
        time.sleep(600)
    row = {"error": "illegal access"} if name == "loses" else {"us": [1.0, 1.0, 1.0]}
    say(section="gemm", name=name, row=row)
    if name == "loses":
        os._exit(3)
say(finished=True)
"""


def run(
    folder: Path, program: str, longest: float = 2.0, last: float = 60.0, *, prepares: bool = False
) -> gpu.Results:
    def command(job: Mapping[str, Any], lines: Path) -> Sequence[str]:
        return [sys.executable, "-c", program, json.dumps(job), str(lines)]

    now, results = time.monotonic(), gpu.Results(folder / "found.json")
    gpu.Runner(
        results, ["gemm"], "cpu", folder, now + 60, now + last, command, longest, prepares=prepares
    ).run(1)
    return results


def test_what_fails_stops_nothing_else(tmp_path: Path) -> None:
    items = ["first", "crashes", "second", "loses", "hangs", "third"]
    results = run(tmp_path, WORKER.replace("ITEMS", repr(items)))
    rows = results.sections["gemm"]
    assert list(rows) == items
    assert [name for name, row in rows.items() if "us" in row] == ["first", "second", "third"]
    assert rows["crashes"]["error"] == "the process ended with status -11: a last word"
    assert rows["loses"] == {"error": "illegal access"}
    assert "no result after" in rows["hangs"]["error"]
    written = json.loads((tmp_path / "found.json").read_text())
    assert written["gemm"] == rows
    assert written["about"] == {"gpu": "none"}


def test_of_what_prepares_crashes_are_rows(tmp_path: Path) -> None:
    """They are not met again by what is timed; all else is."""
    rows = run(tmp_path, WORKER.replace("ITEMS", "['first', 'crashes', 'loses', 'last']"), prepares=True)
    assert list(rows.sections["gemm"]) == ["crashes"]


def test_a_process_that_cannot_begin_ends_its_section(tmp_path: Path) -> None:
    (row,) = run(tmp_path, "raise SystemExit('no module')").sections["gemm"].values()
    assert row == {"error": "the process ended with status 1: no module"}


def test_all_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "GRACE", 1.0)
    results = run(tmp_path, WORKER.replace("ITEMS", "['hangs', 'next']"), longest=600, last=1.0)
    assert list(results.sections["gemm"]) == ["hangs"]


def test_the_command_goes_on_where_it_left(tmp_path: Path) -> None:
    """A real process, for the one item that the file lacks."""
    path = tmp_path / "found.json"
    classes = [c.name for c in CLASSES if c.kind in ("elementwise", "reduction", "norm")]
    rows = {name: {"us": [1.0, 1.0, 1.0]} for name in classes if name != "integers"}
    path.write_text(json.dumps({"bandwidth": rows, "gemm": {"everything": {"left out": "no time"}}}))
    arguments = ["--device", "cpu", "--json", str(path), "--resume", "--sections"]
    done = CliRunner().invoke(gpu.main, [*arguments, "bandwidth"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found = json.loads(path.read_text())
    assert list(found["bandwidth"]) == [*rows, "integers"]
    assert "over copy" in found["bandwidth"]["integers"], found["bandwidth"]["integers"]
    assert "gemm" not in found
    done = CliRunner().invoke(gpu.main, [*arguments, "gemm", "--seconds", "0"], catch_exceptions=False)
    assert json.loads(path.read_text())["gemm"] == {"everything": {"left out": "no time"}}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device() -> None:
    done = CliRunner().invoke(gpu.main, [])
    assert done.exit_code != 0
    assert "there is no CUDA device" in done.output
    done = CliRunner().invoke(gpu.main, ["--device", "cpu", "--sections", "gemms"])
    assert "there is no section gemms" in done.output
