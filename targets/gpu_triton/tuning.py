"""The choice among the configurations that `schedule-gpu{candidates=true}` names.

All are compiled. Those that spill, that take more shared memory than there is or that leave a
multiprocessor far emptier than others drop out; a clock decides among the rest, where there is a device.
Without one the first that is left is taken: the default, unless that is at fault.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.utils.hints import isa

from tilewright.dialects.diagnostics import TilewrightError
from tilewright.dialects.registry import new_context
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import bytes_of
from tilewright.passes.manager import module_text, run_pipeline
from tilewright.passes.rewrite import counting_rewrites, note, without_remarks
from tilewright.passes.schedule.apply_schedule import ApplySchedulePass
from tilewright.passes.schedule.blocks import BLOCKS, CANDIDATES, DESCRIPTORS, PRODUCT

from ..native.store import open_store
from .binary import Binary
from .compiler import Compiled, Job, compile_jobs, job, triton_version
from .emit import emit_unit
from .kernel import TritonKernel

VERSION = "3"
"""Raised when kept choices must not be used."""
_FILE = "choice.json"
_GAIN = 0.97
"""Of the default's time: what is not faster than this is not worth another choice in each process."""

Candidate = DictionaryAttr
Clock = Callable[[TritonKernel, Binary, Sequence[int]], float]
"""(kernel, machine code, bytes of the buffers) -> seconds; raises TilewrightError."""


@dataclass(frozen=True)
class Choice:
    """What was decided for one function."""

    number: int
    """Of the candidate, 0 for the default."""
    why: str
    kept: bool = True
    """Whether another process would decide alike: false where timing failed."""


@dataclass(frozen=True)
class Trial:
    """One configuration of one function, as a kernel of its own."""

    number: int
    name: str
    kernel: TritonKernel
    task: Job


@dataclass(frozen=True)
class Tuner:
    """Decides for one device."""

    architecture: str
    device: str
    """Its name: other chips of the same architecture may want other choices."""
    cache_dir: Path
    workers: int
    clock: Clock | None = None
    assembler: str = ""
    only: Container[str] | None = None
    """The functions to decide about; others stay as they are."""

    def __call__(self, module: ModuleOp, passes: Sequence[ModulePass] = (ApplySchedulePass(),)) -> None:
        """Put the best configuration of each function in its place; `passes` come next, of which the first
        is `apply-schedule`, and what is compiled and timed has gone through them all."""
        waiting: list[tuple[FuncOp, str, list[Trial], dict[int, str]]] = []
        for func in [op for op in module.ops if isinstance(op, FuncOp) and CANDIDATES in op.attributes]:
            if self.only is not None and func.sym_name.data not in self.only:
                del func.attributes[CANDIDATES]
                continue
            key = self._key(func, passes)
            found = self._kept(key)
            if found is not None:
                _take(func, found)
            else:
                waiting.append((func, key, *self._trials(func, passes)))
        tasks = [trial.task for _, _, trials, _ in waiting for trial in trials]
        compiled = compile_jobs({task.key: task for task in tasks}, self.cache_dir, self.workers)
        for func, key, trials, dropped in waiting:
            choice = self._choice(func, trials, compiled, dropped)
            if choice.kept:
                self._keep(key, choice)
            _take(func, choice)

    def _trials(self, func: FuncOp, passes: Sequence[ModulePass]) -> tuple[list[Trial], dict[int, str]]:
        """All candidates, and why some are none: passes fail on what is not the default."""
        trials, dropped = list[Trial](), dict[int, str]()
        for number, candidate in enumerate(_candidates(func)):
            try:
                trials.append(self._trial(func, passes, number, candidate))
            except TilewrightError as error:
                if number == 0:
                    raise
                dropped[number] = _first_line(error)
        return trials, dropped

    def _trial(self, func: FuncOp, passes: Sequence[ModulePass], number: int, candidate: Candidate) -> Trial:
        copy = func.clone()
        copy.attributes.update(candidate.data)
        module = ModuleOp([copy])
        with counting_rewrites(), without_remarks():  # these are no part of the compile
            run_pipeline(new_context(), module, passes)
        unit = emit_unit(module)
        kernel = unit.kernels[0]
        return Trial(number, _name_of(candidate), kernel, self._job(unit.text, kernel))

    def _job(self, text: str, kernel: TritonKernel) -> Job:
        return job(text, kernel, self.architecture, assembler=self.assembler)

    def _choice(
        self, func: FuncOp, trials: Sequence[Trial], compiled: Compiled, dropped: dict[int, str]
    ) -> Choice:
        binaries: dict[int, Binary] = {}
        for trial in trials:
            if (error := compiled.errors.get(trial.task.key)) is not None:
                dropped[trial.number] = _first_line(error)
            else:
                binaries[trial.number] = compiled.binaries[trial.task.key]
        dropped.update(at_fault(binaries, product=PRODUCT in func.attributes))
        left = [trial for trial in trials if trial.number not in dropped]
        sizes = buffer_sizes(func)
        if len(left) < 2 or self.clock is None or sizes is None:
            reason = "sizes are only known at run time" if sizes is None else "not timed"
            first = left[0].number if left else 0
            return Choice(first, self._explained(trials, first, reason, dropped))
        seconds = self._timed(left, binaries, sizes, dropped)
        if not seconds:
            return Choice(
                left[0].number, self._explained(trials, left[0].number, "not timed", dropped), kept=False
            )
        best = fastest(seconds)
        times = ", ".join(f"{n}: {s * 1e6:.1f} us" for n, s in seconds.items())
        return Choice(best, self._explained(trials, best, times, dropped))

    def _timed(
        self,
        trials: Sequence[Trial],
        binaries: Mapping[int, Binary],
        sizes: Sequence[int],
        dropped: dict[int, str],
    ) -> dict[int, float]:
        assert self.clock is not None
        found: dict[int, float] = {}
        for trial in trials:
            try:
                found[trial.number] = self.clock(trial.kernel, binaries[trial.number], sizes)
            except TilewrightError as error:
                dropped[trial.number] = " ".join(str(error).split("\n  fix:")[0].split())
        return found

    def _explained(self, trials: Sequence[Trial], number: int, times: str, dropped: Mapping[int, str]) -> str:
        """`autotune: 2 of 0-5, blocks 1x2048, 8 warps, 1 stages (0: 12.3 us, 2: 11 us; dropped: 1: ...)`."""
        name = next(trial.name for trial in trials if trial.number == number)
        reasons = "; ".join(f"{n}: {why}" for n, why in sorted(dropped.items()))
        lost = f"; dropped: {reasons}" if reasons else ""
        what = "autotune" if self.only is None else "scheduled again"
        last = max(trials[-1].number, *dropped, 0)
        return f"{what}: {number} of 0-{last}, {name} ({times}{lost})"

    def _key(self, func: FuncOp, passes: Sequence[ModulePass]) -> str:
        copy = func.clone()
        copy.properties["sym_name"] = StringAttr("k")
        parts = [
            "choice",
            VERSION,
            str(self.only is None),
            triton_version(),
            self.assembler,
            self.architecture,
            self.device,
        ]
        parts += [*map(str, passes), module_text(copy, locations=False)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]

    def _kept(self, key: str) -> Choice | None:
        folder = open_store(self.cache_dir).find(key)
        return None if folder is None else Choice(**json.loads((folder / _FILE).read_text()))

    def _keep(self, key: str, choice: Choice) -> None:
        text = json.dumps({"number": choice.number, "why": choice.why})
        open_store(self.cache_dir).make(key, "choice", lambda folder: _write(folder / _FILE, text))


