"""The graphs that a function or a script compiles, as the IR that the frontend imports."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.passes.manager import module_text

from .dump import IMPORT_STAGE


@dataclass(frozen=True)
class Captured:
    """One graph: `000-inference`, and its module as text."""

    name: str
    text: str


def capture(
    call: Callable[[Callable[..., Any]], object], function: Callable[..., Any], dynamic: bool | None
) -> list[Captured]:
    """The graphs that `call(compiled function)` compiles, in order.

    The reference interpreter runs them, so no compiler is needed and graph breaks are passed.
    """
    from .compile import compile_captured
    from .dynamo_internals import compiled_apart
    from .environment import read_environment
    from .options import make_options
    from .trace import Record

    record, options, environment = Record(), make_options({"target": "reference"}), read_environment()

    def backend(gm: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
        return compile_captured(gm, inputs, options, environment, record)

    with compiled_apart(function, backend, dynamic) as compiled:
        call(compiled)
    return [
        Captured(f"{number:03}-{kind}", module_text(graph.module))
        for number, (kind, graph) in enumerate(record.graphs)
    ]


def capture_script(script: str, arguments: Sequence[str]) -> tuple[int, list[Captured]]:
    """Run a Python script and collect what it compiles with `backend="mlir"`; with its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, script, *arguments],
            env={**os.environ, "TILEWRIGHT_DUMP": folder},
            stdout=2,  # standard output is for the IR
            check=False,
        )
        files = sorted(Path(folder).glob(f"*/{IMPORT_STAGE}"))
        return done.returncode, [Captured(file.parent.name, file.read_text()) for file in files]
