"""What this machine has for compiling: each finding with a remedy where something is missing."""

from __future__ import annotations

import ctypes
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from tilewright.dialects.diagnostics import TilewrightError

from .environment import Environment

OK, MISSING, WRONG = "ok", "missing", "wrong"
"""What works; what only some uses need; what stops compilation or gives wrong results."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    subject: str
    state: str
    """OK, MISSING or WRONG."""
    detail: str
    remedy: str = ""


def examine(environment: Environment) -> Iterator[Finding]:
    """Look at everything, one finding after the other; importing torch takes seconds."""
    yield _python()
    yield from _packages()
    for subject, look in _CHECKS.items():
        try:
            yield look(environment)
        except TilewrightError as error:
            what, *rest = str(error).splitlines()
            fix = next((line.partition("fix:")[2].strip() for line in rest if "fix:" in line), "")
            yield Finding(subject, WRONG, what, fix)


def _python() -> Finding:
    return Finding("python", OK, ".".join(map(str, sys.version_info[:3])))


def _packages() -> Iterator[Finding]:
    """The packages that tilewright requires, and those that its extras do."""
    for text in requires("tilewright") or ():
        requirement = Requirement(text)
        extra = str(requirement.marker).rpartition("==")[2].strip(" \"'") if requirement.marker else ""
        if extra == "dev":
            continue
        try:
            found = version(requirement.name)
        except PackageNotFoundError:
            remedy = f'pip install "{requirement.name}{requirement.specifier}"'
            detail = f"not installed (for the extra `{extra}`)" if extra else "not installed"
            yield Finding(requirement.name, MISSING if extra else WRONG, detail, remedy)
            continue
        if requirement.specifier.contains(found.partition("+")[0], prereleases=True):
            yield Finding(requirement.name, OK, found)
        else:
            remedy = f'pip install "{requirement.name}{requirement.specifier}"'
            yield Finding(requirement.name, WRONG, f"{found}, outside {requirement.specifier}", remedy)


def _compiler(environment: Environment) -> Finding:
    """Find the C++ compiler, and compile, load and call a parallel loop with it."""
    from tilewright.targets.native.build import find_compiler, run_compiler

    compiler = find_compiler(environment.variables)
    name = " ".join(compiler.command)
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "probe.cpp", Path(folder) / "probe.so"
        source.write_text(_PROBE)
        flags = ["-std=c++17", "-O1", "-shared", "-fPIC", "-fopenmp"]
        run_compiler([*compiler.command, *flags, str(source), "-o", str(library)])
        answer: int = ctypes.CDLL(str(library)).tilewright_probe(1000)
    if answer != 499500:
        return Finding(
            "C++ compiler", WRONG, f"{name} compiles a parallel sum to {answer}", "try another CXX"
        )
    return Finding("C++ compiler", OK, f"{name}, with OpenMP")


_PROBE = """\
extern "C" int tilewright_probe(int n) {
  int sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < n; ++i) sum += i;
  return sum;
}
"""


def _openmp(environment: Environment) -> Finding:
    from tilewright.targets.native.launch import openmp_library

    library = openmp_library()
    if library is None:
        detail = "torch ships none: kernels and torch would each start threads of their own"
        return Finding("OpenMP runtime", MISSING, detail, "install torch from PyPI's wheels")
    return Finding("OpenMP runtime", OK, f"torch's {library.name}, shared")


def _vectors(environment: Environment) -> Finding:
    from tilewright.targets.cpu_openmp.isa import machine_isa

    isa = machine_isa(environment.variables)
    return Finding("vectors", OK, f"{isa.vector_bits} bits{', bf16 products' if isa.bf16_dot else ''}")


def _cache(environment: Environment) -> Finding:
    folder = environment.cache
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return Finding("cache", OK, str(folder))
    except OSError as error:
        return Finding("cache", WRONG, str(error), "set TILEWRIGHT_CACHE_DIR to a folder that is writable")


def _backend(environment: Environment) -> Finding:
    """The entry point that makes `backend="mlir"` work."""
    from torch.compiler import list_backends  # pyright: ignore[reportUnknownVariableType]

    if "mlir" in list_backends():
        return Finding('backend "mlir"', OK, "registered with torch.compile")
    return Finding('backend "mlir"', WRONG, "torch.compile does not know it", "pip install tilewright again")


def _gpu(environment: Environment) -> Finding:
    """What torch sees, asked of the driver as launches do it; and whether kernels can be made for it."""
    import torch

    from tilewright.targets.gpu_triton.architectures import architecture

    from .runtime.gpu_runtime import libraries

    if not torch.cuda.is_available():
        return Finding(
            "GPU", MISSING, "torch sees none", "needed only to run on GPUs: driver and a CUDA torch"
        )
    driver, devices = libraries(environment.variables).open_driver(), range(torch.cuda.device_count())
    found = [f"{driver.name(i)} ({architecture(driver.architecture(i)).name})" for i in devices]
    return Finding("GPU", OK, ", ".join(found))


def _upstream(environment: Environment) -> Finding:
    from tilewright.dialects.upstream import available

    if not available():
        detail = "no bindings found; needed for --verify-upstream and upstream{...}"
        return Finding("upstream MLIR", MISSING, detail, "pip install torch-mlir")
    return Finding("upstream MLIR", OK, "bindings found")


_CHECKS: dict[str, Callable[[Environment], Finding]] = {
    "C++ compiler": _compiler,
    "OpenMP runtime": _openmp,
    "vectors": _vectors,
    "cache": _cache,
    'backend "mlir"': _backend,
    "GPU": _gpu,
    "upstream MLIR": _upstream,
}
