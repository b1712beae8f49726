"""Emitted kernels under other compilers: clang++, and g++ for AArch64 whose program runs in qemu.

All kernels of `tk_cases` become one program with the flags of the product. It reads every buffer,
calls every kernel and writes every buffer; the reference is the interpreter of `tk`.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from test_cpu_math import BOUNDS
from tk_cases import CASES
from tk_harness import Case, buffers_of, parse, run, scheduled

from tilewright.dialects.tk.kernels import FuncOp
from tilewright.targets.cpu_openmp.build import HERE
from tilewright.targets.cpu_openmp.emit import emit_cpp
from tilewright.targets.cpu_openmp.emit_kernel import has_checks
from tilewright.targets.native import build as native

NARROW = "coalesce-axes,schedule-cpu{vector-bits=128},apply-schedule"
WIDE = "coalesce-axes,schedule-cpu,apply-schedule"
Types = Sequence[tuple[str, int]]


@dataclass(frozen=True)
class Toolchain:
    """How a program is made and run."""

    compiler: tuple[str, ...]
    flags: tuple[str, ...]
    pipeline: str
    runner: tuple[str, ...] = ()
    same_lanes: bool = True
    """Whether products and sums are contracted alike in scalar loops and in vectors."""


TOOLCHAINS: Mapping[str, Toolchain] = {
    "clang": Toolchain(
        ("clang++", "clang++-19", "clang++-16", "clang++-14"), ("-march=native",), WIDE, same_lanes=False
    ),
    "clang_narrow": Toolchain(("clang++", "clang++-19", "clang++-16", "clang++-14"), (), NARROW),
    "neon": Toolchain(("aarch64-linux-gnu-g++",), ("-static",), NARROW, ("qemu-aarch64",)),
    "neon_with_halves": Toolchain(
        ("aarch64-linux-gnu-g++",), ("-static", "-march=armv8.2-a+fp16+bf16"), NARROW, ("qemu-aarch64",)
    ),
}


def checked_program(name: str, source: str, folder: Path) -> Callable[[bytes], bytes]:
    """The program of `source`, from its input to its output; skips where a tool is missing."""
    chain = TOOLCHAINS[name]
    compiler = next((found for each in chain.compiler if (found := shutil.which(each))), None)
    missing = [tool for tool in chain.runner if shutil.which(tool) is None]
    if compiler is None or missing:
        pytest.skip(f"needs {chain.compiler[0] if compiler is None else missing[0]}")
    file, program = folder / "program.cpp", folder / "program"
    file.write_text(source)
    flags = [flag for flag in native.FLAGS if flag not in ("-shared", "-fPIC")]
    folders = [f"-I{HERE}", f"-I{Path(native.__file__).parent}"]
    command = [compiler, *flags, *chain.flags, *folders, str(file), "-o", str(program), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    run_it = [*chain.runner, str(program)]
    return lambda data: subprocess.run(run_it, input=data, capture_output=True, check=True).stdout


_IO = """
extern "C" {
long read(int, void*, unsigned long);
long write(int, const void*, unsigned long);
void* malloc(unsigned long);
}
static void read_all(void* to, long n) {
  for (long done = 0; done < n;) {
    const long got = read(0, (char*)to + done, n - done);
    if (got <= 0) __builtin_trap();
    done += got;
  }
}
static void write_all(const void* from, long n) {
  for (long done = 0; done < n;) done += write(1, (const char*)from + done, n - done);
}
"""


def function_of(case: Case) -> FuncOp:
    return next(op for op in parse(case.text).ops if isinstance(op, FuncOp))


def part(number: int, case: Case, pipeline: str, buffers: Sequence[bytes]) -> str:
    """A kernel, and a function that feeds it."""
    text = emit_cpp(scheduled(case.text, pipeline)).replace('#include "prelude_math.h"', "")
    lines = [f"void* b{i} = malloc({len(b) + 64}); read_all(b{i}, {len(b)});" for i, b in enumerate(buffers)]
    types = [line.split()[0] for line in case.buffers]
    given = [f"({'bool' if t == 'i1' else t}*)b{i}" for i, t in enumerate(types)]
    lines.append(f"f({', '.join([*given, *map(str, case.symbols.values())])});")
    lines += [f"write_all(b{i}, {len(b)});" for i, b in enumerate(buffers)]
    body = "\n  ".join(lines)
    return f"namespace case{number} {{\n{text}\nstatic void run() {{\n  {body}\n}}\n}}\n"


def packed(array: np.ndarray, element: str) -> bytes:
    """As the kernel has it in memory; the interpreter carries bf16 as f32."""
    if element == "bf16":
        return (array.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
    return array.tobytes()


def unpacked(data: bytes, element: str, like: np.ndarray) -> np.ndarray:
    if element == "bf16":
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(data, like.dtype)


@pytest.mark.parametrize("name", TOOLCHAINS)
def test_kernels_agree_with_the_interpreter(name: str, tmp_path: Path) -> None:
    cases = {key: case for key, case in CASES.items() if not has_checks(function_of(case))}
    assert len(cases) > 25
    given = {key: buffers_of(case, np.random.default_rng(0)) for key, case in cases.items()}
    elements = {key: [line.split()[0] for line in case.buffers] for key, case in cases.items()}
    data = {key: [packed(*pair) for pair in zip(given[key], elements[key], strict=True)] for key in cases}
    pipeline = TOOLCHAINS[name].pipeline
    parts = [part(i, case, pipeline, data[key]) for i, (key, case) in enumerate(cases.items())]
    calls = " ".join(f"case{i}::run();" for i in range(len(parts)))
    source = "\n".join(['#include "prelude_math.h"', _IO, *parts, f"int main() {{ {calls} }}\n"])
    answer = checked_program(name, source, tmp_path)(b"".join(b for each in data.values() for b in each))
    at = 0
    for key, case in cases.items():
        expected = run(parse(case.text), given[key], case.symbols)
        for want, raw, element in zip(expected, data[key], elements[key], strict=True):
            got = unpacked(answer[at : at + len(raw)], element, want)
            at += len(raw)
            bound = max(case.tolerance, 1e-5)
            np.testing.assert_allclose(got, want, rtol=bound, atol=bound, err_msg=f"{key} ({element})")
    assert at == len(answer)


@pytest.mark.parametrize("name", TOOLCHAINS)
def test_elementary_functions(name: str, tmp_path: Path) -> None:
    """In one lane and in four the error is small; the bits are the same where contraction is."""
    x = np.concatenate([np.linspace(-9, 9, 4096), [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, -3e38]])
    x = x.astype(np.float32)
    loop = f"for (int i = 0; i < {x.size}; i += "
    loops = [
        f"{loop}1) y[i] = tw::{function}(x[i]); write_all(y, sizeof y);\n"
        f"{loop}4) tw::store(y + i, tw::{function}(tw::load<4>(x + i))); write_all(y, sizeof y);\n"
        for function in BOUNDS
    ]
    main = (
        f"static f32 x[{x.size}], y[{x.size}];\nint main() {{ read_all(x, sizeof x); {' '.join(loops)} }}\n"
    )
    program = checked_program(name, f'#include "prelude_math.h"\n{_IO}\n{main}', tmp_path)
    found = np.frombuffer(program(x.tobytes()), np.float32).reshape(len(BOUNDS), 2, x.size)
    for function, (one, four) in zip(BOUNDS, found, strict=True):
        if TOOLCHAINS[name].same_lanes:
            np.testing.assert_array_equal(one, four, err_msg=function)
        if (known := getattr(np, function, None)) is not None:
            with np.errstate(all="ignore"):
                exact = known(x.astype(np.float64))
            np.testing.assert_allclose(
                one, exact, rtol=BOUNDS[function] * 2.0**-22, atol=1e-37, err_msg=function
            )
