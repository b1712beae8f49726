"""`TILEWRIGHT_DUMP=dir`: every stage of every compiled graph, as files the tools read unchanged.

dir/000-forward/00-import.mlir      what the frontend imported; its first lines reproduce the rest
                01-canonicalize.mlir ... 14-apply-schedule.mlir
                kernels.cpp         what the target emitted
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilewright.passes.manager import Dump, module_text

from .tool_io import make_folder

IMPORT_STAGE = "00-import.mlir"
_PACKAGES = ("tilewright", "torch", "xdsl", "triton")


def open_dump(root: Path | None, label: str) -> Dump | None:
    """A new folder `NNN-label` for one graph, or None where `root` is; a hook for `run_pipeline`."""
    if root is None:
        return None
    make_folder(root)
    for number in count(sum(1 for _ in root.iterdir())):
        folder = root / f"{number:03}-{label}"
        try:
            folder.mkdir()
        except FileExistsError:  # another process was faster
            continue
        return Dump(folder)
    raise AssertionError("count() never ends")


def write_import(dump: Dump, module: ModuleOp, passes: Sequence[ModulePass]) -> None:
    """Write the imported module, headed by the command that reproduces the stages after it."""
    dump.write(IMPORT_STAGE, repro_header(passes) + module_text(module))


def repro_header(passes: Sequence[ModulePass]) -> str:
    """Comment lines that say which versions made this file and how to run the rest."""
    pipeline = ",".join(str(pass_) for pass_ in passes)
    return (
        f"// {versions()}\n"
        f"// RUN: tilewright-opt %s -p '{pipeline}'\n"
        f"// Every stage: tilewright-opt {IMPORT_STAGE} --dump again -o /dev/null -p '{pipeline}'\n"
    )


def versions() -> str:
    """The versions that decide what a compile does, in one line."""
    found = [f"python {'.'.join(map(str, sys.version_info[:3]))}"]
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
