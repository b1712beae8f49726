"""`tilewright reduce`: the smallest module that still fails."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from xdsl.dialects.builtin import ModuleOp

from ..check.errors import NoFailure
from ..check.failure import Oracle
from ..reduce.reducer import Reducer, readable_text
from ..tools.check_writer import pass_flags
from ..tools.tool_io import write_text
from .failing import emitter_of, failing_options, passes_of, read_module

_EPILOG = """\b
Examples:
  tilewright reduce bad.mlir --pipeline cpu -o small.mlir
  tilewright reduce bad.mlir -p fuse --load my_pass.py
  tilewright reduce bad.mlir --pipeline cpu --compile
  tilewright reduce slow.mlir -p fuse --slower-than 2
  tilewright reduce bad.mlir --test ./is_bad.sh
"""


@click.command(epilog=_EPILOG)
@failing_options
@click.option("--to", "language", help="emit this language after the passes")
@click.option("--compile", "compiled", is_flag=True, help="compile the result for CPUs, and run it")
@click.option("--slower-than", type=float, metavar="SECONDS", help="the failure is CPU time beyond this")
@click.option("-o", "--output", help="output file; standard output if left out")
def command(
    file: str,
    passes: str,
    pipeline: str | None,
    load: Sequence[str],
    seed: int,
    no_semantics: bool,
    script: Path | None,
    language: str | None,
    compiled: bool,
    slower_than: float | None,
    output: str | None,
) -> None:
    """Shrink FILE to a few ops while it fails in the same way.

    A failure is a crash, an error, a module that does not verify after a pass, another meaning
    after a pass or when compiled, CPU time, or an exit status of a script. Its kind, and the pass that it
    names, stay.
    """
    module = read_module(file, places=False)  # its text is the result
    given = Oracle(
        passes_of(load, pipeline, passes),
        semantics=not no_semantics,
        seed=seed,
        emit=emitter_of(language),
        compiled=compiled,
        slower_than=slower_than,
        script=script,
    )
    failing = given.that_fails(module)
    if failing is None:
        raise NoFailure(tool="reduce", file=file, pipeline=pipeline or passes)
    oracle, failure = failing
    print(f"reducing: {failure.message.splitlines()[0]}", file=sys.stderr)

    def keeps(candidate: ModuleOp) -> bool:
        found = oracle.failure(candidate)
        return found is not None and found.kind == failure.kind

    reducer = Reducer(keeps)
    small = reducer.reduce(module)
    before, after = (sum(1 for _ in m.walk()) for m in (module, small))
    print(f"{before} ops became {after}, {reducer.trials} modules were tried", file=sys.stderr)
    found = oracle.failure(small)
    assert found is not None
    again = _again(oracle, pass_flags(passes, pipeline, load), language)
    message = "".join(f"// {line}\n" for line in found.message.splitlines())
    write_text(output, f"{message}// RUN: {again}\n\n{readable_text(small)}")


def _again(oracle: Oracle, flags: str, language: str | None) -> str:
    """A command that succeeds as long as the module fails; `tilewright-opt` where it can see that."""
    beyond = {
        "--test": oracle.script,
        "--to": language,
        "--compile": "" if oracle.compiled else None,
        "--slower-than": oracle.slower_than,
    }
    more = [f"{option} {value}".rstrip() for option, value in beyond.items() if value is not None]
    if not more:
        check = f"--check-semantics --check-seed {oracle.seed}" if oracle.semantics else ""
        return f"not tilewright-opt %s {flags} {check}".rstrip()
    check = f"--seed {oracle.seed}" if oracle.semantics else "--no-semantics"
    return " ".join(filter(None, ["tilewright reduce %s", flags, *more, check, "-o /dev/null"]))
