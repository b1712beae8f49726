"""`TILEWRIGHT_DUMP=dir`: every stage of every compiled graph, as files the tools read unchanged.

dir/000-forward/00-import.mlir      what the frontend imported; its first lines reproduce the rest
                01-canonicalize.mlir ... 14-apply-schedule.mlir
                kernels.cpp         what the target emitted
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilewright.dialects.diagnostics import UnwritableOutput
from tilewright.dialects.plugins import added_by
from tilewright.passes.manager import Dump, module_text

from .tools.check_writer import pass_flags
from .tools.tool_io import make_folder

IMPORT_STAGE = "00-import.mlir"
_PACKAGES = ("tilewright", "torch", "xdsl", "triton")


def open_dump(root: Path | None, label: str) -> Dump | None:
    """A new folder `NNN-label` for one graph, or None where `root` is; a hook for `run_pipeline`.

    Raises UnwritableOutput.
    """
    if root is None:
        return None
    make_folder(root)
    for number in count(sum(1 for _ in root.iterdir())):
        folder = root / f"{number:03}-{label}"
        try:
            folder.mkdir()
        except FileExistsError:  # another process was faster
            continue
        except OSError as error:
            raise UnwritableOutput(file=folder, reason=error) from error
        return Dump(folder)
    raise AssertionError("count() never ends")


def write_import(dump: Dump, module: ModuleOp, passes: Sequence[ModulePass]) -> None:
    """Write the imported module, headed by the command that reproduces the stages after it."""
    dump.write(IMPORT_STAGE, repro_header(passes) + module_text(module))


def repro_header(passes: Sequence[object]) -> str:
    """Comment lines that say which versions made this file and how to run the rest."""
    loaded = load_flags()
    flags = pass_flags(",".join(str(pass_) for pass_ in passes), load=loaded.sources)
    return (
        f"// {versions()}\n"
        f"// RUN: tilewright-opt %s {flags}\n"
        f"// Every stage: tilewright-opt {IMPORT_STAGE} --dump again -o /dev/null {flags}\n"
        + "".join(f"// {line}\n" for line in loaded.missing)
    )


@dataclass(frozen=True)
class Loaded:
    """What the tools have to `--load` to know what this process knows."""

    sources: tuple[str, ...]
    missing: tuple[str, ...]
    """In words, what no `--load` brings: it was added by a program or a notebook itself."""


def load_flags() -> Loaded:
    """The files and modules of passes, dialects and the like that are not installed."""
    sources: list[str] = []
    missing: list[str] = []
    for name, added in added_by().items():
        file = getattr(sys.modules.get(name), "__file__", None)
        if name == "__main__" or file is None:
            missing.append(
                f"Not known here: {', '.join(added)} of the program itself; move it to a file to --load"
            )
        else:
            sources.append(name if "." in name else file)
    return Loaded(tuple(sources), tuple(missing))


def versions() -> str:
    """The versions that decide what a compile does, in one line."""
    found = [f"python {'.'.join(map(str, sys.version_info[:3]))}"]
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
