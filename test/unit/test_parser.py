"""Our parser makes what xDSL's makes, and refuses what it refuses, in the same words and more."""

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


def is_read_alike(text: str) -> bool:
    """Of an attribute that does not verify, `Parser` has no place: then the words count."""
    ours, (kind, _, words) = read(ModuleParser, text), read(Parser, text).partition(": ")
    return words in ours if kind == "VerifyException" else ours == f"{kind}{_}{words}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_files_are_read_alike(file: Path) -> None:
    for part in chunks(file.read_text(), split=True):
        assert is_read_alike(part)


@pytest.mark.parametrize("line", LINES)
def test_odd_spellings_are_read_alike(line: str) -> None:
    text = f"func.func @main(%x: tensor<4x8xf32>) {{\n  {line}\n  func.return\n}}"
    assert is_read_alike(text)


MARKS = [
    ("%1 = tw.neg %y : tensor<4xf32>\n  %2 = tw.neg %y : tensor<4xf32>", "2:15", "not defined: [%y]"),
    ("%1 = tw.negg %x : tensor<4xf32>", "2:8", "tw.negg is not registered; did you mean `tw.neg`?"),
    ('"tww.neg"(%x) : (tensor<4xf32>) -> ()', "2:4", "tww.neg is not registered; did you mean `tw.neg`?"),
    ('%1 = "test.op"() : () -> tensor<4x?xf32, #tw.shape<"4, s0 +* 2">>', "2:44", "unexpected `*`"),
]


@pytest.mark.parametrize(("line", "place", "words"), MARKS)
def test_what_is_wrong_is_marked(line: str, place: str, words: str) -> None:
    text = f"func.func @main(%x: tensor<4xf32>) {{\n  {line}\n  func.return\n}}\n"
    with pytest.raises(ParseError) as told:
        ModuleParser(new_context(), text, "n.mlir").parse_module()
    assert str(told.value).startswith(f"n.mlir:{place}\n")
    assert words in str(told.value)


def test_ops_without_a_location_get_their_place_in_the_text() -> None:
    text = (
        "func.func @main(%x: tensor<4xf32>, %y: f32 loc(unknown)) -> tensor<4xf32> {\n"
        '  %0 = tw.neg %x : tensor<4xf32> loc("m.py":3:1)\n'
        "  %1 = tw.neg %0 : tensor<4xf32> loc(unknown)\n"
        '  %2 = "tw.neg"(%1) : (tensor<4xf32>) -> tensor<4xf32>\n'
        "  func.return %2 : tensor<4xf32>\n}\n"
    )
    module = ModuleParser(new_context(), text, "n.mlir", places=True).parse_module()
    found = [str(op.location) for op in module.walk() if op is not module]
    rest = ['loc("m.py":3:1)', "loc(unknown)", 'loc("n.mlir":4:8)', 'loc("n.mlir":5:3)']
    assert found == ['loc("n.mlir":1:1)', *rest]
    assert [str(arg.location) for op in module.ops for arg in op.regions[0].block.args] == [
        'loc("n.mlir":1:17)',
        "loc(unknown)",
    ]
    printed = module_text(module)
    again = ModuleParser(new_context(), printed, "other.mlir", places=True).parse_module()
    assert module_text(again) == printed


def test_a_type_of_one_spelling_is_one_object() -> None:
    text = "func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) { func.return }"
    (function,) = ModuleParser(new_context(), text).parse_module().ops
    first, second = function.regions[0].block.args
    assert first.type is second.type
