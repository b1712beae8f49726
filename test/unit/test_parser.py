"""Our parser makes what xDSL's makes, and refuses what it refuses, in the same words."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException, ParseError

from tilewright.dialects.parser import ModuleParser
from tilewright.dialects.registry import new_context
from tilewright.frontend.tools.tool_io import chunks
from tilewright.passes.manager import module_text

FILES = sorted((Path(__file__).parents[1] / "dialects").glob("*.mlir"))

LINES = [
    'test.op(%x : tensor<4 x8xf32>) loc("a\\"b.py":3:1)',
    "%y = tw.exp %x : tensor<4x8xf31>",
    '%y = tw.exp %x : tensor<4x8xf32> loc("m.py":3)',
    '%y = tw.exp %x : tensor<4x8xf32> loc("m.py":3:2',
    '%y = tw.exp %x : tensor<4x8xf32> loc( "m.py" :3:2)',
    '%y = tw.exp %x : tensor<4x8xf32> loc(callsite("m.py":3:2 at "n.py":4:5))',
    "%y = tw.exp %x : tensor<4x-8xf32>",
    "%y = tw.exp %x : tensor<4x8xf32",
    "%y = tw.exp %x : tensor<4x8xf32>>",
]


def read(kind: type[Parser], text: str) -> str:
    try:
        module = kind(new_context(allow_unregistered=True), text, "x").parse_module()
    except (ParseError, DiagnosticException, ValueError, KeyError, AssertionError) as error:
        return f"{type(error).__name__}: {error}"
    return module_text(module, generic=True)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_files_are_read_alike(file: Path) -> None:
    for part in chunks(file.read_text(), split=True):
        assert read(ModuleParser, part) == read(Parser, part)


@pytest.mark.parametrize("line", LINES)
def test_odd_spellings_are_read_alike(line: str) -> None:
    text = f"func.func @main(%x: tensor<4x8xf32>) {{\n  {line}\n  func.return\n}}"
    assert read(ModuleParser, text) == read(Parser, text)


def test_a_type_of_one_spelling_is_one_object() -> None:
    text = "func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) { func.return }"
    (function,) = ModuleParser(new_context(), text).parse_module().ops
    first, second = function.regions[0].block.args
    assert first.type is second.type
