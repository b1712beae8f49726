"""benchmarks/gpu.py must not fail on the day when there is a GPU: here it runs small, on the CPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from benchmarks import gpu
from benchmarks.gpu_classes import CLASSES


def test_sections_measure_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backends = {name: {"backend": "mlir"} for name in ("mlir", "mlir-graphs", "mlir-tuned")}
    monkeypatch.setattr(gpu, "BACKENDS", backends)
    monkeypatch.setattr(gpu, "CLASSES", [c for c in CLASSES if c.name in ("chain", "sum-rows", "softmax")])
    path = tmp_path / "found.json"
    arguments = ["--device", "cpu", "--sections", "bandwidth,gemm,tuned", "--json", str(path)]
    done = CliRunner().invoke(gpu.main, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found = json.loads(path.read_text())
    assert "error" not in done.output
    assert found["bandwidth"]["chain"]["bytes"] == 3 * 4 * 33 * (((1 << 14) // 4) // 33)
    assert found["gemm"]["64x32x48"]["over_cublas"] > 0
    assert found["tuned"]["softmax"]["default_over_tuned"] > 0


def test_names_of_classes() -> None:
    assert set(gpu.TUNED) <= {each.name for each in CLASSES}
    assert set(gpu.COMPARED) <= set(gpu.BACKENDS)


def test_what_fails_is_reported_and_what_is_late_is_left_out(tmp_path: Path) -> None:
    def broken() -> dict[str, object]:
        raise RuntimeError("no such kernel\nmore")

    assert gpu.outcome(broken) == {"error": "RuntimeError: no such kernel"}
    done = CliRunner().invoke(gpu.main, ["--device", "cpu", "--seconds", "0", "--sections", "gemm"])
    assert json.loads(done.output)["gemm"]["left out"] == "no time"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device() -> None:
    done = CliRunner().invoke(gpu.main, [])
    assert done.exit_code != 0
    assert "there is no CUDA device" in done.output
