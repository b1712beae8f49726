"""Graphs on their way to functions, in steps: compilers make one while passes lower the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol

from ..collector import collector_paused
from ..fx.graph import Boundary
from .call import Boxed, Run
from .code import Code


@dataclass(frozen=True)
class Building:
    """What a target's `build` returns in place of a run: the rest takes compilers, and no passes."""

    compile: Callable[[], Callable[[], Run]]
    """Waits for compilers, in a thread of its own; what it returns loads what they made, in the caller's."""

    def begin(self) -> Future[Callable[[], Run]]:
        """Let the compilers begin."""
        thread = ThreadPoolExecutor(1)
        try:
            return thread.submit(self.compile)
        finally:
            thread.shutdown(wait=False)


def finished(built: Run | Building) -> Run:
    """The run; waits for compilers where these have work to do."""
    return built.compile()() if isinstance(built, Building) else built


@dataclass(frozen=True)
class Compiled:
    """One compiled graph."""

    call: Boxed
    boundary: Boundary | None
    """None where ATen runs it."""
    code: Code | None
    """None where there is nothing to run, or nothing to keep."""
    reason: str
    """Why it cannot be kept; empty where it can."""


class Steps(Protocol):
    """What is done with one imported graph."""

    def lower(self) -> Run | Building:
        """Run the passes, and emit text."""
        ...

    def compiled(self, run: Run) -> Compiled:
        """The result."""
        ...

    def rescue(self, error: Exception) -> Compiled:
        """What becomes of an error: a result that ATen runs, or the error, raised."""
        ...


class Compiling:
    """One imported graph. Each step begins with those before it, and ends at once where it was done.

    An error that nothing rescues is raised by each step.
    """

    def __init__(self, steps: Steps) -> None:
        self._steps: Steps | None = steps
        """None when there is a result: then nothing is kept that only compiling needs."""
        self._lock = Lock()
        self._built: Run | Building | None = None
        self._future: Future[Callable[[], Run]] | None = None
        self._result: Compiled | None = None
        self._error: Exception | None = None

    def lower(self) -> None:
        """Run the passes, and emit text."""
        self._step(self._lower)

    def begin(self) -> None:
        """Let compilers begin, where there is something to compile."""
        self._step(self._begin)

    def finish(self) -> Compiled:
        """Wait for them, and load what they made."""
        if self._result is None:
            self._step(self._finish)
        assert self._result is not None
        return self._result

    @property
    def busy(self) -> bool:
        """Whether compilers are at work, so that waiting for them is all that is left to do."""
        future = self._future
        return future is not None and not future.done()

    def _step(self, step: Callable[[Steps], object]) -> None:
        with self._lock, collector_paused():
            if self._error is not None:
                raise self._error
            if self._steps is None:
                return
            try:
                found = step(self._steps)
            except Exception as error:
                found = self._rescued(self._steps, error)
            if isinstance(found, Compiled):
                self._result, self._steps, self._built, self._future = found, None, None, None

    def _rescued(self, steps: Steps, error: Exception) -> Compiled:
        try:
            return steps.rescue(error)
        except Exception as raised:
            self._error = raised
            raise

    def _lower(self, steps: Steps) -> Run | Building:
        if self._built is None:
            self._built = steps.lower()
        return self._built

    def _begin(self, steps: Steps) -> None:
        built = self._lower(steps)
        if self._future is None and isinstance(built, Building):
            self._future = built.begin()

    def _finish(self, steps: Steps) -> Compiled:
        built = self._lower(steps)
        return steps.compiled(finished(built) if self._future is None else self._future.result()())


def call_of(compiling: Compiling, kind: str, begun: list[Compiling]) -> Boxed:
    """The function of a graph; that of a `forward` graph waits when it is called: another one comes first."""
    if kind != "forward":
        return compiling.finish().call

    compiling.begin()
    begun.append(compiling)

    def call(args: list[Any]) -> Sequence[Any]:
        return compiling.finish().call(args)

    call._boxed_call = True  # pyright: ignore[reportFunctionMemberAccess]
    return call
