"""A compile that fails leaves a folder that fails in the same way without the user's model.

<cache>/repros/3f0c.../module.mlir    the imported graph, headed by the command that runs it
                       repro.json     error, pipeline, seed, options, versions
                       run.sh         the command
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.diagnostics import UserMistake
from tilewright.passes.manager import module_text
from tilewright.targets.registry import target

from .check.errors import WrongCode
from .dump import load_flags, repro_header, versions
from .runtime.request import Request
from .tools.check_writer import pass_flags

SEED = 0


def with_repro(
    error: Exception, reimport: Callable[[], ModuleOp], target_name: str, request: Request
) -> None:
    """Write the folder, and say so in the message of `error`; not where only what was asked for is wrong.

    `reimport` makes the module once more, as it was before the passes: a compile that works
    then pays nothing for this. What goes wrong here must not hide the error itself.
    """
    if isinstance(error, UserMistake):
        return
    try:
        request = replace(request, target=target(target_name))
        folder = write_repro(error, reimport(), _pipeline(request), request)
    except Exception as other:  # a full disk, say, or an import that fails the second time
        if str(other) == str(error):  # a pipeline that cannot be read: there is nothing to run
            return
        _say(error, f"repro: could not be written ({type(other).__name__}: {other})")
        return
    _say(error, f"repro: {folder} (sh {folder / 'run.sh'})")


def _pipeline(request: Request) -> Sequence[object]:
    from .runtime.lower import pipeline_of

    return pipeline_of(request)


def write_repro(error: Exception, module: ModuleOp, pipeline: Sequence[object], request: Request) -> Path:
    """The folder, named by its contents, so that one failure makes one folder."""
    passes = ",".join(map(str, pipeline))
    text = module_text(module)
    loaded = load_flags()
    command = _command(error, passes, pass_flags("", load=loaded.sources), request)
    digest = hashlib.sha256(f"{text}\n{passes}\n{type(error).__name__}".encode()).hexdigest()[:16]
    folder = request.cache_folder / "repros" / digest
    folder.mkdir(parents=True, exist_ok=True)
    facts = {
        "error": f"{type(error).__name__}: {error}",
        "kind": request.kind,
        "target": None if request.target is None else request.target.name,
        "pipeline": passes,
        "seed": SEED,
        "options": {name: str(value) for name, value in asdict(request.options).items()},
        "versions": versions(),
        "command": command,
    }
    (folder / "module.mlir").write_text(repro_header(pipeline) + text)
    (folder / "repro.json").write_text(json.dumps(facts, indent=2) + "\n")
    notes = "".join(f"# {line}\n" for line in loaded.missing)
    (folder / "run.sh").write_text(f'#!/bin/sh\n{notes}cd "$(dirname "$0")" || exit 1\n{command}\n')
    return folder


def _command(error: Exception, passes: str, load: str, request: Request) -> str:
    """What fails in the same way: the tools, or the target where what it compiled is wrong."""
    name = "" if request.target is None else request.target.name
    if isinstance(error, WrongCode):
        options = f"--through {name} --option check=each-pass --option {shlex.quote(f'pipeline={passes}')}"
        return f"tilewright run module.mlir {load} {options}".replace("  ", " ")
    flags = f"{load} -p '{passes}' --check-semantics --check-seed {SEED} -o scheduled.mlir"
    command = f"tilewright-opt module.mlir {flags}"
    if name == "cpu_openmp":
        command += f" && tilewright-translate scheduled.mlir {load} --to=cpp -o kernels.cpp"
    return command.replace("  ", " ")


def _say(error: Exception, line: str) -> None:
    """Into the message, which survives wrapping; as a note where there is no message."""
    if error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\n  {line}", *error.args[1:])
    else:
        error.add_note(line)
