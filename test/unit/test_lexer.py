"""Our lexer makes the tokens that xDSL's makes, in the same places."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from tilewright.dialects.lexer import ModuleLexer

TEXTS = [
    "%x %0 %-a.$_1 %12ab % x",
    "%é",
    "abc _a a.b$c é1",
    'x // %y "z" // tw.exp\n// %a\n "s" // end',
    '//\t%y = tw.exp\n"s"',
    "// a comment that ends the text",
    "{-# #-} { -# }",
    "->-> - >-1 2->3",
    "... ..",
    '@a @"b c" ^bb0 #a !b #b<>',
    "0x1F 0xg 12 1.5e3 1.e 4x8xf32",
    '"a\\"b" "\\ff" "open',
    ":,(){}[]<>=+/*?|;",
    "\u00a0x",
    "",
    "  \n\t ",
]


def tokens(kind: type[MLIRLexer], text: str) -> list[tuple[object, ...]]:
    lexer, found = kind(Input(text, "x")), list[tuple[object, ...]]()
    while True:
        try:
            token = lexer.lex()
        except ParseError as error:
            return [*found, (str(error),)]
        found.append((token.kind, token.span.start, token.span.end, token.text, type(token.span)))
        if token.kind is MLIRTokenKind.EOF:
            return found


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_are_alike(text: str) -> None:
    assert tokens(ModuleLexer, text) == tokens(MLIRLexer, text)


@pytest.mark.parametrize(
    "file", sorted((Path(__file__).parents[1] / "tools").glob("*.mlir")), ids=lambda f: f.stem
)
def test_tokens_of_files_are_alike(file: Path) -> None:
    text = file.read_text()
    assert tokens(ModuleLexer, text) == tokens(MLIRLexer, text)
