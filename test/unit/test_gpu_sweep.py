"""benchmarks/gpu_sweep.py: what it would time on a device, with a clock of the test's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import gpu_sweep
from tilewright.targets.gpu_triton.binary import Binary
from tilewright.targets.gpu_triton.compiler import triton_version
from tilewright.targets.gpu_triton.host_errors import LaunchFailed
from tilewright.targets.gpu_triton.kernel import TritonKernel


def test_configurations_begin_with_the_default() -> None:
    """And are each something else; of attention all three kernels are varied."""
    for problem, functions in (("1024x768x768", 1), ("attention 64", 3)):
        trials = list(gpu_sweep.trials_of(problem, "sm_90"))
        assert len({trial.function for trial in trials}) == functions
        for function in {trial.function for trial in trials}:
            mine = [trial for trial in trials if trial.function == function]
            assert len(mine) > 30
            assert len({trial.blocks for trial in mine[1:]}) == len(mine) - 1
            assert len({len(trial.sizes) for trial in mine}) == 1
    assert "tk.stages 3 : i64" in trials[0].blocks


@pytest.mark.skipif(not triton_version(), reason="triton is not installed")
def test_what_is_compiled_here_is_timed_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = list(gpu_sweep.trials_of("16x4096x4096", "sm_90"))[:2]
    monkeypatch.setattr(gpu_sweep, "trials_of", lambda problem, target: iter(first))
    path, found = tmp_path / "sweep.bin", tmp_path / "sweep.json"
    arguments = ["compile", str(path), "--problems", "16x4096x4096", "--workers", "1"]
    done = CliRunner().invoke(gpu_sweep.main, arguments, catch_exceptions=False)
    assert "2 configurations, 0 of which nothing came" in done.output
    times = iter([5e-6, None])

    class Watch:
        def __init__(self, driver: object, device: int) -> None:
            assert device == 0

        def seconds(self, kernel: TritonKernel, binary: Binary, sizes: Sequence[int]) -> float:
            assert binary.image
            if (time := next(times)) is None:
                raise LaunchFailed(what="cuLaunchKernel", why="no reason")
            return time

    class Libraries:
        def open_driver(self) -> None: ...

    monkeypatch.setattr(gpu_sweep, "Clock", Watch)
    monkeypatch.setattr(gpu_sweep, "libraries", lambda variables: Libraries())
    CliRunner().invoke(gpu_sweep.main, ["measure", str(path), "--json", str(found)], catch_exceptions=False)
    timed, failed = json.loads(found.read_text())
    assert (timed["us"], timed["spills"]) == (5.0, 0)
    assert "us" not in failed
    assert failed["error"]


def test_a_problem_that_is_not_there() -> None:
    done = CliRunner().invoke(gpu_sweep.main, ["compile", "nowhere.bin", "--problems", "none"])
    assert done.exit_code != 0
    assert "there is no problem none" in done.output
