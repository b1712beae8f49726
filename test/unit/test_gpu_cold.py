"""benchmarks/gpu_cold.py: who goes first, and what is divided by what."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import gpu_cold


def test_both_take_turns_and_rounds_are_compared_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    seconds = {"mlir": [1.0, 3.0, 2.0], "inductor": [4.0, 6.0, 2.0]}

    def cold(case: gpu_cold.Case, backend: str, driver: Path) -> dict[str, float]:
        taken = seconds[backend][called.count(backend)]
        called.append(backend)
        return {"seconds": taken, "cpu": 2 * taken, "own": taken / 2, "kernels": 7}

    monkeypatch.setattr(gpu_cold, "cold", cold)
    row = gpu_cold.measured(("bert", "bf16", "slim", "training"), 3, Path("none"))
    assert called == ["inductor", "mlir", "mlir", "inductor", "inductor", "mlir"]
    assert row["seconds"]["mlir"][0] == 2.0
    assert row["seconds"]["ratio"][0] == 0.5  # of 0.25, 0.5, 1
    assert row["cpu"]["inductor"][0] == 8.0
    assert row["own"]["mlir"][0] == 1.0
    assert row["kernels"] == {"mlir": 7, "inductor": 7}
