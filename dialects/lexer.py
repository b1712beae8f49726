"""xDSL's lexer, which reads the tokens that modules are full of by one look at the text."""

from __future__ import annotations

import re

from xdsl.utils.lexer import Span, Token
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRLexer, MLIRToken, MLIRTokenKind

_COMMON = re.compile(
    r"(?:\s+|//[^\n]*+)*+"
    r"((%)(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*)|([a-zA-Z_])[a-zA-Z0-9_$.]*|->|[:,()}\[\]<>=+/*?|]|\{(?!-#))",
    re.ASCII,
)
"""A value's name, a bare identifier or punctuation, after what separates it from the last token.

That is skipped for good: a token is never looked for in a comment."""
_KINDS = {**KIND_BY_PUNCTUATION_SPELLING, "%": MLIRTokenKind.PERCENT_IDENT}


class ModuleLexer(MLIRLexer):
    """Makes exactly the tokens of `MLIRLexer`: every other kind goes there."""

    def lex(self) -> MLIRToken:
        """The next token."""
        source = self.input
        found = _COMMON.match(source.content, self.pos)
        if found is None:
            return super().lex()
        text, percent, letter = found.groups()
        kind = MLIRTokenKind.BARE_IDENT if letter is not None else _KINDS[percent or text]
        self.pos = end = found.end()
        return Token(kind, Span(end - len(text), end, source))
