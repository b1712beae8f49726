"""Checks the meaning of a module after each pass: a hook for `run_pipeline`.

    check = SemanticCheck(module)
    run_pipeline(ctx, module, passes, hooks=[check])

The module as it was given is run once per case, in its own types and in float64; so is every
module after it that differs from the one before. The first pass whose module disagrees is guilty,
and ChangedMeaning says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Attribute

from tilewright.passes.manager import PassRun
from tilewright.passes.setup import SETUP

from . import cost
from .errors import ChangedMeaning, NothingToRun
from .execute import RUN_TIME_ERRORS, AtenMaker, Outcome, argument_sizes, narrowest, run
from .inputs import Case, cases_for
from .judge import Precision, Values, difference
from .signature import Entry, Refused, entries, function_named, is_plan

BUDGET = 2.0
"""Seconds that one run of one function may take, as estimated before it starts."""


@dataclass(frozen=True)
class Expected:
    """What the module as it was given computes."""

    entry: Entry
    case: Case
    sizes: Sequence[Sequence[int]]
    """Of the arguments."""
    own: Outcome
    truth: Outcome


@dataclass(frozen=True)
class Mismatch:
    """How a module differs from what was expected."""

    expected: Expected
    text: str


@dataclass
class Baseline:
    """The outcomes that every later module is judged by."""

    given: ModuleOp
    """A copy of the module as it was given."""
    expected: list[Expected] = field(default_factory=list[Expected])
    refused: list[Refused] = field(default_factory=list[Refused])
    left_out: list[str] = field(default_factory=list[str])
    """Why some cases were not run."""
    narrow: Attribute | None = None
    aten: AtenMaker | None = None
    budget: float = BUDGET
    setup: ModuleOp | None = None
    """`@setup` as it was last seen, for modules from which it was taken."""
    promised: list[Expected] = field(default_factory=list[Expected])
    """Where a module raised from memory on: what raises there is an effect, which no pass may drop."""

    @staticmethod
    def of(
        module: ModuleOp, *, seed: int = 0, aten: AtenMaker | None = None, budget: float = BUDGET
    ) -> Baseline:
        """Run every function of `module` on all its cases."""
        baseline = Baseline(module.clone(), narrow=narrowest(module), aten=aten, budget=budget)
        found, baseline.refused = entries(module)
        for entry in found:
            for case in cases_for(entry, seed):
                baseline._add(module, entry, case)
        return baseline

    def _add(self, module: ModuleOp, entry: Entry, case: Case) -> None:
        needed = self._seconds(module, entry, case)
        if needed > self.budget:
            self.left_out.append(f"@{entry.name} ({case}) would take about {needed:.0f} s to interpret")
            return
        sizes = self._sizes(module, entry, case)
        if sizes is None:
            return
        own = run(module, entry, case, sizes, aten=self.aten)
        if not own.is_sound:
            # Sizes at which the function has no meaning, or ops without semantics.
            self.left_out.append(f"@{entry.name} ({case}): {type(own.error).__name__}: {own.error}")
            return
        truth = run(module, entry, case, sizes, float64=True, aten=self.aten)
        if truth.is_sound:
            self.expected.append(Expected(entry, case, sizes, own, truth))
            self._promise(module, self.expected[-1], own)
        else:
            self.left_out.append(f"@{entry.name} ({case}) in float64: {truth.error}")

    def _sizes(self, module: ModuleOp, entry: Entry, case: Case) -> Sequence[Sequence[int]] | None:
        try:
            sizes = argument_sizes(module, entry, case)
        except (KeyError, ZeroDivisionError, ValueError) as error:
            self.left_out.append(f"@{entry.name} ({case}): {type(error).__name__}: {error}")
            return None
        if any(n < 0 for shape in sizes for n in shape):
            self.left_out.append(f"@{entry.name} ({case}): a size is negative")
            return None
        return sizes

    def _seconds(self, module: ModuleOp, entry: Entry, case: Case) -> float:
        try:
            return cost.seconds(module, entry, case.values)
        except (KeyError, ZeroDivisionError, ValueError):
            return 0.0  # the run itself will say what is wrong

    def check(self, module: ModuleOp, only: Expected | None = None) -> tuple[Mismatch | None, list[str]]:
        """The first mismatch of `module`, and what was too costly to run."""
        costly: list[str] = []
        present = {entry.name for entry in entries(module)[0]}
        for expected in self.expected if only is None else [only]:
            entry, case = expected.entry, expected.case
            if entry.name not in present and entry.level == "kernel":
                continue  # merged with an equal kernel
            if self._seconds(module, entry, case) > self.budget:
                costly.append(f"@{entry.name} ({case})")
                continue
            if (text := self._compare(module, expected)) is not None:
                return Mismatch(expected, text), costly
        return None, costly

    def _setup(self, module: ModuleOp) -> ModuleOp | None:
        return None if function_named(module, SETUP) is not None else self.setup

    def _compare(self, module: ModuleOp, expected: Expected) -> str | None:
        entry, case, sizes = expected.entry, expected.case, expected.sizes
        own = run(module, entry, case, sizes, aten=self.aten, setup=self._setup(module))
        if expected.own.error is not None:
            self._promise(module, expected, own)
            return self.broken_promise(expected, own)
        after64 = run(module, entry, case, sizes, float64=True, aten=self.aten, setup=self._setup(module))
        return compare(expected, own, after64, self.narrow)

    def broken_promise(self, expected: Expected, own: Outcome) -> str | None:
        """How `own` lost an error that kernels raised, and that therefore had to stay."""
        if not self._is_promised(expected) or isinstance(own.error, RUN_TIME_ERRORS):
            return None
        return f"it no longer raises {type(expected.own.error).__name__}, as its kernels did"

    def _promise(self, module: ModuleOp, expected: Expected, own: Outcome) -> None:
        """Values have no effects, so an op that raises may go unread, and another error be met first.

        From the plan on what raises is a check in a kernel, and that is an effect.
        """
        function = function_named(module, expected.entry.name)
        effects = expected.entry.level == "kernel" or (function is not None and is_plan(function))
        if effects and isinstance(own.error, RUN_TIME_ERRORS) and not self._is_promised(expected):
            self.promised.append(expected)

    def _is_promised(self, expected: Expected) -> bool:
        return any(e is expected for e in self.promised)


def compare(expected: Expected, own: Outcome, own64: Outcome, narrow: Attribute | None) -> str | None:
    """How two outcomes differ from the expected ones; None where they agree."""
    if (text := _compare_errors(expected.own, own)) is not None:
        return text
    if expected.own.error is not None or own.error is not None:
        return None
    if own64.error is not None:
        return f"in float64 it raises {type(own64.error).__name__}: {own64.error}"
    if len(own.values) != len(expected.own.values):
        return f"it gives {own.results} results instead of {expected.own.results}"
    magnitude = max(expected.own.magnitude, expected.truth.magnitude)
    precision = Precision(narrow or f32, magnitude, narrow is not None)
    before, truth = expected.own.values, expected.truth.values
    for index, runs in enumerate(zip(before, own.values, truth, own64.values, strict=True)):
        text = difference(Values(*runs), precision, cancels=expected.case.style != "normal")
        if text is not None:
            return f"{expected.own.label(index)}: {text}"
    return None


def _compare_errors(before: Outcome, after: Outcome) -> str | None:
    """No error may come; one that was there may go with an op that nobody reads, or give way to another."""
    if after.error is None or before.error is not None:
        return None
    return f"it raises {type(after.error).__name__}: {after.error}"


@dataclass
class SemanticCheck:
    """The hook; `notes` says what could not be checked."""

    module: ModuleOp
    seed: int = 0
    aten: AtenMaker | None = None
    budget: float = BUDGET
    blame: bool = True
    notes: list[str] = field(default_factory=list[str])
    checked: int = 0
    """Comparisons that were made."""

    def __post_init__(self) -> None:
        self.baseline = Baseline.of(self.module, seed=self.seed, aten=self.aten, budget=self.budget)
        self.notes += [f"@{r.name} is not run: {r.why}" for r in self.baseline.refused]
        self.notes += [f"not run: {text}" for text in self.baseline.left_out]
        self.before = self.module.clone()

    def __call__(self, run: PassRun, module: ModuleOp) -> None:
        if module.is_structurally_equivalent(self.before):
            return
        mismatch, costly = self.baseline.check(module)
        if costly:
            self.notes.append(f"after {run.index} {run.spec}: too costly to interpret: {costly[0]} ...")
        if mismatch is not None:
            raise self._error(run, module, mismatch)
        self.checked += len(self.baseline.expected) - len(costly)
        self.before = module.clone()
        if function_named(module, SETUP) is not None:
            self.baseline.setup = self.before

    def _error(self, run: PassRun, module: ModuleOp, mismatch: Mismatch) -> ChangedMeaning:
        op, culprit = None, "the pass as a whole"
        if self.blame:
            from .blame import find_culprit

            wrong = partial(self._is_wrong, mismatch.expected)
            op, culprit = find_culprit(run.spec, self.before, module, wrong, mismatch.expected, self.aten)
        return ChangedMeaning(
            op,
            index=run.index,
            name=run.spec,
            entry=mismatch.expected.entry.name,
            difference=mismatch.text,
            inputs=str(mismatch.expected.case),
            culprit=culprit,
        )

    def _is_wrong(self, expected: Expected, module: ModuleOp) -> bool:
        return self.baseline.check(module, expected)[0] is not None

    def ready(self, file: str) -> SemanticCheck:
        """Itself; raises NothingToRun where no input could be run."""
        if not self.baseline.expected:
            reason = "\n".join(dict.fromkeys(self.notes)) or "it has no function with a body"
            raise NothingToRun(file=file, reason=reason)
        return self

    def summary(self) -> str:
        """One line on what was done, and one for each thing that was not."""
        count = len(self.baseline.expected)
        lines = [f"meaning checked: {count} inputs, {self.checked} comparisons"]
        return "\n".join([*lines, *(f"  {note}" for note in dict.fromkeys(self.notes))]) + "\n"

    def functions(self) -> Sequence[str]:
        """The functions that at least one input ran."""
        return list(dict.fromkeys(e.entry.name for e in self.baseline.expected))
