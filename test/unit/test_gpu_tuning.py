"""The choice among configurations: what machine code rules out, what the clock says, what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import stand_in
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass

from tilewright.dialects.diagnostics import FailedPass
from tilewright.dialects.index_expr import ONE, ZERO
from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.attributes import launch_number
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.passes.manager import module_text, parse_pipeline, run_pipeline
from tilewright.passes.rewrite import Remark, remarks_to, skip
from tilewright.passes.schedule.apply_schedule import ApplySchedulePass
from tilewright.passes.schedule.blocks import CANDIDATES
from tilewright.targets.gpu_triton import compiler
from tilewright.targets.gpu_triton.binary import Binary
from tilewright.targets.gpu_triton.choosing import at_fault, fastest
from tilewright.targets.gpu_triton.compile_errors import AssemblerFailed
from tilewright.targets.gpu_triton.compiler import Job, triton_version
from tilewright.targets.gpu_triton.driver import open_driver
from tilewright.targets.gpu_triton.host_errors import LaunchFailed
from tilewright.targets.gpu_triton.kernel import TritonKernel
from tilewright.targets.gpu_triton.timing import Clock
from tilewright.targets.gpu_triton.tuning import Tuner

COPY = """
tk.func @copy [1048576] (%x: memref<1048576xf32>, %i: memref<64xi64>, %o: memref<1048576xf32>) {
  %0 = tk.load %x[d0] : memref<1048576xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<1048576xf32>
}
"""
ANY_SIZE = """
tk.func @copy [s0] (%x: memref<?xf32>, %o: memref<?xf32>) symbols [s0] {
  %0 = tk.load %x[d0] : memref<?xf32> -> f32
  tk.store %0, %o[d0] : f32, memref<?xf32>
}
"""
PRODUCT = """
tk.func @product [256, 256, 768] (%a: memref<196608xbf16>, %b: memref<196608xbf16>, %o: memref<65536xf32>) {
  %0 = tk.load %a[d0*768 + d2] : memref<196608xbf16> -> bf16
  %1 = arith.extf %0 : bf16 to f32
  %2 = tk.load %b[d1*768 + d2] : memref<196608xbf16> -> bf16
  %3 = arith.extf %2 : bf16 to f32
  %4 = arith.mulf %1, %3 : f32
  %5 = tk.reduce add %4 over [2] : f32
  tk.store %5, %o[d0*256 + d1] : f32, memref<65536xf32>
}
"""
BINARY = Binary("sm_90", "copy", b"copy 5", "", 4, 0, 0, 1, 32, 0)


def module_of(text: str, facts: str = "") -> ModuleOp:
    """Decided, with other choices beside."""
    context = new_context()
    module = Parser(context, text).parse_module()
    run_pipeline(context, module, parse_pipeline(f"schedule-gpu{{candidates=true {facts}}}"))
    return module


def function(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp))


@dataclass
class Bench:
    """A tuner that compiles nothing: machine code and times are what a test says."""

    folder: Path
    binary: Callable[[Job], Binary] = lambda task: replace(BINARY, warps=task.warps)
    seconds: Callable[[TritonKernel, Binary, Sequence[int]], float] | None = None
    compiled: list[Job] = field(default_factory=list[Job])
    remarks: list[Remark] = field(default_factory=list[Remark])

    def choose(self, text: str = COPY, facts: str = "") -> str:
        module = module_of(text, facts)
        with remarks_to(self.remarks.append):
            Tuner("sm_90", "H", self.folder, 0, self.seconds)(module)
        assert CANDIDATES not in function(module).attributes
        return module_text(module, locations=False)

    @property
    def why(self) -> str:
        return self.remarks[-1].why


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    made = Bench(tmp_path)

    def compile_job(task: Job, folder: Path) -> Binary:
        made.compiled.append(task)
        return made.binary(task)

    monkeypatch.setattr(compiler, "stored", lambda task, folder: None)
    monkeypatch.setattr(compiler, "compile_job", compile_job)
    return made


def test_the_default_without_a_clock(bench: Bench) -> None:
    assert "tk.blocks = array<i64: 0, 1024>" in bench.choose()
    assert bench.why == "autotune: 0 of 0-5, blocks 1024, 4 warps, 1 stages (not timed)"


def test_the_clock_decides(bench: Bench) -> None:
    bench.seconds = lambda kernel, binary, sizes: 1e-6 * (9 if binary.warps == 8 else 10 + binary.warps)
    text = bench.choose()
    assert "tk.blocks = array<i64: 0, 2048>, tk.grid = 1 : i64, tk.warps = 8" in text
    assert bench.why.startswith("autotune: 3 of 0-5, blocks 2048, 8 warps, 1 stages (0: 14.0 us, 1: 14.0 us")


def test_descriptors_are_a_choice_of_products(bench: Bench) -> None:
    """By pointers is the default of a short sum; what a device lacks is no choice."""
    described = "make_tensor_descriptor"

    def binary(task: Job) -> Binary:
        return replace(BINARY, warps=task.warps, scratch=256 if described in task.source else 0)

    bench.binary = binary
    bench.seconds = lambda kernel, binary, sizes: 1e-6 if binary.scratch else 2e-6
    assert "tk.descriptors" not in bench.choose(PRODUCT)
    assert described not in "".join(task.source for task in bench.compiled)
    assert "tk.descriptors = array<i64: 0, 1>" in bench.choose(PRODUCT, "descriptors=true")
    assert "stages, by descriptor (0: 2.0 us, " in bench.why
    bench.seconds, bench.folder = None, bench.folder / "untimed"
    assert "tk.descriptors" not in bench.choose(PRODUCT, "descriptors=true")
    assert "not timed" in bench.why


def test_the_clock_gets_the_sizes_of_buffers(bench: Bench) -> None:
    seen: list[Sequence[int]] = []

    def seconds(kernel: TritonKernel, binary: Binary, sizes: Sequence[int]) -> float:
        seen.append(sizes)
        return 1e-6

    bench.seconds = seconds
    assert "array<i64: 0, 1024>" in bench.choose(), "the default, where nothing is faster"
    assert seen == [[4 << 20, 512, 4 << 20]] * 6


def test_unknown_sizes_are_not_timed(bench: Bench) -> None:
    bench.seconds = lambda kernel, binary, sizes: pytest.fail("timed")
    assert "array<i64: 0, 128>" in bench.choose(ANY_SIZE)
    assert "sizes are only known at run time" in bench.why


def test_what_fails_is_dropped(bench: Bench) -> None:
    def binary(task: Job) -> Binary:
        if task.warps == 8:
            raise AssemblerFailed(kernel=task.kernel, architecture="sm_90", reason="too many registers")
        return replace(BINARY, warps=task.warps, spills=8 * ("arange(0, 1024)" in task.source))

    def seconds(kernel: TritonKernel, binary: Binary, sizes: Sequence[int]) -> float:
        if binary.warps == 2:
            raise LaunchFailed(what="cuLaunchKernel", why="CUDA_ERROR_OUT_OF_MEMORY (2): no")
        return 1e-6

    bench.binary, bench.seconds = binary, seconds
    assert "array<i64: 0, 2048>, tk.grid = 1 : i64, tk.warps = 4" in bench.choose()
    assert "0: spills 8" in bench.why
    assert "3: TW2223: kernel @copy could not be compiled for sm_90" in bench.why
    assert "5: TW2064: cuLaunchKernel failed why: CUDA_ERROR_OUT_OF_MEMORY (2): no" in bench.why


def test_passes_that_fail_drop_a_candidate(bench: Bench) -> None:
    """But the default, whose error is that of the build."""

    @dataclass(frozen=True)
    class Refuse(ModulePass):
        name = "refuse"
        number: int = 2

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            assert launch_number(function(op), "tk.warps") != self.number

    bench.binary = lambda task: replace(BINARY, warps=task.warps, spills=8 * (task.warps < 8))
    tuner = Tuner("sm_90", "H", bench.folder, 0)
    module = module_of(COPY)
    with remarks_to(bench.remarks.append):
        tuner(module, (ApplySchedulePass(), Refuse()))
    assert "tk.warps = 8" in module_text(module, locations=False)
    assert bench.why.startswith("autotune: 3 of 0-5, blocks 2048, 8 warps")
    assert bench.why.endswith("2: spills 8; 5: TW3910: pass 2 `refuse` failed)")
    with pytest.raises(FailedPass):
        tuner(module_of(COPY), (ApplySchedulePass(), Refuse(4)))


def test_a_choice_is_kept(bench: Bench) -> None:
    bench.seconds = lambda kernel, binary, sizes: 1e-6 / binary.warps
    first = bench.choose()
    assert "tk.warps = 8" in first
    bench.compiled.clear()
    bench.seconds = lambda kernel, binary, sizes: pytest.fail("timed again")
    assert bench.choose() == first
    assert bench.choose(COPY.replace("@copy", "@other")) == first.replace("@copy", "@other")
    assert bench.compiled == []
    assert [r.why for r in bench.remarks] == [bench.why] * 3


def test_no_memory_is_not_kept(bench: Bench) -> None:
    def full(kernel: TritonKernel, binary: Binary, sizes: Sequence[int]) -> float:
        raise LaunchFailed(what="cuMemAlloc_v2", why="CUDA_ERROR_OUT_OF_MEMORY (2): no")

    bench.seconds = full
    assert "array<i64: 0, 1024>" in bench.choose()
    assert "not timed; dropped: 0: TW2064" in bench.why
    bench.seconds = lambda kernel, binary, sizes: 1e-6 / binary.warps
    assert "tk.warps = 8" in bench.choose()


def test_what_machine_code_rules_out() -> None:
    def fault(**changes: int) -> dict[int, str]:
        return at_fault({0: BINARY, 1: replace(BINARY, **changes)}, fills=True)

    assert fault() == {}
    assert fault(spills=4) == {1: "spills 4"}
    assert fault(shared=300 << 10) == {1: "307200 bytes of shared memory of 232448"}
    assert fault(stages_left_out=1) == {1: "its stages take too much shared memory"}
    assert fault(registers=200) == {1: "occupancy 0.12 of 1.00"}
    assert fault(registers=60) == {}
    assert at_fault({0: BINARY, 1: replace(BINARY, registers=200)}, fills=False) == {}
    assert at_fault({0: replace(BINARY, spills=8)}, fills=True) == {}, "there is no better one"


def test_the_default_stays_unless_clearly_slower() -> None:
    assert fastest({0: 1.0, 1: 0.98}) == 0
    assert fastest({0: 1.0, 1: 0.9, 2: 0.9}) == 1
    assert fastest({2: 1.0, 3: 1.1}) == 2


@pytest.fixture
def clock(cuda_stand_in: stand_in.StandIn) -> Iterator[Clock]:
    cuda_stand_in.reset()
    yield Clock(open_driver(str(cuda_stand_in.path)), 1)
    assert cuda_stand_in.count("held") == 0, "memory, streams or events were left behind"


def kernel_of(text: str, **attributes: int) -> TritonKernel:
    from tilewright.targets.gpu_triton.emit import emit_unit

    context = new_context()
    module = Parser(context, text).parse_module()
    run_pipeline(context, module, parse_pipeline("schedule-gpu,apply-schedule"))
    return replace(emit_unit(module).kernels[0], **attributes)


def test_launches_between_events(cuda_stand_in: stand_in.StandIn, clock: Clock) -> None:
    seen: list[tuple[float, int]] = []
    scratch: list[tuple[int, int]] = []

    def work(name: str, grid: tuple[int, int, int], parameters: object) -> None:
        values = stand_in.floats(stand_in.pointer(parameters, 0), 4)
        index = stand_in.integer(parameters, 1, 64)
        assert index, "the second argument is a pointer"
        seen.append((values[3], stand_in.floats(stand_in.pointer(parameters, 1), 1)[0] == 0.0))
        scratch.append((stand_in.pointer(parameters, 3) % 128, stand_in.pointer(parameters, 4)))

    cuda_stand_in.work(work)
    cuda_stand_in.clock(lambda name, programs, threads: programs * threads / 1e6)
    binary = replace(BINARY, shared=100 << 10, scratch=128)
    seconds = clock.seconds(kernel_of(COPY), binary, [4 << 20, 512, 4 << 20])
    assert seconds == pytest.approx(1024 * 128 / 1e9)
    launches = cuda_stand_in.launches()
    assert {(x.grid, x.threads, x.shared, x.device) for x in launches} == {((1024, 1, 1), 128, 100 << 10, 1)}
    assert len({x.stream for x in launches}) == 1
    assert all(value == pytest.approx(0.0115, rel=0.01) and zero for value, zero in seen)
    assert set(scratch) == {(0, 0)}, "that of profilers is none"
    assert cuda_stand_in.raised == []


def test_no_programs_take_no_time(cuda_stand_in: stand_in.StandIn, clock: Clock) -> None:
    empty = replace(kernel_of(COPY), grid=(ONE, ZERO, ONE))
    assert clock.seconds(empty, BINARY, [4 << 20, 512, 4 << 20]) == 0
    assert not cuda_stand_in.launches()


def test_an_idle_device_is_kept_busy_first(cuda_stand_in: stand_in.StandIn, clock: Clock) -> None:
    waits: list[int] = []
    for _ in range(2):
        before = cuda_stand_in.count("synchronized")
        clock.seconds(kernel_of(COPY), BINARY, [4 << 20, 512, 4 << 20])
        waits.append(cuda_stand_in.count("synchronized") - before)
    assert waits[0] > 10
    assert waits[1] == 1, "it was busy until now"


@pytest.mark.parametrize("function", ["cuMemAlloc_v2", "cuEventCreate", "cuLaunchKernel", "cuModuleLoadData"])
def test_failures_leave_nothing_behind(cuda_stand_in: stand_in.StandIn, clock: Clock, function: str) -> None:
    cuda_stand_in.fail(function, 2, after=0 if function == "cuModuleLoadData" else 1)
    code = replace(BINARY, image=f"{function} 5".encode())
    with pytest.raises((LaunchFailed, Exception), match="CUDA_ERROR_OUT_OF_MEMORY"):
        clock.seconds(kernel_of(COPY), code, [4 << 20, 512, 4 << 20])


def test_what_is_timed_went_through_all_passes(bench: Bench) -> None:
    """Those after `apply-schedule`, too: silently, and another choice of them is another key."""
    texts: list[str] = []

    @dataclass(frozen=True)
    class Watch(ModulePass):
        name = "watch"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            texts.append(module_text(op))
            skip(function(op), "a remark")

    bench.seconds = lambda kernel, binary, sizes: 1e-6
    module = module_of(COPY)
    tuner = Tuner("sm_90", "H", bench.folder, 0, bench.seconds)
    with remarks_to(bench.remarks.append):
        tuner(module, (ApplySchedulePass(), Watch()))
    assert len(texts) == len({(task.source, task.warps) for task in bench.compiled}) == 6
    compiled = len(bench.compiled)
    assert all("scheduled attributes" in text for text in texts)
    assert [remark.why for remark in bench.remarks if remark.why == "a remark"] == []
    Tuner("sm_90", "H", bench.folder, 0, bench.seconds)(module_of(COPY))
    assert len(bench.compiled) == 2 * compiled


@pytest.mark.skipif(not triton_version(), reason="triton is not installed")
def test_compiled_and_timed(cuda_stand_in: stand_in.StandIn, clock: Clock, tmp_path: Path) -> None:
    """Real machine code in worker processes; the clock is a made-up one."""
    cuda_stand_in.clock(lambda name, programs, threads: programs / threads)
    module, remarks = module_of(COPY), list[Remark]()
    with remarks_to(remarks.append):
        Tuner("sm_90", "H", tmp_path, 2, clock.seconds)(module)
    run_pipeline(new_context(), module, parse_pipeline("apply-schedule"))
    assert 'to "1048576" step 4096 parallel' in module_text(module)
    assert remarks[-1].why.startswith("autotune: 4 of 0-5, blocks 4096, 8 warps")
