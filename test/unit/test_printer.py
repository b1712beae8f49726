"""Our printer writes what xDSL's writes."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException, ParseError

from tilewright.dialects.parser import ModuleParser
from tilewright.dialects.printer import ModulePrinter
from tilewright.dialects.registry import new_context
from tilewright.frontend.tool_io import chunks

FILES = sorted((Path(__file__).parents[1] / "dialects").glob("*.mlir"))


def printed(module: ModuleOp, *, generic: bool, locations: bool) -> tuple[str, str]:
    ours, theirs = StringIO(), StringIO()
    ModulePrinter(ours, generic=generic, locations=locations).print_op(module)
    Printer(theirs, print_generic_format=generic, print_debuginfo=locations).print_op(module)
    return ours.getvalue(), theirs.getvalue()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_files_are_printed_alike(file: Path) -> None:
    compared = 0
    for part in chunks(file.read_text(), split=True):
        try:
            module = ModuleParser(new_context(allow_unregistered=True), part).parse_module()
        except (ParseError, DiagnosticException, ValueError):
            continue  # a part about what is refused
        for generic in (False, True):
            ours, theirs = printed(module, generic=generic, locations=not generic)
            assert ours == theirs
            compared += 1
    assert compared or "RUN: not" in file.read_text() or "verify-diagnostics" in file.read_text()


@pytest.mark.parametrize("text", ["plain", 'a "quoted" \\ word', "two\nlines", "tab\t", "é", "\x7f", ""])
def test_strings_are_printed_alike(text: str) -> None:
    module = ModuleOp([], {"test.text": StringAttr(text)})
    ours, theirs = printed(module, generic=True, locations=True)
    assert ours == theirs
