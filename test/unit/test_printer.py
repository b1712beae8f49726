"""Our printer writes what xDSL's writes, and what it writes is read back."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException, ParseError, VerifyException

from tilewright.dialects.parser import ModuleParser
from tilewright.dialects.printer import ModulePrinter
from tilewright.dialects.registry import new_context
from tilewright.frontend.tools.tool_io import chunks

FILES = sorted((Path(__file__).parents[1] / "dialects").glob("*.mlir"))


def printed(module: ModuleOp, *, generic: bool, locations: bool) -> tuple[str, str]:
    ours, theirs = StringIO(), StringIO()
    ModulePrinter(ours, generic=generic, locations=locations).print_op(module)
    Printer(theirs, print_generic_format=generic, print_debuginfo=locations).print_op(module)
    return ours.getvalue(), theirs.getvalue()


def read(text: str) -> ModuleOp:
    return ModuleParser(new_context(allow_unregistered=True), text).parse_module()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_files_are_printed_alike(file: Path) -> None:
    compared = 0
    for part in chunks(file.read_text(), split=True):
        try:
            module = read(part)
        except (ParseError, DiagnosticException, ValueError):
            continue  # a part about what is refused
        for generic in (False, True):
            ours, theirs = printed(module, generic=generic, locations=not generic)
            assert ours == theirs
            compared += 1
    assert compared or "RUN: not" in file.read_text() or "verify-diagnostics" in file.read_text()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.parametrize("locations", [False, True])
def test_what_is_printed_reads_back(file: Path, locations: bool) -> None:
    for part in chunks(file.read_text(), split=True):
        try:
            module = read(part)
            module.verify()
        except (ParseError, DiagnosticException, VerifyException, ValueError):
            continue  # a part about what is refused
        text = printed(module, generic=False, locations=locations)[0]
        assert printed(read(text), generic=False, locations=locations)[0] == text


@pytest.mark.parametrize("text", ["plain", 'a "quoted" \\ word', "two\nlines", "tab\t", "é", "\x7f", ""])
def test_strings_are_printed_alike(text: str) -> None:
    module = ModuleOp([], {"test.text": StringAttr(text)})
    ours, theirs = printed(module, generic=True, locations=True)
    assert ours == theirs
