"""The only module that imports triton: one job to one binary."""

from __future__ import annotations

import contextlib
import hashlib
import io
import linecache
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, NoReturn

from .architectures import Architecture, architecture
from .binary import Binary, resources_of_amdgcn, resources_of_ptxas
from .compile_errors import AssemblerFailed, KernelRefused
from .compiler import Job
from .ptx import with_product_loops

# The package has no type stubs.
triton: Any = import_module("triton")
compiler: Any = import_module("triton.compiler")
backends: Any = import_module("triton.backends.compiler")
cache: Any = import_module("triton.runtime.cache")
import_module("triton.compiler.code_generator")  # or the first kernel waits for it

_MOST_OUTPUT = 2000


def hash_nothing() -> None:
    """In a process that compiles for us alone, let the keys of Triton's cache, which stays empty, be short.

    They take a hash of all of libtriton. In a user's process, they are the keys of kernels not ours, too.
    """
    cache.triton_key = lambda: ""


def build(task: Job) -> Binary:
    """Compile; again, with fewer stages, what takes more shared memory than a program can have."""
    fitting, binary = task, _build(task)
    while binary.shared > binary.facts.shared_per_block and fitting.stages > 1:
        fitting = replace(fitting, stages=fitting.stages - 1)
        binary = _build(fitting)
    return replace(_with_room(fitting, binary), stages_left_out=task.stages - fitting.stages)


def _with_room(task: Job, binary: Binary) -> Binary:
    """The binary, or another one with room for more registers, where it spills while there are some left.

    ptxas spills a few so that more programs fit on a multiprocessor, not knowing what shared memory allows.
    """
    for programs in _fewer_programs(task, binary):
        asked = ("ptx_options", f"--minnctapersm={programs}")
        roomy = _build(replace(task, options=(*task.options, asked)))
        if not roomy.spills:
            return roomy
    return binary


