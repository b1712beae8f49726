"""Triton kernels of the user's with several configurations (`triton.autotune`, `triton.heuristics`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import stand_in
import torch
from torch import Tensor
from user_kernels import EMULATED, reason, run, seen_by_dynamo

import tilewright
from tilewright.frontend.explain import Explanation

triton = pytest.importorskip("triton")
tl: Any = pytest.importorskip("triton.language")

__all__ = ["seen_by_dynamo"]


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr = False):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out + i, tl.load(x + i) * 2)
    else:
        tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def configured(*configs: Any, even: Any = None) -> Any:
    """A function that doubles, by a kernel with these configurations."""
    kernel = double_kernel if even is None else triton.heuristics({"EVEN": even})(double_kernel)
    kernel = triton.autotune(configs=list(configs), key=["n"])(kernel)

    def double(x: Tensor) -> Tensor:
        out = torch.empty_like(x)
        kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
        return out

    return double


def config(block: int, warps: int = 4) -> Any:
    return triton.Config({"BLOCK": block}, num_warps=warps)


@pytest.mark.parametrize("dynamic", [False, True])
def test_the_first_is_executed(dynamic: bool) -> None:
    double = configured(config(64), config(256, 8))
    options = {**EMULATED, "fallback": False}
    compiled = torch.compile(double, backend="mlir", dynamic=dynamic, options=options)
    for n in (100, 1000):
        x = torch.randn(n)
        torch.testing.assert_close(compiled(x), x * 2)


def test_heuristics() -> None:
    """They are computed for each configuration, when the launch is traced."""
    double = configured(config(64), config(128), even=lambda args: args["n"] % args["BLOCK"] == 0)
    for n in (64, 100):
        x = torch.randn(n)
        torch.testing.assert_close(run(double, x), x * 2)


@pytest.mark.parametrize("what", [{"num_ctas": 2}, {"maxnreg": 64}])
def test_what_no_launch_of_ours_has(what: dict[str, int]) -> None:
    double = configured(config(64), triton.Config({"BLOCK": 64}, **what))
    assert f"a configuration of it has {next(iter(what))}" in reason(double, torch.randn(9))


# What the clock says: machine code is real, launches and times are those of the stand-in


@pytest.fixture
def gpu(cuda_stand_in: stand_in.StandIn, monkeypatch: pytest.MonkeyPatch) -> stand_in.StandIn:
    cuda_stand_in.reset()
    monkeypatch.setenv("TILEWRIGHT_GPU_STAND_IN", str(cuda_stand_in.path))
    return cuda_stand_in


def explained(function: Any, x: Tensor, folder: Path, **more: Any) -> Explanation:
    options = {"target": "gpu_triton", "fallback": False, "cache_dir": str(folder)}
    return tilewright.explain(function, x, options=options, **more)


def why(found: Explanation) -> str:
    (one,) = [remark.why for remark in found.remarks if "autotune" in remark.why]
    return one


def test_the_clock_decides(gpu: stand_in.StandIn, tmp_path: Path) -> None:
    gpu.clock(lambda name, programs, threads: programs / threads)  # large programs of many threads
    double = configured(config(128, 1), config(1024, 8), config(256, 2))
    x = torch.randn(1 << 16)
    found = why(explained(double, x, tmp_path))
    assert found.startswith("autotune: 1 of 0-2, BLOCK 1024, 8 warps, 3 stages (0: ")
    *timed, last = gpu.launches()
    assert (last.grid, last.threads) == ((64, 1, 1), 256)
    assert {launch.grid[0] for launch in timed} == {512, 64, 256}
    assert gpu.count("held") == 0
    gpu.reset()  # as another process would
    assert why(explained(double, x, tmp_path)) == found
    assert [launch.grid[0] for launch in gpu.launches()] == [64]


def test_sizes_that_change_are_timed_as_they_were_first(gpu: stand_in.StandIn, tmp_path: Path) -> None:
    gpu.clock(lambda name, programs, threads: abs(programs - 16))
    double = configured(config(32), config(64), config(128))
    x = torch.randn(1024)
    torch._dynamo.mark_dynamic(x, 0)
    assert why(explained(double, x, tmp_path)).startswith("autotune: 1 of 0-2, BLOCK 64, 4 warps")


def test_what_does_not_compile_is_dropped(gpu: stand_in.StandIn, tmp_path: Path) -> None:
    found = why(explained(configured(config(48), config(64)), torch.randn(100), tmp_path))
    assert found.startswith("autotune: 1 of 0-1, BLOCK 64, 4 warps, 3 stages (not timed; dropped: 0: TW22")
    assert [launch.grid[0] for launch in gpu.launches()] == [2]
