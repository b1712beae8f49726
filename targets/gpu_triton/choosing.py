"""The choice among configurations of a kernel: what machine code rules out, what a clock says, what is kept.

All are compiled. Those that spill, that take more shared memory than there is or that leave a
multiprocessor far emptier than others drop out; a clock decides among the rest, where there is a device.
Without one the first that is left is taken: the default, unless that is at fault.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tilewright.dialects.diagnostics import TilewrightError

from ..native.store import open_store
from .binary import Binary
from .compiler import Compiled, Job, compile_jobs, job, triton_version
from .kernel import TritonKernel

VERSION = "4"
"""Raised when kept choices must not be used."""
_FILE = "choice.json"
_GAIN = 0.97
"""Of the default's time: what is not faster than this is not worth another choice in each process."""

Number = ctypes.c_bool | ctypes.c_int32 | ctypes.c_int64 | ctypes.c_float
Argument = int | Number
"""What a launch is timed with: the bytes of a buffer, or a number."""
Clock = Callable[[TritonKernel, Binary, Sequence[Argument]], float]
"""(kernel, machine code, arguments) -> seconds; raises TilewrightError."""


@dataclass(frozen=True)
class Choice:
    """What was decided for one kernel."""

    number: int
    """Of the configuration, 0 for the default."""
    why: str
    kept: bool = True
    """Whether another process would decide alike: false where timing failed."""


@dataclass(frozen=True)
class Trial:
    """One configuration, as a kernel of its own."""

    number: int
    name: str
    kernel: TritonKernel
    task: Job
    arguments: Sequence[Argument] | None
    """None where they are only known at run time."""


class Subject(Protocol):
    """What has several configurations."""

    @property
    def title(self) -> str:
        """What a remark calls the choice."""
        ...

    @property
    def fills(self) -> bool:
        """Whether a fuller multiprocessor is always better: products trade occupancy for reuse."""
        ...

    def identity(self) -> Sequence[str]:
        """What determines the choice, but for the machine."""
        ...

    def trials(self) -> tuple[list[Trial], dict[int, str]]:
        """All configurations, and why some are none."""
        ...

    def take(self, choice: Choice) -> None:
        """Put the configuration in its place."""
        ...


@dataclass(frozen=True)
class Chooser:
    """Decides for one device."""

    architecture: str
    device: str
    """Its name: other chips of the same architecture may want other choices."""
    cache_dir: Path
    workers: int
    clock: Clock | None = None
    assembler: str = ""

    def decide(self, subjects: Sequence[Subject]) -> None:
        """Put the best configuration of each in its place."""
        waiting: list[tuple[Subject, str, list[Trial], dict[int, str]]] = []
        for subject in subjects:
            key = self._key(subject)
            found = self._kept(key)
            if found is not None:
                subject.take(found)
            else:
                waiting.append((subject, key, *subject.trials()))
        tasks = [trial.task for _, _, trials, _ in waiting for trial in trials]
        compiled = compile_jobs({task.key: task for task in tasks}, self.cache_dir, self.workers)
        for subject, key, trials, dropped in waiting:
            choice = self._choice(subject, trials, compiled, dropped)
            if choice.kept:
                self._keep(key, choice)
            subject.take(choice)

    def job(self, text: str, kernel: TritonKernel) -> Job:
        """What compiling a configuration takes."""
        return job(text, kernel, self.architecture, assembler=self.assembler)

    def _choice(
        self, subject: Subject, trials: Sequence[Trial], compiled: Compiled, dropped: dict[int, str]
    ) -> Choice:
        binaries: dict[int, Binary] = {}
        for trial in trials:
            if (error := compiled.errors.get(trial.task.key)) is not None:
                dropped[trial.number] = first_line(error)
            else:
                binaries[trial.number] = compiled.binaries[trial.task.key]
        dropped.update(at_fault(binaries, fills=subject.fills))
        left = [trial for trial in trials if trial.number not in dropped]
        unknown = any(trial.arguments is None for trial in left)
        if len(left) < 2 or self.clock is None or unknown:
            reason = "sizes are only known at run time" if unknown else "not timed"
            first = left[0].number if left else 0
            return Choice(first, _explained(subject, trials, first, reason, dropped))
        seconds = _timed(self.clock, left, binaries, dropped)
        if not seconds:
            first = left[0].number
            return Choice(first, _explained(subject, trials, first, "not timed", dropped), kept=False)
        best = fastest(seconds)
        times = ", ".join(f"{n}: {s * 1e6:.1f} us" for n, s in seconds.items())
        return Choice(best, _explained(subject, trials, best, times, dropped))

    def _key(self, subject: Subject) -> str:
        machine = [triton_version(), self.assembler, self.architecture, self.device]
        parts = ["choice", VERSION, *machine, *subject.identity()]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]

    def _kept(self, key: str) -> Choice | None:
        folder = open_store(self.cache_dir).find(key)
        return None if folder is None else Choice(**json.loads((folder / _FILE).read_text()))

    def _keep(self, key: str, choice: Choice) -> None:
        text = json.dumps({"number": choice.number, "why": choice.why})
        open_store(self.cache_dir).make(key, "choice", lambda folder: _write(folder / _FILE, text))


def _timed(
    clock: Clock, trials: Sequence[Trial], binaries: Mapping[int, Binary], dropped: dict[int, str]
) -> dict[int, float]:
    found: dict[int, float] = {}
    for trial in trials:
        assert trial.arguments is not None
        try:
            found[trial.number] = clock(trial.kernel, binaries[trial.number], trial.arguments)
        except TilewrightError as error:
            dropped[trial.number] = " ".join(str(error).split("\n  fix:")[0].split())
    return found


def _explained(
    subject: Subject, trials: Sequence[Trial], number: int, times: str, dropped: Mapping[int, str]
) -> str:
    """`autotune: 2 of 0-5, blocks 1x2048, 8 warps, 1 stages (0: 12.3 us, 2: 11 us; dropped: 1: ...)`."""
    name = next(trial.name for trial in trials if trial.number == number)
    reasons = "; ".join(f"{n}: {why}" for n, why in sorted(dropped.items()))
    lost = f"; dropped: {reasons}" if reasons else ""
    last = max(trials[-1].number, *dropped, 0)
    return f"{subject.title}: {number} of 0-{last}, {name} ({times}{lost})"


def first_line(error: TilewrightError) -> str:
    """What an error says first."""
    return str(error).partition("\n")[0]


def _write(file: Path, text: str) -> None:
    file.write_text(text)


def at_fault(binaries: Mapping[int, Binary], *, fills: bool) -> dict[int, str]:
    """Those that need no clock, with the reason."""
    found = {n: binary.misfit for n, binary in binaries.items() if binary.misfit}
    fitting = {n: b for n, b in binaries.items() if n not in found}
    least = min((b.spills for b in fitting.values()), default=0)
    found.update({n: b.fault for n, b in fitting.items() if b.spills > least})
    if fills:
        rest = {n: b.occupancy for n, b in fitting.items() if n not in found}
        most = max(rest.values(), default=0.0)
        found.update({n: f"occupancy {o:.2f} of {most:.2f}" for n, o in rest.items() if 2 * o < most})
    return found


def fastest(seconds: Mapping[int, float]) -> int:
    """The configuration of the shortest time; the first one unless another is clearly faster."""
    first = min(seconds)
    best = min(seconds, key=lambda n: (seconds[n], n))
    return best if seconds[best] < _GAIN * seconds[first] else first
