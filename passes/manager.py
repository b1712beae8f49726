"""Runs a pipeline over a module, with hooks for verification, dumps and timing.

    passes = parse_pipeline("fuse{max-ops=64},dce")
    run_pipeline(ctx, module, passes, hooks=[verify_hook(), timing])

Nothing here knows a particular pass.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from time import perf_counter
from traceback import walk_tb

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import parse_pipeline as parse_specs
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException

from tilewright.dialects.diagnostics import (
    BrokenByPass,
    FailedPass,
    LostLocation,
    MalformedPipeline,
    TilewrightError,
    UnwritableOutput,
)
from tilewright.dialects.printer import ModulePrinter
from tilewright.dialects.verification import Verifier, broken_op

from .function_pass import has_default
from .pass_options import pass_from_spec
from .registry import pass_class
from .rewrite import FailedRule


@dataclass(frozen=True)
class PassRun:
    """One pass that just ran: what a hook is told."""

    index: int
    """Position in the pipeline, from 1 (0 is the input)."""
    spec: str
    """The pass with its options, as `-p` takes it."""
    seconds: float

    @property
    def name(self) -> str:
        return self.spec.partition("{")[0]


Hook = Callable[[PassRun, ModuleOp], None]


def parse_pipeline(text: str) -> tuple[ModulePass, ...]:
    """The passes of `name{key=value ...},name`; raises MalformedPipeline, UnknownName, BadPassOption."""
    try:
        specs = tuple(parse_specs(text))
    except ArgSpecParseError as error:
        raise MalformedPipeline(text=text, reason=str(error)) from error
    return tuple(pass_from_spec(pass_class(spec.name), spec) for spec in specs)


Fact = int | bool | str | tuple[str, ...]
"""What a target says of its machine: a number, a yes or no, a name, or names."""


def with_facts(passes: Sequence[ModulePass], facts: Mapping[str, Fact]) -> tuple[ModulePass, ...]:
    """The passes, each with those facts about the machine that it has an option for and was not told."""

    def told(pass_: ModulePass) -> ModulePass:
        names = {field.name for field in dataclasses.fields(pass_)}
        new = {k: v for k, v in facts.items() if k in names and has_default(pass_, k)}
        return dataclasses.replace(pass_, **new)

    return tuple(map(told, passes))


def run_pipeline(
    ctx: Context,
    module: ModuleOp,
    passes: Sequence[ModulePass],
    *,
    hooks: Sequence[Hook] = (),
    first: int = 1,
) -> None:
    """Apply `passes` in order, numbered from `first`; each hook sees the module after each pass."""
    for index, pass_ in enumerate(passes, start=first):
        start = perf_counter()
        _apply(pass_, index, ctx, module)
        run = PassRun(index, str(pass_), perf_counter() - start)
        for hook in hooks:
            hook(run, module)


def _apply(pass_: ModulePass, index: int, ctx: Context, module: ModuleOp) -> None:
    """Name the pass, its line and the op where it fails with anything but a diagnostic."""
    try:
        pass_.apply(ctx, module)
    except TilewrightError:
        raise
    except Exception as error:
        cause, op = (error.cause, error.op) if isinstance(error, FailedRule) else (error, None)
        reason = f"{type(cause).__name__}: {cause}\n{_raised_at(cause, pass_)}"
        raise FailedPass(op, index=index, name=str(pass_), reason=reason) from cause


def _raised_at(error: Exception, pass_: ModulePass) -> str:
    """The innermost line of the pass's own module, or of anything where it has none."""
    frames = [(f.f_code, line) for f, line in walk_tb(error.__traceback__)]
    home = getattr(sys.modules.get(type(pass_).__module__), "__file__", None)
    own = [frame for frame in frames if frame[0].co_filename == home]
    code, line = (own or frames)[-1]
    return f"in {code.co_qualname}, {code.co_filename}:{line}"


def verify_module(module: ModuleOp) -> None:
    """What xDSL verifies, then dominance."""
    Verifier().verify(module)


def verify_hook(verifier: Verifier | None = None) -> Hook:
    """A hook that blames the pass that broke the module; `verifier` may know the module already."""
    known = verifier or Verifier()

    def check(run: PassRun, module: ModuleOp) -> None:
        try:
            known.verify(module)
        except TilewrightError as error:
            raise BrokenByPass(index=run.index, name=run.spec, reason=error) from error
        except (DiagnosticException, ValueError) as error:
            op, reason = broken_op(module) or (None, error)
            raise BrokenByPass(op, index=run.index, name=run.spec, reason=reason) from error

    return check


def location_hook(module: ModuleOp) -> Hook:
    """A hook that refuses ops without a location; does nothing if `module` already has some."""
    if _without_location(module) is not None:
        return lambda run, module: None

    def check(run: PassRun, module: ModuleOp) -> None:
        if (op := _without_location(module)) is not None:
            raise LostLocation(op, index=run.index, name=run.spec)

    return check


def _without_location(module: ModuleOp) -> Operation | None:
    """The first op that computes something from something and has no source location."""
    for op in module.walk():
        if op.results and op.operands and isinstance(op.location, UnknownLoc):
            return op
    return None


@dataclass
class Timing:
    """A hook that adds up the time of each pass."""

    runs: list[PassRun] = field(default_factory=list[PassRun])

    def __call__(self, run: PassRun, module: ModuleOp) -> None:
        self.runs.append(run)

    def report(self) -> str:
        """A table, in pipeline order."""
        total = sum(run.seconds for run in self.runs)
        rows = [(run.seconds, run.spec) for run in self.runs] + [(total, "total")]
        return "".join(f"{seconds * 1e3:10.3f} ms  {name}\n" for seconds, name in rows)


def module_text(op: Operation, *, generic: bool = False, locations: bool = True) -> str:
    """The text of a module, as every tool of this project reads it."""
    stream = StringIO()
    ModulePrinter(stream, generic=generic, locations=locations).print_op(op)
    return stream.getvalue() + "\n"


@dataclass(frozen=True)
class Dump:
    """A hook that writes `07-sink-transposes.mlir` after each pass; `write` takes any other stage."""

    folder: Path

    def __call__(self, run: PassRun, module: ModuleOp) -> None:
        self.write(f"{run.index:02}-{run.name}.mlir", module_text(module))

    def write(self, name: str, text: str) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)
        except OSError as error:
            raise UnwritableOutput(file=self.folder / name, reason=error) from error
