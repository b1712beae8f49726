"""Runs a pipeline over a module and says how it fails: the one question of `reduce` and `bisect`."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from tilewright.dialects.diagnostics import FailedPass, TilewrightError
from tilewright.dialects.registry import new_context
from tilewright.passes.manager import PassRun, module_text, run_pipeline, verify_hook
from tilewright.passes.setup import end_of_setup, take_setup

from .aten_callback import aten_callback
from .errors import BadTestScript
from .session import Baseline, SemanticCheck

_NAMED = re.compile(r"`([^`{]+)")
_WORKPLACE = re.compile(r"[^\s:]*/\.making-[^/\s]+/")
"""The folder in which a compiler worked: its name is made up each time."""


@dataclass(frozen=True)
class Failure:
    """How a module fails."""

    kind: str
    """What a reduction must keep: a code and the pass or op it names, an exit status, `slow`."""
    message: str


@dataclass(frozen=True)
class Oracle:
    """What is done with a module, and what counts as failing."""

    passes: Sequence[ModulePass] = ()
    semantics: bool = True
    seed: int = 0
    emit: Callable[[ModuleOp], object] | None = None
    """Emits the module after the passes."""
    compiled: bool = False
    """Compile the module after the passes for CPUs, and compare what the code computes, if `semantics`."""
    slower_than: float | None = None
    """CPU seconds that all of it may take."""
    script: Path | None = None
    """An executable that judges a file by its exit status; nothing else is run then."""
    whole: bool = False
    """Also the passes after `hoist-frozen` see `@setup`, as those of `tilewright-opt` do and no compile's."""

    def failure(self, module: ModuleOp) -> Failure | None:
        """How `module`, which is left as it is, fails; None where all is well."""
        if self.script is not None:
            return self._by_script(module)
        copy = module.clone()
        start = _cpu_seconds()
        try:
            self._run(copy)
        except TilewrightError as error:
            text = str(error)
            named = _NAMED.search(text.partition("\n")[0])
            crash = type(error.__cause__).__name__ if isinstance(error, FailedPass) else ""
            kind = f"{error.code} {named[1] if named else ''} {crash}".strip()
            return Failure(kind, _WORKPLACE.sub("", text))
        except (DiagnosticException, Exception) as error:
            return Failure(type(error).__name__, f"{type(error).__name__}: {error}")
        if self.slower_than is not None and _cpu_seconds() - start > self.slower_than:
            return Failure("slow", f"it takes more than {self.slower_than:g} CPU seconds")
        return None

    def _run(self, module: ModuleOp) -> None:
        hooks: list[Callable[[PassRun, ModuleOp], None]] = [verify_hook()]
        baseline: Baseline | None = None
        if self.semantics and self.slower_than is None:
            check = SemanticCheck(module, seed=self.seed, aten=aten_callback, blame=False)
            baseline = check.baseline
            hooks.append(check)
        begun = 0 if self.whole else end_of_setup(self.passes)
        run_pipeline(new_context(), module, self.passes[:begun], hooks=hooks)
        if begun:
            take_setup(module)
        run_pipeline(new_context(), module, self.passes[begun:], hooks=hooks, first=begun + 1)
        if self.emit is not None:
            self.emit(module)
        if self.compiled:
            _compile(module, baseline)

    def that_fails(self, module: ModuleOp) -> tuple[Oracle, Failure] | None:
        """Itself, if `module` fails as in a compile, or else what runs it whole; and how it fails."""
        for oracle in (self, replace(self, whole=True)):
            if (failure := oracle.failure(module)) is not None:
                return oracle, failure
        return None

    def _by_script(self, module: ModuleOp) -> Failure:
        assert self.script is not None
        with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
            file = Path(folder) / "module.mlir"
            file.write_text(module_text(module))
            try:
                done = subprocess.run([self.script.absolute(), file], capture_output=True, cwd=folder)
            except OSError as error:
                raise BadTestScript(script=self.script, reason=error) from error
        return Failure(f"status {done.returncode}", f"{self.script} exits with {done.returncode}")


def _compile(module: ModuleOp, baseline: Baseline | None) -> None:
    """Compile a plan and its kernels; compare what the code computes with what is expected, if known."""
    from tilewright.targets.cpu_openmp.launch import load

    from .native import check_compiled

    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        compiled = load(module, cache_dir=Path(folder))
        if baseline is not None:
            check_compiled(compiled.call, module, baseline)


def _cpu_seconds() -> float:
    """Of this process and of the compilers that it ran."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
