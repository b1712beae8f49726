"""One bug in a copy of the tree, and the tests that are asked about it, in processes that share torch."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import order
import pytest
from fault import Fault
from results import Result

REACHES = ("asked", "lit", "near", "all")
"""How far a trial looks: what `--ask` names or what caught the bug before; the lit files of the part too; its
pytest files too; every test."""
_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
_LEFT_OUT = (".git", ".venv", "build", "dist", "shared", ".pytest_cache", ".ruff_cache")


def copy_tree(root: Path, place: Path) -> Path:
    """The tree without what is built, at `place`."""
    tree = place / "tree"
    shutil.copytree(root, tree, symlinks=True, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    return tree


@dataclass(frozen=True)
class Trial:
    """Tries bugs, one after the other, in a tree that it may change."""

    tree: Path
    reach: str
    """One of REACHES."""
    cpu_seconds: float
    cache: Path
    """Of compiled code, for every bug."""

    def of(self, fault: Fault, first: Sequence[str] = ()) -> Result:
        """Ask the tests until one fails: `first`, then from the nearest on."""
        path = self.tree / fault.file
        sound_text, times = path.read_text(), path.stat()
        before = _children()
        try:
            path.write_text(fault.text(self.tree))
            failed = self._one_of(first)
            if failed or self.reach == "asked":
                stage, test = "asked", failed
            else:
                stage, test = self._first_failure(fault, before)
        finally:
            path.write_text(sound_text)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        return Result(fault.digest, test, stage, _children() - before)

    def _one_of(self, tests: Sequence[str]) -> str:
        for name in tests:
            if not (self.tree / name.partition("::")[0]).exists():
                continue
            lit = name.endswith(".mlir")
            if failed := self._failed_lit([name]) if lit else self._failed([name], self.cpu_seconds):
                return failed
        return ""

    def _failed(self, tests: Sequence[str], seconds: float) -> str:
        return run_pytest(self.tree, tests, seconds, self.cache)

    def _failed_lit(self, names: Sequence[str]) -> str:
        return next((failed for name in names if (failed := failed_lit(self.tree, name))), "")

    def _first_failure(self, fault: Fault, before: float) -> tuple[str, str]:
        own = order.lit_files(self.tree, fault)
        near = order.near_tests(self.tree, fault)
        stages: list[tuple[str, Sequence[str]]] = [("semantic", order.semantic_tests(own)), ("lit", own)]
        if self.reach in ("near", "all"):
            stages.append(("near", near))
        if self.reach == "all":
            stages += [("lit", ["test"]), ("other", order.other_tests(self.tree, near))]
        for stage, tests in stages:
            left = self.cpu_seconds - (_children() - before)
            if not tests or (left < 0 and stage != "lit"):
                continue
            if failed := self._failed_lit(tests) if stage == "lit" else self._failed(tests, left):
                return stage, failed
        return self.reach, ""


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(tree / "test/importroot"), "PYTHONDONTWRITEBYTECODE": "1"}


def failed_lit(tree: Path, name: str) -> str:
    """The first lit file that fails, of a folder or by itself."""
    lines = _lit(tree, name).stdout.splitlines()
    return next((line.split()[3] for line in lines if line.startswith("FAIL: ")), "")


def _lit(tree: Path, name: str) -> subprocess.CompletedProcess[str]:
    program = str(Path(sys.executable).parent / "lit")
    command = [program, "-v", "-j1", name]
    return subprocess.run(command, cwd=tree, env=_environment(tree), capture_output=True, text=True)


class _Recorder:
    """A pytest plug-in: which test runs, and which failed first."""

    def __init__(self, path: Path, cache: Path) -> None:
        self.path = path
        self.cache = cache

    def _write(self, **what: str) -> None:
        self.path.write_text(json.dumps(what))

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """One cache for all bugs: its keys hold the sources, and most code is the same in every tree."""
        os.environ["TILEWRIGHT_CACHE_DIR"] = str(self.cache)

    def pytest_runtest_logstart(self, nodeid: str, location: object) -> None:
        self._write(running=nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self._write(failed=report.nodeid)
            os._exit(1)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._write(failed=report.nodeid)
            os._exit(1)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Of a name that pytest does not know nothing has run."""
        known = exitstatus not in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED)
        self._write(**{"done" if known else "unknown": "yes"})


def run_pytest(tree: Path, tests: Sequence[str], cpu_seconds: float, cache: Path) -> str:
    """The first test that fails or crashes; empty if none does in that time."""
    found = _outcome(tree, tests, cpu_seconds, cache)
    return found.get("failed") or found.get("running") or ""


def _outcome(tree: Path, tests: Sequence[str], cpu_seconds: float, cache: Path) -> dict[str, str]:
    """What the recorder wrote last; nothing if time ran out."""
    _warm_up()
    path = tree / "build" / "faults-test.json"
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    if (pid := os.fork()) == 0:
        _child(tree, tests, _Recorder(path, cache), cpu_seconds)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) not in _CRASHES:
        return {}  # out of time or ended by somebody, which shows nothing
    found: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    return found or {"failed": f"collecting {tests[0]}"}


def _warm_up() -> None:
    """Import what takes long, once; nothing of the compiler itself, which differs from bug to bug."""
    import torch._dynamo
    import torch._functorch.aot_autograd  # noqa: F401
    import xdsl.dialects.func  # noqa: F401

    assert "tilewright" not in sys.modules


def _child(tree: Path, tests: Sequence[str], recorder: _Recorder, cpu_seconds: float) -> None:
    """Run pytest in this process, which then ends."""
    with open(tree / "build" / "faults-test.log", "w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    limit = int(cpu_seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 10))
    os.chdir(tree)
    os.environ.update(_environment(tree))
    sys.dont_write_bytecode = True
    sys.path[:] = [str(tree / "test/importroot"), *(p for p in sys.path if not _is_ours(p))]
    pytest.main(
        ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "", *tests], plugins=[recorder]
    )
    os._exit(0)


def _is_ours(path: str) -> bool:
    return path.endswith(("test/importroot", "test/faults"))


def sound(tree: Path, tests: Sequence[str], cache: Path) -> bool:
    """Whether the tests are there and pass without a bug: a test that always fails catches nothing."""
    chosen = list(dict.fromkeys(tests))
    lit = [name for name in chosen if name.endswith(".mlir")]
    bad = [name for name in lit if failed_lit(tree, name)]
    others = [name for name in chosen if name not in lit]
    if others and "done" not in (found := _outcome(tree, others, 3600, cache)):
        bad.append(found.get("failed") or found.get("running") or "tests that are gone, or take too long")
    print(f"fail without a bug: {', '.join(bad) or 'none'} of {len(chosen)}")
    return not bad