def _first_line(error: TilewrightError) -> str:
    return str(error).partition("\n")[0]


def _write(file: Path, text: str) -> None:
    file.write_text(text)


def at_fault(binaries: Mapping[int, Binary], *, product: bool) -> dict[int, str]:
    """Those that need no clock, with the reason. Products trade occupancy for reuse."""
    found = {n: binary.misfit for n, binary in binaries.items() if binary.misfit}
    fitting = {n: b for n, b in binaries.items() if n not in found}
    least = min((b.spills for b in fitting.values()), default=0)
    found.update({n: b.fault for n, b in fitting.items() if b.spills > least})
    if not product:
        rest = {n: b.occupancy for n, b in fitting.items() if n not in found}
        most = max(rest.values(), default=0.0)
        found.update({n: f"occupancy {o:.2f} of {most:.2f}" for n, o in rest.items() if 2 * o < most})
    return found


def fastest(seconds: Mapping[int, float]) -> int:
    """The candidate of the shortest time; the first one unless another is clearly faster."""
    first = min(seconds)
    best = min(seconds, key=lambda n: (seconds[n], n))
    return best if seconds[best] < _GAIN * seconds[first] else first


def _take(func: FuncOp, choice: Choice) -> None:
    func.attributes.update(_candidates(func)[choice.number].data)
    del func.attributes[CANDIDATES]
    note(func, choice.why)


def _candidates(func: FuncOp) -> Sequence[Candidate]:
    found = func.attributes[CANDIDATES]
    assert isa(found, ArrayAttr[DictionaryAttr]), found
    return found.data


def _name_of(candidate: Candidate) -> str:
    flat = [n for n in _integers(candidate.data[BLOCKS])]
    (warps,), (stages,) = (_integers(candidate.data[name]) for name in ("tk.warps", "tk.stages"))
    blocks = "x".join(str(n) for n in flat[1::2])
    described = ", by descriptor" if DESCRIPTORS in candidate.data else ""
    return f"blocks {blocks}, {warps} warps, {stages} stages{described}"


def _integers(attribute: Attribute) -> list[int]:
    """The numbers of an integer or of an array of them."""
    if isa(attribute, DenseArrayBase[IntegerType]):
        return list(attribute.get_values())
    assert isa(attribute, IntegerAttr), attribute
    return [attribute.value.data]


def buffer_sizes(func: FuncOp) -> list[int] | None:
    """Bytes of each buffer; None where a size is only known at run time."""
    found: list[int] = []
    for arg in func.body.block.args:
        if not isa(arg.type, MemRefType):
            return None
        count = 1
        for size in arg.type.get_shape():
            count *= size
        if count < 0 or func.symbols.exprs:
            return None
        found.append(count * bytes_of(arg.type.element_type))
    return found
