"""Turns a run of `tilewright-opt` into a lit test: the first draft of a new pass's `.mlir` file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from difflib import unified_diff

_VALUE = re.compile(r"%([A-Za-z0-9_$.]+(?::\d+)?)")
_RESULTS = re.compile(r"^((?:%[A-Za-z0-9_$.]+(?::\d+)?(?:, )?)+) = ")
_LABEL = re.compile(r"(func\.func(?: private)?|tk\.func) @\w+")
_DIRECTIVE = re.compile(r"\s*// [A-Z][A-Z0-9-]*:")
_SPECIAL = re.compile(r"\[\[|\{\{|\]\]|\}\}")


def diff_text(before: str, after: str, pipeline: str) -> str:
    """The change as a unified diff."""
    lines = unified_diff(before.splitlines(), after.splitlines(), "before", f"after {pipeline}", lineterm="")
    return "".join(f"{line}\n" for line in lines)


def pass_flags(
    passes: str, pipeline: str | None = None, load: Sequence[str] = (), insert: Sequence[str] = ()
) -> str:
    """The options of `tilewright-opt` that run these passes."""
    flags = [f"--load {shlex.quote(where)}" for where in load]
    flags += [f"--pipeline={pipeline}"] if pipeline is not None else []
    flags += [f"--insert {shlex.quote(place)}" for place in insert]
    flags += [f"-p '{passes}'"] if passes else []
    return " ".join(flags)


def lit_test(source: str, after: str, flags: str, *, file: str) -> str:
    """`source` as a lit test that expects `after`: one CHECK line per line, values captured.

    Keep the lines that make the claim and delete the rest.
    """
    checks = "\n".join(_checks(after))
    body = "\n".join(line for line in source.splitlines() if not _DIRECTIVE.match(line)).strip()
    return f"// RUN: tilewright-opt %s {flags} | filecheck %s\n// From {file}.\n\n{checks}\n\n{body}\n"


def _checks(text: str) -> Iterator[str]:
    names: dict[str, str] = {}
    directive = "CHECK"
    for line in map(str.strip, text.splitlines()):
        if line in ("builtin.module {", "}"):
            directive = "CHECK"
            continue
        if label := _LABEL.search(line):
            names.clear()
            yield f"// CHECK-LABEL: {label[0]}"
        else:
            yield f"// {directive}: {_captured(line, names)}"
        directive = "CHECK-NEXT"


def _captured(line: str, names: dict[str, str]) -> str:
    """Definitions become `%[[V0:.*]]`, uses `%[[V0]]`; arguments keep their names."""
    defined = _RESULTS.match(line)
    head, rest = (defined[1], line[defined.end() :]) if defined else ("", line)
    rest = _SPECIAL.sub(lambda m: "{{" + re.escape(m[0]) + "}}", rest)
    rest = _VALUE.sub(lambda m: _use(m[1], names), rest)
    if not head:
        return rest
    for match in _VALUE.finditer(head):
        names[match[1].partition(":")[0]] = f"V{len(names)}"
    return f"{_VALUE.sub(lambda m: _definition(m[1], names), head)} = {rest}"


def _definition(value: str, names: dict[str, str]) -> str:
    name, _, count = value.partition(":")
    return f"%[[{names[name]}:.*]]" + (f":{count}" if count else "")


def _use(value: str, names: dict[str, str]) -> str:
    return f"%[[{names[value]}]]" if value in names else f"%{value}"
