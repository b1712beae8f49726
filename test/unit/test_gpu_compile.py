"""Kernels become machine code with no GPU; the store, the workers, and what goes wrong."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gpu_harness import kernel, unit
from gpu_samples import TEXT
from lit_modules import modules
from packaging.version import Version

from tilewright.dialects.registry import new_context
from tilewright.frontend.environment import assembler
from tilewright.frontend.tools.tool_io import parse_module
from tilewright.passes.manager import parse_pipeline, run_pipeline
from tilewright.targets.gpu_triton import compiler, workers
from tilewright.targets.gpu_triton.architectures import ARCHITECTURES, architecture
from tilewright.targets.gpu_triton.binary import Binary, resources_of_amdgcn
from tilewright.targets.gpu_triton.compile_errors import (
    AssemblerFailed,
    KernelRefused,
    TritonMissing,
    UnknownArchitecture,
    WorkerLost,
)
from tilewright.targets.gpu_triton.compiler import Job, compile_kernel, compile_unit, job, source_of
from tilewright.targets.gpu_triton.emit import emit_unit
from tilewright.targets.gpu_triton.kernel import TritonKernel, TritonUnit
from tilewright.targets.gpu_triton.workers import Pool, compile_each

COPY = """@triton.jit
def helper(v):
    return v * 2.0


@triton.jit
def copy(x, o):
    # model.py:3
    i = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    tl.store(o + i, helper(tl.load(x + i)))


