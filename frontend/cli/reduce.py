"""`tilewright reduce`: the smallest module that still fails."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from xdsl.dialects.builtin import ModuleOp

from ..check.errors import NoFailure
from ..check.failure import Oracle
from ..check_writer import pass_flags
from ..reduce.reducer import Reducer, readable_text
from ..tool_io import write_text
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
@click.option("--compile", "compiled", is_flag=True, help="emit C++ and compile it after the passes")
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
    after a pass, CPU time, or an exit status of a script. Its kind, and the pass that it names, stay.
    """
    module = read_module(file)
    given = Oracle(
        passes_of(load, pipeline, passes),
        semantics=not no_semantics,
        seed=seed,
        emit=emitter_of(language, compiled),
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
    write_text(output, _header(found.message, load, passes, pipeline) + readable_text(small))


def _header(message: str, load: Sequence[str], passes: str, pipeline: str | None) -> str:
    """Comment lines that say how it fails and how to see it."""
    command = f"// RUN: not tilewright-opt %s {pass_flags(passes, pipeline, load)} --check-semantics"
    return "".join(f"// {line}\n" for line in message.splitlines()) + command + "\n\n"
