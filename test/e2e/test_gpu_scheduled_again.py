"""What compilers say is at fault with a default configuration: another candidate takes its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import stand_in
import torch
from emulated_gpu import EmulatedGpu, compiled

import tilewright
from tilewright.frontend.runtime import gpu_runtime
from tilewright.passes.rewrite import counting_rewrites
from tilewright.targets.gpu_triton import choosing
from tilewright.targets.gpu_triton.binary import Binary
from tilewright.targets.gpu_triton.compile_errors import AssemblerFailed
from tilewright.targets.gpu_triton.compiler import Compiled, Job, source_of, triton_version

NEEDED = 1 << 20


@dataclass
class Compilers:
    """Stand in for triton: each configuration is as a test says, by its block and name."""

    real: Any
    fails: set[int] = field(default_factory=set[int])
    """Blocks that do not compile."""
    spills: set[int] = field(default_factory=set[int])
    tried: list[Mapping[str, Job]] = field(default_factory=list[Mapping[str, Job]])

    def kernels(self, unit: Any, architecture: str, request: Any) -> Compiled:
        """In the place of `compile_kernels`."""
        found = self.real(unit, architecture, request)
        sources = {kernel.name: source_of(unit.text, kernel.name) for kernel in unit.kernels}
        return self._judged(sources, dict(found.binaries))

    def jobs(self, jobs: Mapping[str, Job], cache: Path, workers: int) -> Compiled:
        """In the place of `compile_jobs`."""
        self.tried.append(jobs)
        made = {n: Binary("sm_90", j.kernel, b"", "", j.warps, 0, 0, 1, 32, 0) for n, j in jobs.items()}
        return self._judged({name: task.source for name, task in jobs.items()}, made)

    def _judged(self, sources: Mapping[str, str], binaries: dict[str, Binary]) -> Compiled:
        errors: dict[str, Any] = {}
        for name, source in sources.items():
            if any(f"arange(0, {block})" in source for block in self.fails):
                del binaries[name]
                errors[name] = AssemblerFailed(kernel=name, architecture="sm_90", reason="too much")
            elif any(f"arange(0, {block})" in source for block in self.spills):
                binaries[name] = replace(binaries[name], spills=8)
        return Compiled(binaries, errors)


@pytest.fixture
def compilers(gpu: EmulatedGpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Compilers]:
    made = Compilers(gpu_runtime.compile_kernels)
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    with (
        mock.patch.object(gpu_runtime, "compile_kernels", made.kernels),
        mock.patch.object(choosing, "compile_jobs", made.jobs),
    ):
        yield made


@pytest.mark.parametrize("fault", ["fails", "spills"])
def test_another_candidate(fault: str, gpu: EmulatedGpu, compilers: Compilers) -> None:
    """The kernel beside it, which has no fault, stays as it is; both are right."""
    setattr(compilers, fault, {1024})

    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        sums = y.sum(1)
        return x * 2 + sums[3], sums

    x, y = torch.randn(NEEDED), torch.randn(9, 70)
    for got, expected in zip(compiled(function)(x, y), function(x, y), strict=True):
        torch.testing.assert_close(got, expected)
    first, second = gpu.units
    names = [kernel.name for kernel in first.kernels]
    changed = {name for name in names if source_of(first.text, name) != source_of(second.text, name)}
    assert "arange(0, 1024)" in first.text
    assert "arange(0, 1024)" not in second.text
    assert (len(names), len(changed)) == (2, 1)
    (jobs,) = compilers.tried
    assert {task.kernel for task in jobs.values()} == changed
    assert len(gpu.launched()) == 2
    assert len(gpu.host) == 2, "grids are the host's"


def test_no_candidate_is_better(gpu: EmulatedGpu, compilers: Compilers) -> None:
    """What spills least is taken; where nothing compiles, the error is what it was."""
    blocks = {1 << n for n in range(20)}
    compilers.spills = blocks
    x = torch.randn(NEEDED)
    torch.testing.assert_close(compiled(lambda x: x * 2)(x), x * 2)
    assert gpu.units[0].text == gpu.units[1].text
    torch._dynamo.reset()
    compilers.fails = blocks
    with pytest.raises(Exception, match="TW2223: kernel @mul could not be compiled for sm_90"):
        compiled(lambda x: x * 2)(x)


def test_where_nothing_compiles_blocks_are_not_at_fault(gpu: EmulatedGpu, compilers: Compilers) -> None:
    """Of several kernels: then an error is prompt, without a try of each candidate of each kernel."""
    compilers.fails = {1 << n for n in range(20)}
    with pytest.raises(Exception, match="TW2223: kernel @sum could not be compiled for sm_90"):
        compiled(lambda x, y: x * 2 + y.sum(1)[3])(torch.randn(NEEDED), torch.randn(9, 70))
    assert len(gpu.units) == 1
    assert compilers.tried == []


def test_sizes_that_are_symbols(gpu: EmulatedGpu, compilers: Compilers) -> None:
    compilers.spills = {128}
    run = compiled(lambda x: x * 2, dynamic=True)
    for size in (5, 4000):
        x = torch.randn(size)
        torch.testing.assert_close(run(x), x * 2)
    assert len(gpu.units) == 2
    assert "arange(0, 128)" not in gpu.units[1].text


def test_rewrites_are_not_counted_twice(gpu: EmulatedGpu, compilers: Compilers) -> None:
    """`tilewright bisect` counts them; where it stops passes, nothing is scheduled again."""
    x = torch.randn(NEEDED)
    done: list[int] = []
    for spills in (set[int](), {1024}):
        torch._dynamo.reset()
        compilers.spills = spills
        with counting_rewrites() as count:
            compiled(lambda x: x * 2)(x)
        done.append(count.done)
    assert done[0] == done[1] > 0
    assert len(gpu.units) == 3
    torch._dynamo.reset()
    with counting_rewrites(limit=done[0]):
        compiled(lambda x: x * 2)(x)
    assert len(gpu.units) == 4


@pytest.mark.skipif(not triton_version(), reason="triton is not installed")
@pytest.mark.usefixtures("crowded_lanes")
def test_real_spills(
    cuda_stand_in: stand_in.StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What ptxas says is heeded; the dump shows both rounds."""
    torch._dynamo.reset()
    cuda_stand_in.reset()
    monkeypatch.setenv("TILEWRIGHT_GPU_STAND_IN", str(cuda_stand_in.path))
    monkeypatch.setenv("TILEWRIGHT_DUMP", str(tmp_path / "dump"))
    options = {"target": "gpu_triton", "fallback": False, "cache_dir": str(tmp_path / "cache")}
    found = tilewright.explain(lambda x: x * 2, torch.randn(NEEDED), options=options)
    (why,) = [remark.why for remark in found.remarks if "again" in remark.why]
    assert why.startswith(
        "scheduled again: 2 of 0-4, blocks 4096, 1 warps, 1 stages (not timed; dropped: 0: "
    )
    assert why.count("spills") == 4
    (launch,) = cuda_stand_in.launches()
    assert (launch.grid, launch.threads) == ((256, 1, 1), 32)
    stages = [file.name[3:] for file in sorted((tmp_path / "dump").rglob("*.mlir"))]
    first = stages.index("schedule-gpu.mlir")
    again = stages.index("schedule-gpu.mlir", first + 1)
    assert stages[again - 1] == "autotuned.mlir"
    assert stages[again:] == stages[first : again - 1], "the same passes once more"
    (text,) = (tmp_path / "dump").rglob("kernels.py")
    assert "arange(0, 4096)" in text.read_text()
