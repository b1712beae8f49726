"""Kernels compiled in processes of their own, which leave the binaries in the store.

A worker runs `main` in a Python that finds modules where this one does (programs change `sys.path`): it
reads pickled jobs from its input and answers each with the kind and text of the error that it raised, or
None. Nothing is forked.
"""

from __future__ import annotations

import pickle
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from tilewright.dialects.diagnostics import TilewrightError

from .compile_errors import AssemblerFailed, WorkerLost
from .compiler import Job, compile_job

_MAIN = f"from {__name__} import main; main()"


def compile_all(jobs: Sequence[Job], cache_dir: Path, workers: int) -> None:
    """Fill the store with the binaries of all jobs; raises the error of the first job that failed."""
    errors = compile_each(jobs, cache_dir, workers)
    if errors:
        raise errors[min(errors)]


def compile_each(
    jobs: Sequence[Job], cache_dir: Path, workers: int, done: Callable[[], object] = lambda: None
) -> dict[int, TilewrightError]:
    """Fill the store with the binaries of all jobs that compile; the errors of the others, by position.

    `done` is called after each job, by any thread.
    """
    waiting: queue.SimpleQueue[tuple[int, Job]] = queue.SimpleQueue()
    for numbered in enumerate(jobs):
        waiting.put(numbered)
    errors: dict[int, TilewrightError] = {}

    def serve() -> None:
        while _serve(waiting, cache_dir, errors, done):
            pass  # its process was lost: the next one goes on

    threads = [threading.Thread(target=serve) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def _serve(
    waiting: queue.SimpleQueue[tuple[int, Job]],
    cache_dir: Path,
    errors: dict[int, TilewrightError],
    done: Callable[[], object],
) -> bool:
    """One process: feed it jobs until none is left, or until it ends; then True."""
    command = [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {_MAIN}"]
    with (
        tempfile.TemporaryFile() as output,  # a pipe that nobody reads would fill up
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        while True:
            try:
                number, task = waiting.get_nowait()
            except queue.Empty:
                process.stdin.close()
                return False
            try:
                _send(process.stdin, (task, cache_dir))
                answer = pickle.load(process.stdout)
            except (EOFError, OSError, pickle.UnpicklingError):
                errors[number] = _lost(process, output, task)
                done()
                return True
            if answer is not None:
                errors[number] = _revived(*answer)
            done()


def _lost(process: subprocess.Popen[bytes], output: IO[bytes], task: Job) -> WorkerLost:
    process.kill()
    process.communicate()
    output.seek(0)
    reason = output.read().decode(errors="replace").strip()[-2000:] or "it said nothing"
    return WorkerLost(kernel=task.kernel, status=process.returncode, reason=reason)


def _revived(kind: type[TilewrightError], text: str) -> TilewrightError:
    """An error that another process raised; its text is complete."""
    error = kind.__new__(kind)
    Exception.__init__(error, text)
    return error


def _send(stream: IO[bytes], message: Any) -> None:
    pickle.dump(message, stream)
    stream.flush()


def main() -> None:
    """Answer jobs until the input ends."""
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr  # whatever Triton prints must not end up among the answers
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
