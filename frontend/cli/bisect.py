"""`tilewright bisect`: the pass, then the single rewrite, that makes a module fail."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilewright.dialects.registry import new_context
from tilewright.passes.manager import module_text, run_pipeline, verify_module
from tilewright.passes.setup import SETUP, end_of_setup, take_setup

from ..check.aten_callback import aten_callback
from ..check.bisection import bisect_rewrites
from ..check.errors import NoFailure
from ..check.failure import Failure, Oracle
from ..check.session import Baseline
from ..check.signature import function_named
from ..tools.check_writer import diff_text
from .failing import failing_options, passes_of, read_module

_EPILOG = """\b
Examples:
  tilewright bisect bad.mlir --pipeline cpu
  tilewright bisect bad.mlir -p canonicalize,fuse --load my_pass.py
  tilewright bisect bad.mlir --pipeline cpu --test ./is_good.sh     (0 for a good module)
"""


IsBad = Callable[[ModuleOp], bool]


@click.command(epilog=_EPILOG)
@failing_options
def command(
    file: str,
    passes: str,
    pipeline: str | None,
    load: Sequence[str],
    seed: int,
    no_semantics: bool,
    script: Path | None,
) -> None:
    """Find the pass, then the rewrite, after which FILE crashes, does not verify or means something else.

    With --test, a module is good while the script exits with the status that it has for FILE itself.
    """
    module = read_module(file)
    chosen = passes_of(load, pipeline, passes)
    is_bad = _judge(module, seed, not no_semantics, script)
    ends = [0] if script is not None else [end_of_setup(chosen), 0]  # as in a compile; then whole
    if not any(_found(module, chosen, end, is_bad) for end in ends):
        raise NoFailure(tool="bisect", file=file, pipeline=pipeline or passes)


def _found(module: ModuleOp, chosen: Sequence[ModulePass], end: int, is_bad: IsBad) -> bool:
    """Report the first pass that makes the module bad; after pass number `end`, `@setup` goes its own way."""
    before = module
    for index, pass_ in enumerate(chosen, start=1):
        after = _applied(pass_, index, before)
        if isinstance(after, Exception) or is_bad(after):
            _report(index, pass_, before, after, is_bad)
            return True
        if index == end:
            take_setup(after)
        before = after
    return False


def _judge(module: ModuleOp, seed: int, semantics: bool, script: Path | None) -> IsBad:
    if script is not None:
        oracle = Oracle(script=script)
        good = _status(oracle.failure(module))
        return lambda changed: _status(oracle.failure(changed)) != good
    baseline = Baseline.of(module, seed=seed, aten=aten_callback) if semantics else None

    def is_bad(changed: ModuleOp) -> bool:
        try:
            verify_module(changed)
        except Exception:  # any rule that is broken
            return True
        if baseline is None:
            return False
        if function_named(changed, SETUP) is not None:
            baseline.setup = changed.clone()
        return baseline.check(changed)[0] is not None

    return is_bad


def _status(failure: Failure | None) -> str:
    return failure.kind if failure is not None else ""


def _applied(pass_: ModulePass, index: int, module: ModuleOp) -> ModuleOp | Exception:
    """A copy of the module after the pass; its error where it fails."""
    copy = module.clone()
    try:
        run_pipeline(new_context(), copy, [pass_], first=index)
    except Exception as error:  # a crash is what is looked for
        return error
    return copy


def _report(
    index: int,
    pass_: ModulePass,
    before: ModuleOp,
    after: ModuleOp | Exception,
    is_bad: IsBad,
) -> None:
    how = "fails" if isinstance(after, Exception) else "leaves a bad module"
    print(f"pass {index} `{pass_}` {how}")
    if isinstance(after, Exception):
        print(after)
    found = bisect_rewrites(str(pass_), before, is_bad)
    if found is None:
        print("it makes no counted rewrites: the change as a whole")
        if isinstance(after, ModuleOp):
            sys.stdout.write(diff_text(_text(before), _text(after), str(pass_)))
        return
    print(found)
    if found.after is not None:
        sys.stdout.write(diff_text(found.before, found.after, f"rewrite {found.number}"))


def _text(module: ModuleOp) -> str:
    return module_text(module, locations=False)