def _fewer_programs(task: Job, binary: Binary) -> Iterable[int]:
    """How many programs of a multiprocessor to ask ptxas for: as many as now fit, then fewer."""
    facts = binary.facts
    given = any(name in ("maxnreg", "ptx_options") for name, _ in task.options)
    has_room = 0 < binary.spills and binary.registers < facts.registers_per_thread
    if facts.backend != "cuda" or given or not has_room:
        return ()
    fit = facts.programs(binary.registers, binary.shared, binary.warps)
    return dict.fromkeys(max(1, fit * quarters // 4) for quarters in (4, 3, 2, 0))


def _build(task: Job) -> Binary:
    """Compile, in a folder of its own: Triton's cache is not used, ours is."""
    stages = _Stages(architecture(task.architecture))
    log = io.StringIO()
    settings = triton.knobs
    with tempfile.TemporaryDirectory(prefix="tilewright-triton-") as folder, settings.cache.scope():
        settings.cache.dir = folder
        with (
            settings.nvidia.scope(),
            settings.runtime.scope(),
            settings.compilation.scope(),
            contextlib.redirect_stdout(log),
        ):
            settings.nvidia.dump_ptxas_log = True
            settings.compilation.store_binary_only = True  # nobody reads the IR, which takes time to print
            settings.runtime.add_stages_inspection_hook = stages
            compiled = _compile(task, log)
    assembly = stages.assembly
    resources = resources_of_ptxas(log.getvalue()) if stages.nvidias else resources_of_amdgcn(assembly)
    return Binary(
        architecture=task.architecture,
        entry=compiled.metadata.name,
        image=compiled.kernel,
        assembly=assembly,
        warps=compiled.metadata.num_warps,
        shared=compiled.metadata.shared,
        scratch=getattr(compiled.metadata, "global_scratch_size", 0) or 0,
        scratch_alignment=getattr(compiled.metadata, "global_scratch_align", 1) or 1,
        registers=resources[0],
        spills=resources[1],
    )


@dataclass
class _Stages:
    """What Triton calls for part of a key of its cache, and then with its stages, which may be changed.

    Of what they make, Triton keeps the binary, and this the assembly.
    """

    facts: Architecture
    assembly: str = ""

    @property
    def nvidias(self) -> bool:
        return self.facts.backend == "cuda"

    def __call__(self, *asked: Any) -> Any:
        if not asked:
            return f"{__name__} {with_product_loops.__name__}", ""
        stages: dict[str, Callable[..., Any]] = asked[1]
        name = "ptx" if self.nvidias else "amdgcn"
        write = stages[name]

        def written(*given: Any) -> str:
            text = write(*given)
            self.assembly = with_product_loops(text, self.facts.tensor_core) if self.nvidias else text
            return self.assembly

        stages[name] = written
        return None


def _compile(task: Job, log: io.StringIO) -> Any:
    """Triton's own compilation, with errors of ours."""
    source = _source(task)
    options = {
        "num_warps": task.warps,
        "num_stages": task.stages,
        "enable_fp_fusion": False,  # a program's sums take products rounded, as on CPUs (docs/ir.md)
        **dict(task.options),
    }
    target = backends.GPUTarget(*architecture(task.architecture).triton_target)
    try:
        return triton.compile(source, target=target, options=options)
    except compiler.CompilationError as error:
        _refused(task, error)
    except Exception as error:  # LLVM, ptxas and Triton's passes raise what they like
        output = f"{type(error).__name__}: {error}\n{log.getvalue()}".strip()[:_MOST_OUTPUT]
        raise AssemblerFailed(kernel=task.kernel, architecture=task.architecture, reason=output) from error


def _source(task: Job) -> Any:
    """What Triton compiles; constants of a user's kernel stand among its parameters."""
    function = _load(task)
    signature = {p.name: p.type for p in task.parameters}
    if task.given is None:
        return compiler.ASTSource(function, signature, {}, _promises(task))
    order, names = task.given.order, {"tl": triton.language}
    known = {(order.index(name),): eval(text, names) for name, text in task.given.constants}
    types = {name: signature.get(name, "constexpr") for name in order}
    promises = {(order.index(task.parameters[n].name),): kept for (n,), kept in _promises(task).items()}
    return compiler.ASTSource(function, types, known, promises)


def _promises(task: Job) -> dict[tuple[int], list[list[str | int]]]:
    """What Triton may rely on, by the number of the argument."""
    found: dict[tuple[int], list[list[str | int]]] = {}
    for number, parameter in enumerate(task.parameters):
        kept: list[list[str | int]] = []
        if parameter.aligned:
            kept.append(["tt.divisibility", 16])
        if parameter.small and architecture(task.architecture).buffer_loads:
            kept.append(["tt.pointer_range", 32])
        if kept:
            found[number,] = kept
    return found


def _load(task: Job) -> Any:
    """The function of the text; `inspect` finds its source by the name that the cache of lines knows."""
    name = f"<triton:{hashlib.sha256(task.source.encode()).hexdigest()[:16]}>"
    linecache.cache[name] = (len(task.source), None, task.source.splitlines(keepends=True), name)
    names: dict[str, Any] = {"__name__": "tilewright_kernels"}
    try:
        exec(compile(task.source, name, "exec"), names)  # the text is our own emission
    except Exception as error:
        line = getattr(error, "lineno", None) or 0
        raise KernelRefused(
            kernel=task.kernel,
            architecture=task.architecture,
            reason=f"{type(error).__name__}: {error}",
            line=line,
            source=linecache.getline(name, line).strip(),
        ) from error
    return names[task.kernel]


def _refused(task: Job, error: Any) -> NoReturn:
    """The innermost place: a helper's own error is the cause of its caller's."""
    inner = error
    while isinstance(inner.__cause__, compiler.CompilationError):
        inner = inner.__cause__
    source, line = "", 0
    if inner.src is not None and hasattr(inner.node, "lineno"):
        source = inner.src.split("\n")[inner.node.lineno - 1].strip()
        lines = enumerate(task.source.split("\n"), 1)
        line = next((number for number, text in lines if text.strip() == source), 0)
    cause = inner.__cause__
    reason = getattr(inner, "error_message", None) or (str(cause) if cause is not None else str(inner))
    raise KernelRefused(
        kernel=task.kernel,
        architecture=task.architecture,
        reason=str(reason).strip()[:_MOST_OUTPUT],
        line=line,
        source=source,
    ) from error
