"""Writes docs/passes.md from the passes: `python -m tilewright.frontend.tools.pass_reference docs/passes.md`.

With `--load my_pass.py my_pass.md`, the page of the passes that this file registers.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, Field, fields
from importlib import import_module
from itertools import groupby

from xdsl.passes import ModulePass

from tilewright.passes.pipeline import PIPELINES
from tilewright.passes.registry import PASSES, TABLE, pass_class

from .reference_page import header, run_generator

_OTHER = "other"
_HEADER = """# Passes

Generated from the passes by `make docs`; do not edit. `tilewright-opt -p name{option=value}` runs
one; [ir.md](ir.md) explains the levels, [CONTRIBUTING](../CONTRIBUTING.md) how to add one.
"""


def reference() -> str:
    """The whole page."""
    lines = [_HEADER]
    for name, pipeline in PIPELINES.items():
        lines.append(f"The pipeline `{name}`: {', '.join(f'`{spec}`' for spec in pipeline)}.\n")
    order = _folders()
    for folder, names in groupby(sorted(PASSES, key=lambda n: (order.index(_folder(n)), n)), key=_folder):
        lines.append(f"## {folder}\n")
        if folder != _OTHER:
            lines.append(f"{inspect.getdoc(import_module(f'tilewright.passes.{folder}'))}\n")
        for name in names:
            lines += _entry(name, pass_class(name))
    return "\n".join(lines).rstrip() + "\n"


def reference_of_file(source: str) -> str:
    """The page of the passes that a file, which was just loaded, registered."""
    lines = [header("Passes", source, "pass_reference")]
    lines += [line for name, cls in TABLE.added.items() for line in _entry(name, cls)]
    return "\n".join(lines).rstrip() + "\n"


def _folder(name: str) -> str:
    parts = PASSES[name].partition(":")[0].split(".")
    return parts[2] if len(parts) > 3 else _OTHER


def _folders() -> list[str]:
    """The folders of passes in the order of the pipelines, the longest one first; then what is in none."""
    pipelines = sorted(PIPELINES.values(), key=len, reverse=True)
    run = [name.partition("{")[0] for pipeline in pipelines for name in pipeline]
    return list(dict.fromkeys((*map(_folder, run), *map(_folder, PASSES), _OTHER)))


def _entry(name: str, cls: type[ModulePass]) -> Iterator[str]:
    yield f"### `{name}`\n"
    yield _markdown(inspect.cleandoc(cls.__doc__ or "")) + "\n"
    options = [f for f in fields(cls) if f.init and f.name != "name"]
    if options:
        shown = ", ".join(f"`{f.name.replace('_', '-')}` ({_default(f)})" for f in options)
        yield f"Options with their defaults: {shown}.\n"


def _default(option: Field[object]) -> str:
    return "required" if option.default is MISSING else repr(option.default)


def _markdown(text: str) -> str:
    """A docstring with its indented IR fenced."""
    parts: list[str] = []
    for indented, lines in groupby(text.splitlines(), key=lambda line: line.startswith("    ") or not line):
        block = "\n".join(lines).strip("\n")
        if not block:
            parts.append("")
        elif indented:
            parts.append(f"```mlir\n{textwrap.dedent(block)}\n```")
        else:
            parts.append(block)
    return "\n".join(parts)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page to the file named on the command line, or to standard output."""
    return run_generator(argv, reference, reference_of_file)


if __name__ == "__main__":
    raise SystemExit(main())