@triton.jit
def product(a, b, c):
    i = tl.arange(0, 128)
    k = tl.arange(0, 64)
    total = tl.zeros((128, 128), dtype=tl.float32)
    for s in range(0, 512, 64):
        x = tl.load(a + i[:, None] * 512 + s + k[None, :])
        y = tl.load(b + (s + k)[:, None] * 128 + i[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + i[:, None] * 128 + i[None, :], total.to(tl.float16))
"""
BOTH = unit(COPY, copy="*fp32 *fp32", product="*fp16 *fp16 *fp16")
BAD = """@triton.jit
def k(x):
    a = tl.arange(0, 12)
    tl.store(x + a, 1.0)
"""


@pytest.fixture(autouse=True)
def needs_triton(request: pytest.FixtureRequest) -> None:
    if not compiler.triton_version() and "without_triton" not in request.node.name:
        pytest.skip("triton is not installed")


def test_registers_of_amdgcn_are_counted_once() -> None:
    notes = ".agpr_count: 148\n.sgpr_spill_count: 2\n.vgpr_count:     404\n.vgpr_spill_count: 3\n"
    assert resources_of_amdgcn(notes + ".private_segment_fixed_size: 20\n") == (404, 5)
    assert resources_of_amdgcn(notes + ".private_segment_fixed_size: 0\n") == (404, 3)


TOO_NEW = pytest.mark.skipif(
    Version(compiler.triton_version() or "0") < Version("3.7"),
    reason="the assembler that comes with Triton 3.6 does not know sm_110",
)
ALL_TARGETS = [pytest.param(t, marks=TOO_NEW if t == "sm_110" else ()) for t in sorted(ARCHITECTURES)]


@pytest.mark.parametrize("target", ALL_TARGETS)
def test_copies_are_wide_and_products_use_tensor_cores(target: str, tmp_path: Path) -> None:
    binaries = compile_unit(BOTH, target, cache_dir=tmp_path)
    for name, binary in binaries.items():
        assert binary.entry == name
        assert binary.image[:4] == b"\x7fELF"
        assert binary.threads == 4 * architecture(target).warp
        assert binary.spills == 0
        assert 0 < binary.registers <= architecture(target).registers_per_thread
        assert binary.shared <= architecture(target).shared_per_block
        assert 0 < binary.occupancy <= 1
        assert binary.wide_loads > 0
    assert binaries["copy"].wide_loads == binaries["copy"].loads
    assert binaries["copy"].wide_stores > 0
    assert binaries["product"].tensor_core > 0
    assert binaries["copy"].tensor_core == 0


@pytest.mark.parametrize("target", ALL_TARGETS)
def test_products_are_rounded_before_they_are_added(target: str, tmp_path: Path) -> None:
    """Of `x * x - y * y` a fused multiply-add would leave a rounding error where x is y."""
    text = """@triton.jit
def k(x, y, o):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    b = tl.load(y + i)
    tl.store(o + i, a * a - b * b)
"""
    made = unit(text, k="*fp32 *fp32 *fp32")
    binary = compile_kernel(made.text, made.kernels[0], target, cache_dir=tmp_path)
    assert re.search(r"\bmul\.(rn\.)?f32|v_(pk_)?mul_f32", binary.assembly)
    assert not re.search(r"\bfma\.|v_(pk_)?(fma|fmac|mad|mac)_", binary.assembly)


def test_without_alignment_loads_are_narrow(tmp_path: Path) -> None:
    narrow = kernel(BOTH.text, "copy", "*fp32 *fp32", aligned=False)
    assert compile_kernel(BOTH.text, narrow, "sm_90", cache_dir=tmp_path).wide_loads == 0


def _small(kernel: TritonKernel) -> TritonKernel:
    return replace(kernel, parameters=tuple(replace(p, small=True) for p in kernel.parameters))


@pytest.mark.parametrize("target", ["sm_90", "gfx942"])
def test_lanes_have_offsets_into_small_buffers(target: str, tmp_path: Path) -> None:
    """No branch around those that a mask leaves out, and as wide accesses as of other buffers."""
    made = unit(COPY.replace("tl.load(x + i)", "tl.load(x + i, mask=i < 100000)"), copy="*fp32 *fp32")
    kernels = (made.kernels[0], _small(made.kernels[0]))
    found = [compile_kernel(made.text, kernel, target, cache_dir=tmp_path) for kernel in kernels]
    assert [b.wide_loads == b.loads > 0 and b.wide_stores > 0 for b in found] == [True, True]
    offsets = [len(re.findall(r"buffer_(?:load|store)", b.assembly)) for b in found]
    branches = [len(re.findall("s_cbranch", b.assembly)) for b in found]
    if target == "gfx942":
        assert offsets[0] == 0 < offsets[1]
        assert branches[1] < branches[0]
    else:
        assert found[0] == found[1]


SIZES: dict[str, tuple[str, str, bool]] = {
    "known": ("1000", "", True),
    "less_than_2_gib": (str(2**29 - 1), "", True),
    "2_gib": (str(2**29), "", False),
    "a_symbol": ("?", "", False),
    "any_remains": ("1000", " combine any", True),
    "atomic": ("1000", " combine add", False),
}
"""Elements of f32; how stores meet; whether an offset of 31 bits is promised."""


@pytest.mark.parametrize(("size", "combine", "small"), SIZES.values(), ids=SIZES)
def test_buffers_of_known_size_are_small(size: str, combine: str, small: bool) -> None:
    """A group's are where those of all its parts are."""
    buffer = f"memref<{size}xf32>"
    text = f"""tk.func @k [1000] (%o: {buffer}) {{
      %0 = arith.constant 1.0 : f32
      tk.store %0, %o[d0]{combine} : f32, {buffer}
    }}
    tk.func @plain [1000] (%o: {buffer}) {{
      %0 = arith.constant 1.0 : f32
      tk.store %0, %o[d0] : f32, {buffer}
    }}
    tk.group @both (%a: {buffer}, %b: memref<1000xf32>, %c: memref<?xf32>) {{
      tk.part @k(%a)
      tk.part @plain(%a)
    }}
    func.func @main(%a: {buffer}, %b: memref<1000xf32>, %c: memref<?xf32>) {{
      th.launch @both() into(%a, %b, %c) : () into ({buffer}, memref<1000xf32>, memref<?xf32>)
      th.launch @k() into(%a) : () into ({buffer})
      func.return
    }}"""
    module = parse_module(new_context(), text, "small.mlir")
    run_pipeline(new_context(), module, parse_pipeline("schedule-gpu,apply-schedule"))
    unit = emit_unit(module)
    found = {k.name: [p.small for p in k.parameters] for k in unit.kernels}
    assert found["k"] == [small]
    assert found["both"] == [small, True, False]


def test_binaries_come_back_from_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = compile_kernel(BOTH.text, BOTH.kernels[0], "sm_90", cache_dir=tmp_path)
    monkeypatch.setitem(sys.modules, "tilewright.targets.gpu_triton.triton_compiler", None)
    assert compile_kernel(BOTH.text, BOTH.kernels[0], "sm_90", cache_dir=tmp_path) == first
    commented = BOTH.text.replace("model.py:3", "other.py:8")
    assert compile_kernel(commented, BOTH.kernels[0], "sm_90", cache_dir=tmp_path) == first
    alone = unit(COPY[: COPY.index("\n\n\n@triton.jit\ndef product")], copy="*fp32 *fp32")
    assert compile_kernel(alone.text, alone.kernels[0], "sm_90", cache_dir=tmp_path) == first


def test_damaged_binaries_are_built_again(tmp_path: Path) -> None:
    first = compile_kernel(BOTH.text, BOTH.kernels[0], "sm_90", cache_dir=tmp_path)
    (image,) = tmp_path.rglob(compiler.IMAGE)
    image.write_bytes(b"\x7fELF damaged")
    again = compile_kernel(BOTH.text, BOTH.kernels[0], "sm_90", cache_dir=tmp_path)
    assert again == first
    assert image.read_bytes() == first.image


def test_keys_hold_everything_that_matters() -> None:
    base = job(BOTH.text, BOTH.kernels[0], "sm_90")
    changed = [
        job(BOTH.text, BOTH.kernels[0], "sm_80"),
        job(BOTH.text.replace("* 2.0", "* 3.0"), BOTH.kernels[0], "sm_90"),  # a helper
        job(BOTH.text, kernel(BOTH.text, "copy", "*fp32 *fp32", warps=8), "sm_90"),
        job(BOTH.text, kernel(BOTH.text, "copy", "*fp32 *fp64"), "sm_90"),
        job(BOTH.text, kernel(BOTH.text, "copy", "*fp32 *fp32", aligned=False), "sm_90"),
        job(BOTH.text, _small(BOTH.kernels[0]), "sm_90"),
        job(BOTH.text, BOTH.kernels[0], "sm_90", {"maxnreg": 64}),
        job(BOTH.text, BOTH.kernels[0], "sm_90", assembler="TRITON_PTXAS_PATH=/bin/ptxas"),
    ]
    assert len({base.key, *(task.key for task in changed)}) == 9
    assert job(BOTH.text.replace("fp16", "fp16"), BOTH.kernels[0], "sm_90").key == base.key


def test_a_kernel_takes_its_helpers_along() -> None:
    source = source_of(BOTH.text, "copy")
    assert re.findall(r"def (\w+)", source) == ["helper", "copy"]
    assert "import triton.language as tl" in source
    assert re.findall(r"def (\w+)", source_of(BOTH.text, "product")) == ["product"]


@pytest.mark.parametrize("target", ["sm_90", "gfx942"])
def test_parts_of_groups_agree_in_types_and_load_widely(target: str, tmp_path: Path) -> None:
    (module,) = modules(Path(__file__).parent.parent / "targets" / "gpu_groups.mlir")
    run_pipeline(new_context(), module, parse_pipeline("schedule-gpu,apply-schedule"))
    groups = emit_unit(module)
    for group in groups.kernels:
        assert compile_kernel(groups.text, group, target, cache_dir=tmp_path).spills == 0
    (steps,) = (group for group in groups.kernels if group.name == "steps")
    wide = r"ld\.global\S*\.v4|global_load_dwordx4"
    assert re.search(wide, compile_kernel(groups.text, steps, target, cache_dir=tmp_path).assembly)


def test_options_reach_the_backend(tmp_path: Path) -> None:
    free = compile_kernel(BOTH.text, BOTH.kernels[1], "sm_80", cache_dir=tmp_path)
    tight = compile_kernel(BOTH.text, BOTH.kernels[1], "sm_80", cache_dir=tmp_path, options={"maxnreg": 64})
    assert free.registers > 64
    assert free.spills == 0
    assert tight.registers <= 64
    assert tight.spills > 0


def test_logs_say_what_kernels_take(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "tilewright.kernels"):
        compile_unit(BOTH, "sm_80", cache_dir=tmp_path)
        compile_unit(BOTH, "sm_80", cache_dir=tmp_path, options={"maxnreg": 64})
    said = [record.getMessage() for record in caplog.records]
    assert [text.partition(" for sm_80: ")[0] for text in said] == ["copy", "product"] * 2
    assert all(re.search(r"\d+ registers, \d+ bytes of shared memory, occupancy [01]\.\d\d", t) for t in said)
    assert ["spills" in text for text in said] == [False, False, False, True]


ROOM: dict[str, tuple[str, dict[str, Any], dict[int, int], list[int], int]] = {
    "at_once": ("sm_90", {}, {4: 0}, [4], 0),
    "fewer_programs": ("sm_90", {}, {4: 8, 3: 8, 2: 0}, [4, 3, 2], 0),
    "never": ("sm_90", {}, {}, [4, 3, 2, 1], 8),
    "all_registers": ("sm_90", {"registers": 255}, {}, [], 8),
    "no_spills": ("sm_90", {"spills": 0}, {}, [], 0),
    "another_assembler": ("gfx942", {}, {}, [], 8),
    "limited_by_options": ("sm_90", {"maxnreg": 96}, {}, [], 8),
}
"""Target; how the first binary differs; spills by number of programs; which are tried; what is left."""


@pytest.mark.parametrize(("target", "first", "spills", "tried", "left"), ROOM.values(), ids=ROOM)
def test_what_spills_with_registers_left_gets_more_room(
    target: str,
    first: dict[str, Any],
    spills: dict[int, int],
    tried: list[int],
    left: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tilewright.targets.gpu_triton import triton_compiler

    options = {name: value for name, value in first.items() if name == "maxnreg"}
    task = job(BOTH.text, BOTH.kernels[0], target, options)
    binary = Binary(
        target, "copy", b"", "", 4, 50_000, 0, 1, first.get("registers", 96), first.get("spills", 8)
    )
    asked: list[int] = []

    def build(made: compiler.Job) -> Binary:
        added = dict(made.options).get("ptx_options")
        if added is None:
            return binary
        asked.append(int(str(added).removeprefix("--minnctapersm=")))
        return replace(binary, spills=spills.get(asked[-1], 8))

    monkeypatch.setattr(triton_compiler, "_build", build)
    assert triton_compiler.build(task).spills == left
    assert asked == tried


@pytest.mark.parametrize(("first", "tried"), [(3, [3, 2, 1]), (1, [1])], ids=str)
def test_what_takes_too_much_shared_memory_gets_fewer_stages(
    first: int, tried: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tilewright.targets.gpu_triton import triton_compiler

    task = replace(job(BOTH.text, BOTH.kernels[0], "sm_90"), stages=first)
    asked: list[int] = []

    def build(made: compiler.Job) -> Binary:
        asked.append(made.stages)
        return Binary("sm_90", "copy", b"", "", 4, 150_000 * made.stages + 80_000, 0, 1, 96, 0)

    monkeypatch.setattr(triton_compiler, "_build", build)
    binary = triton_compiler.build(task)
    assert (binary.shared, binary.stages_left_out) == (230_000, first - 1)
    assert (f"{first - 1} stages less than scheduled" in binary.described) == (first > 1)
    assert asked == tried


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_ptxas_takes_a_number_of_programs(target: str, tmp_path: Path) -> None:
    """As `build` asks for it: four programs of four warps leave each thread 128 registers, one more."""
    spills: list[int] = []
    for programs in (1, 4):
        options = {"ptx_options": f"--minnctapersm={programs}"}
        spills.append(
            compile_kernel(BOTH.text, BOTH.kernels[1], target, cache_dir=tmp_path, options=options).spills
        )
    assert spills[0] == 0 < spills[1]


def test_refused_text_names_the_line(tmp_path: Path) -> None:
    bad = unit(BAD, k="*fp32")
    with pytest.raises(
        KernelRefused, match=r"(?s)TW2222.*@k for sm_90: arange.*at line 9: a = tl.arange\(0, 12\)"
    ):
        compile_kernel(bad.text, bad.kernels[0], "sm_90", cache_dir=tmp_path)
    helped = unit(
        "@triton.jit\ndef h():\n    return tl.arange(0, 12)\n\n\n@triton.jit\ndef k(x):\n    h()\n", k="*fp32"
    )
    with pytest.raises(KernelRefused, match=r"at line \d+: return tl.arange\(0, 12\)"):
        compile_kernel(helped.text, helped.kernels[0], "sm_90", cache_dir=tmp_path)
    assert not list(tmp_path.rglob("manifest"))


def test_what_comes_after_triton_fails(tmp_path: Path) -> None:
    with pytest.raises(AssemblerFailed, match=r"(?s)TW2223.*@copy.*sm_90.*no-such-option"):
        compile_kernel(
            BOTH.text,
            BOTH.kernels[0],
            "sm_90",
            cache_dir=tmp_path,
            options={"ptx_options": "--no-such-option"},
        )


def test_unknown_architecture(tmp_path: Path) -> None:
    with pytest.raises(UnknownArchitecture, match=r"(?s)TW2224.*sm_20.*sm_90") as caught:
        compile_kernel(BOTH.text, BOTH.kernels[0], "sm_20", cache_dir=tmp_path)
    assert ".py" not in str(caught.value)  # nobody is to edit an installed package


def test_without_triton(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "triton_version", lambda: "")
    with pytest.raises(TritonMissing, match=r"(?s)TW2221.*pip install 'tilewright\[gpu\]'"):
        compile_kernel(BOTH.text, BOTH.kernels[0], "sm_90", cache_dir=tmp_path)


def test_workers_fill_the_store(tmp_path: Path) -> None:
    """Errors come back with their class and text; other kernels are compiled nevertheless."""
    bad = unit(BAD, k="*fp32")
    text = BOTH.text + "\n\n" + BAD
    mixed = TritonUnit(text, (BOTH.kernels[0], bad.kernels[0]))
    with pytest.raises(KernelRefused, match=r"(?s)TW2222.*a = tl.arange"):
        compile_unit(mixed, "sm_90", cache_dir=tmp_path, workers=2)
    (facts,) = tmp_path.rglob(compiler.FACTS)
    assert json.loads(facts.read_text())["entry"] == "copy"


def test_workers_find_modules_as_we_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "triton.py").write_text("raise RuntimeError('another triton')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(AssemblerFailed, match="another triton"):
        compile_unit(BOTH, "sm_90", cache_dir=tmp_path / "cache", workers=2)


def test_an_assembler_of_its_own_is_known_by_its_file(tmp_path: Path) -> None:
    path = tmp_path / "ptxas"
    variables = {"TRITON_PTXAS_PATH": str(path), "TRITON_PTXAS_BLACKWELL_PATH": ""}
    missing = assembler(variables)
    path.write_text("one")
    there = assembler(variables)
    path.write_text("another")
    assert len({assembler({}), missing, there, assembler(variables)}) == 4
    assert assembler({}) == ""


def test_a_worker_that_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho out of memory >&2\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    with pytest.raises(WorkerLost, match=r"(?s)TW2225.*status 3.*out of memory"):
        compile_unit(BOTH, "sm_90", cache_dir=tmp_path, workers=2)


def test_another_worker_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    tasks = [compiler.job(BOTH.text, BOTH.kernels[0], name) for name in ("sm_80", "sm_90", "sm_100")]
    done: list[int] = []
    errors = compile_each(tasks, tmp_path, 1, lambda: done.append(1))
    assert {n: type(error) for n, error in errors.items()} == dict.fromkeys(range(3), WorkerLost)
    assert len(done) == 3


def test_the_longest_compile_begins_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []

    class Recorder(Pool):
        @contextmanager
        def worker(self, most: int) -> Generator[Any]:
            yield self

        def ask(self, message: tuple[Job, Path]) -> None:
            begun.append(message[0].kernel)

    monkeypatch.setattr(workers, "POOL", Recorder())
    compile_each([job(BOTH.text, kernel, "sm_90") for kernel in BOTH.kernels], tmp_path, 1)
    assert begun == ["product", "copy"]


def test_occupancy() -> None:
    sm_90 = ARCHITECTURES["sm_90"]
    assert sm_90.occupancy(registers=32, shared=0, warps=4) == 1.0
    assert sm_90.occupancy(registers=128, shared=0, warps=4) == 0.25
    assert sm_90.occupancy(registers=32, shared=100 << 10, warps=4) == 2 * 128 / 2048


def test_triton_leaves_no_cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "theirs"))
    compile_kernel(TEXT, kernel(TEXT, "halves", "*fp16 *fp16 *fp16"), "sm_80", cache_dir=tmp_path / "ours")
    assert os.listdir(tmp_path) == ["ours"]
