"""Triton text to machine code, on any machine: no GPU, driver or CUDA toolkit is needed.

What a kernel becomes depends on its own text, on its signature and on the versions that are
in the key of the store; comments are not among them.
"""

from __future__ import annotations

import ast
import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock

from tilewright.dialects.diagnostics import TilewrightError

from ..native.store import open_store
from .architectures import architecture
from .binary import Binary
from .compile_errors import TritonMissing
from .kernel import GivenText, Parameter, TritonKernel, TritonUnit

LOGGER = logging.getLogger("tilewright.kernels")
VERSION = "7"
"""Raised when binaries of older versions must not be used."""
IMAGE, ASSEMBLY, FACTS = "kernel.bin", "kernel.asm", "facts.json"


@dataclass(frozen=True)
class Job:
    """Everything that determines a binary."""

    source: str
    """The kernel and what it calls, without other kernels."""
    kernel: str
    parameters: tuple[Parameter, ...]
    warps: int
    stages: int
    architecture: str
    options: tuple[tuple[str, str | int | bool], ...] = ()
    """Further options of Triton's backend."""
    assembler: str = ""
    """What assembles instead of Triton's own ptxas."""
    given: GivenText | None = None
    """Of a kernel that a user wrote: its constants, and the order of its parameters."""

    @property
    def key(self) -> str:
        """What the store calls the binary."""
        parts = [VERSION, triton_version(), self.assembler, ast.unparse(ast.parse(self.source))]
        parts += [json.dumps([self.kernel, self.warps, self.stages, self.architecture, self.options])]
        parts += [json.dumps([[p.name, p.type, p.aligned, p.small] for p in self.parameters])]
        if self.given is not None:
            parts += [json.dumps([self.given.constants, self.given.order])]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


def triton_version() -> str:
    """The version of the installed package, or nothing."""
    try:
        return version("triton")
    except PackageNotFoundError:
        return ""


def job(
    text: str,
    kernel: TritonKernel,
    target: str,
    options: Mapping[str, str | int | bool] | None = None,
    assembler: str = "",
) -> Job:
    """What compiling `kernel` of `text` for `target` takes."""
    failure = (Parameter("failure", "*i32", aligned=True, small=True),) if kernel.checks else ()
    if kernel.given is not None:
        options = {"enable_fp_fusion": True, **(options or {})}  # as Triton compiles it for the user
    return Job(
        source=source_of(text, kernel.name) if kernel.given is None else kernel.given.text,
        kernel=kernel.entry,
        parameters=(*kernel.parameters, *failure),
        warps=kernel.warps,
        stages=kernel.stages,
        architecture=architecture(target).name,
        options=tuple(sorted((options or {}).items())),
        assembler=assembler,
        given=kernel.given,
    )


@lru_cache(maxsize=4)
def _tree(text: str) -> ast.Module:
    """Of a whole unit, which is asked for once per kernel."""
    return ast.parse(text)


def source_of(text: str, name: str) -> str:
    """The imports, the function `name` and the definitions that it needs, in their order."""
    tree = _tree(text)
    defined: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            defined[node.name] = node
        elif isinstance(node, ast.Assign):
            defined.update({target.id: node for target in node.targets if isinstance(target, ast.Name)})
    wanted, queue = {name: None}, [name]
    while queue:
        names = {n.id: None for n in ast.walk(defined[queue.pop()]) if isinstance(n, ast.Name)}
        new = [n for n in names if n in defined and n not in wanted]
        wanted.update(dict.fromkeys(new))
        queue += new
    kept = [id(defined[n]) for n in wanted]
    lines = text.splitlines()
    parts: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom) or id(node) in kept:
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            parts.append("\n".join(lines[first - 1 : node.end_lineno]))
    return "\n\n".join(parts) + "\n"


def compile_kernel(
    text: str,
    kernel: TritonKernel,
    target: str,
    *,
    cache_dir: Path,
    options: Mapping[str, str | int | bool] | None = None,
) -> Binary:
    """The machine code of a kernel, from the store or compiled.

    Raises TritonMissing, KernelRefused, AssemblerFailed, UnknownArchitecture.
    """
    return compile_job(job(text, kernel, target, options), cache_dir)


