"""Kernels compiled in processes of their own, which leave the binaries in the store.

A worker runs `main` in a Python that finds modules where this one does (programs change `sys.path`): it
reads pickled jobs from its input and answers each with the kind and text of the error that it raised, or
None. Nothing is forked. Workers stay for the next graph: what they import takes as long as a kernel.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from tilewright.dialects.diagnostics import TilewrightError

from .compile_errors import AssemblerFailed, WorkerLost
from .compiler import Job, compile_job

_MAIN = f"from {__name__} import main; main()"
IDLE_SECONDS = 60.0
"""After so long without a graph, workers end."""
_COLLECTED_AFTER = (100_000, 10, 10)
"""Thresholds of a worker's garbage collector. A kernel makes many objects and few cycles: with Python's own
thresholds, looking for them takes 7% of what a worker does. With these it takes 30 MB more."""


def compile_each(
    jobs: Sequence[Job], cache_dir: Path, workers: int, done: Callable[[], object] = lambda: None
) -> dict[int, TilewrightError]:
    """Fill the store with the binaries of all jobs that compile; the errors of the others, by position.

    The longest are begun first, so that none is waited for at the end. `done` is called after each job, by
    any thread.
    """
    waiting: queue.SimpleQueue[tuple[int, Job]] = queue.SimpleQueue()
    for numbered in sorted(enumerate(jobs), key=lambda numbered: -_work(numbered[1])):
        waiting.put(numbered)
    errors: dict[int, TilewrightError] = {}

    def serve() -> None:
        while _serve(waiting, workers, cache_dir, errors, done):
            pass  # its process was lost: the next one goes on

    threads = [threading.Thread(target=serve) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def _work(task: Job) -> int:
    """What compiling takes, roughly: products and what is behind them are written out per fragment."""
    return len(task.source) * (1 + 4 * task.source.count("tl.dot"))


def _serve(
    waiting: queue.SimpleQueue[tuple[int, Job]],
    workers: int,
    cache_dir: Path,
    errors: dict[int, TilewrightError],
    done: Callable[[], object],
) -> bool:
    """One process: feed it jobs until none is left, or until it ends; then True."""
    if waiting.empty():
        return False
    with POOL.worker(workers) as worker:
        while True:
            try:
                number, task = waiting.get_nowait()
            except queue.Empty:
                return False
            try:
                answer = worker.ask((task, cache_dir))
            except (EOFError, OSError, pickle.UnpicklingError):
                errors[number] = WorkerLost(kernel=task.kernel, **worker.lost())
                done()
                return True
            if answer is not None:
                errors[number] = _revived(*answer)
            done()


def _revived(kind: type[TilewrightError], text: str) -> TilewrightError:
    """An error that another process raised; its text is complete."""
    error = kind.__new__(kind)
    Exception.__init__(error, text)
    return error


@dataclass(frozen=True)
class _Surroundings:
    """What a process inherits that may change what it does: it is not asked again where that is different."""

    executable: str
    path: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]

    @staticmethod
    def now() -> _Surroundings:
        return _Surroundings(sys.executable, tuple(sys.path), tuple(os.environ.items()))


class _Worker:
    """A process that compiles one job at a time."""

    def __init__(self, surroundings: _Surroundings) -> None:
        self.surroundings = surroundings
        path = list(surroundings.path)
        command = [surroundings.executable, "-c", f"import sys; sys.path[:] = {path!r}; {_MAIN}"]
        self._output = tempfile.TemporaryFile()  # a pipe that nobody reads would fill up
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._output
        )

    def ask(self, message: tuple[Job, Path]) -> tuple[type[TilewrightError], str] | None:
        """The answer to a job; EOFError, OSError or UnpicklingError where the process ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        _send(self._process.stdin, message)
        return pickle.load(self._process.stdout)

    def lives(self) -> bool:
        """False where the system, say, ended it while it waited."""
        return self._process.poll() is None

    def lost(self) -> dict[str, Any]:
        """How the process ended, and what it said."""
        self._process.kill()
        self._process.communicate()
        self._output.seek(0)
        reason = self._output.read().decode(errors="replace").strip()[-2000:] or "it said nothing"
        self._output.close()
        return {"status": self._process.returncode, "reason": reason}

    def end(self) -> None:
        """End the process, which has no job."""
        self._process.kill()
        self._process.communicate()
        self._output.close()


@dataclass
class Pool:
    """Processes that compile kernels, for all graphs that are compiled at a time."""

    _idle: list[_Worker] = field(default_factory=list[_Worker])
    _at_work: int = 0
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _timer: threading.Timer | None = None

    def start(self, count: int) -> None:
        """Have so many workers at hand soon: they import while the caller goes on."""
        with self._changed:
            now = self._keep_only(_Surroundings.now())
            self._idle += [_Worker(now) for _ in range(count - len(self._idle))]
            self._watch()

    @contextmanager
    def worker(self, most: int) -> Generator[_Worker]:
        """A worker that nobody else has; waits where `most` are at work, for graphs that came before."""
        with self._changed:
            self._changed.wait_for(lambda: self._at_work < most)
            self._at_work += 1
        worker: _Worker | None = None
        try:
            worker = self._take()
            yield worker
        finally:
            with self._changed:
                self._at_work -= 1
                if worker is not None and worker.lives():
                    self._idle.append(worker)
                    self._watch()
                self._changed.notify_all()

    def _take(self) -> _Worker:
        with self._changed:
            now = self._keep_only(_Surroundings.now())
            while self._idle:
                worker = self._idle.pop()
                if worker.lives():
                    return worker
                worker.end()
            return _Worker(now)

    def end(self) -> None:
        """End all that wait."""
        with self._changed:
            for worker in self._idle:
                worker.end()
            self._idle.clear()

    def forget(self) -> None:
        """In a process that was forked: the workers are its parent's."""
        self._idle, self._at_work, self._changed, self._timer = [], 0, threading.Condition(), None

    def _keep_only(self, surroundings: _Surroundings) -> _Surroundings:
        for worker in [worker for worker in self._idle if worker.surroundings != surroundings]:
            self._idle.remove(worker)
            worker.end()
        return surroundings

    def _watch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(IDLE_SECONDS, self.end)
        self._timer.daemon = True
        self._timer.start()


POOL = Pool()
atexit.register(POOL.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOL.forget)


# In a worker


def _send(stream: IO[bytes], message: Any) -> None:
    pickle.dump(message, stream)
    stream.flush()


def main() -> None:
    """Answer jobs until the input ends. What compiling imports is imported before the first one comes."""
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr  # whatever Triton prints must not end up among the answers
    with contextlib.suppress(Exception):  # a job's answer says what is wrong
        import_module(f"{__package__}.triton_compiler").hash_nothing()
    gc.set_threshold(*_COLLECTED_AFTER)
    os.environ["MLIR_DISABLE_MULTITHREADING"] = "1"  # there is a process for each processor, and one function
    while True:
        try:
            task, cache_dir = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        answer: tuple[type[TilewrightError], str] | None = None
        try:
            compile_job(task, cache_dir)
        except TilewrightError as raised:
            answer = (type(raised), str(raised))
        except Exception as raised:
            error = AssemblerFailed(kernel=task.kernel, architecture=task.architecture, reason=repr(raised))
            answer = (type(error), str(error))
        _send(answers, answer)