_IN_THIS_PROCESS = Lock()
"""Threads that wait for the kernels of a graph each use Triton one after the other."""


def compile_job(task: Job, cache_dir: Path) -> Binary:
    """As `compile_kernel`."""
    if (found := stored(task, cache_dir)) is not None:
        return found
    if not triton_version():
        raise TritonMissing(architecture=task.architecture, reason="it is an optional package")
    from .triton_compiler import build  # imports triton

    with _IN_THIS_PROCESS:
        binary = build(task)
    open_store(cache_dir).make(task.key, "kernel", lambda folder: _write(binary, folder))
    return binary


def stored(task: Job, cache_dir: Path) -> Binary | None:
    """The binary, where the store has it undamaged."""
    folder = open_store(cache_dir).find(task.key)
    if folder is None:
        return None
    facts = json.loads((folder / FACTS).read_text())
    return Binary(image=(folder / IMAGE).read_bytes(), assembly=(folder / ASSEMBLY).read_text(), **facts)


def _write(binary: Binary, folder: Path) -> None:
    facts = asdict(binary)
    (folder / IMAGE).write_bytes(facts.pop("image"))
    (folder / ASSEMBLY).write_text(facts.pop("assembly"))
    (folder / FACTS).write_text(json.dumps(facts))


@dataclass(frozen=True)
class Compiled:
    """What became of several kernels, each under its name."""

    binaries: Mapping[str, Binary]
    errors: Mapping[str, TilewrightError]

    @property
    def faults(self) -> dict[str, str]:
        """Those for which other blocks may be better, and why.

        Where none of several kernels compiles, that is no matter of blocks: something is not installed right.
        """
        found = {name: fault for name, binary in self.binaries.items() if (fault := binary.fault)}
        if self.binaries or len(self.errors) == 1:
            for name, error in self.errors.items():
                if not isinstance(error, TritonMissing):
                    found[name] = str(error).partition("\n")[0]
        return found

    def checked(self) -> dict[str, Binary]:
        """The binaries; raises the error of the first kernel that has none."""
        for error in self.errors.values():
            raise error
        return dict(self.binaries)


def compile_jobs(jobs: Mapping[str, Job], cache_dir: Path, workers: int) -> Compiled:
    """All of them; what the store lacks is compiled by so many processes, or by this one."""
    found = {name: stored(task, cache_dir) for name, task in jobs.items()}
    missing = [name for name, binary in found.items() if binary is None]
    errors: dict[str, TilewrightError] = {}
    if workers > 0 and len(missing) > 1 and triton_version():
        from .workers import compile_each  # subprocess and threads, needed here alone

        failed = compile_each([jobs[name] for name in missing], cache_dir, min(workers, len(missing)))
        errors = {missing[number]: failed[number] for number in sorted(failed)}
    binaries: dict[str, Binary] = {}
    for name in [name for name in jobs if name not in errors]:
        try:
            binaries[name] = found[name] or compile_job(jobs[name], cache_dir)
        except TilewrightError as error:
            errors[name] = error
    return Compiled(binaries, errors)


def try_unit(
    unit: TritonUnit,
    target: str,
    *,
    cache_dir: Path,
    workers: int = 0,
    options: Mapping[str, str | int | bool] | None = None,
    assembler: str = "",
) -> Compiled:
    """All kernels by name; what the store lacks is compiled by so many processes, or by this one.

    `tilewright.kernels` logs at level INFO what each takes of the architecture.
    """
    jobs = {kernel.name: job(unit.text, kernel, target, options, assembler) for kernel in unit.kernels}
    compiled = compile_jobs(jobs, cache_dir, workers)
    for name, binary in compiled.binaries.items():
        LOGGER.info("%s for %s: %s", name, target, binary.described)
    return compiled


def compile_unit(
    unit: TritonUnit,
    target: str,
    *,
    cache_dir: Path,
    workers: int = 0,
    options: Mapping[str, str | int | bool] | None = None,
) -> dict[str, Binary]:
    """As `try_unit`; raises what `compile_kernel` raises."""
    return try_unit(unit, target, cache_dir=cache_dir, workers=workers, options=options).checked()
