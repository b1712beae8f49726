"""The text form of expressions: reading and writing lists of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from .expr import FUNCTIONS, Expr, as_expr, from_atom
from .variables import Var

_TOKEN = re.compile(r"\s*(?:(\d+)|([a-z]+\d*)|(.))")


class IndexExprSyntaxError(ValueError):
    """Text that is not an index expression."""


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [m.group().strip() for m in _TOKEN.finditer(text) if m.group().strip()]
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def expect(self, token: str) -> None:
        if self.take() != token:
            raise IndexExprSyntaxError(f"expected `{token}` in index expression `{self.text}`")

    def sum(self) -> Expr:
        value = self.term()
        while self.peek() in ("+", "-"):
            value = value + self.term() if self.take() == "+" else value - self.term()
        return value

    def term(self) -> Expr:
        value = self.factor()
        while self.peek() in ("*", "floordiv", "mod", "ceildiv"):
            match self.take():
                case "*":
                    value = value * self.factor()
                case "floordiv":
                    value = value // self.factor()
                case "mod":
                    value = value % self.factor()
                case _:
                    value = value.ceildiv(self.factor())
        return value

    def factor(self) -> Expr:
        token = self.take()
        if token == "-":
            return -self.factor()
        if token == "(":
            value = self.sum()
            self.expect(")")
            return value
        if token.isdigit():
            return as_expr(int(token))
        if token in ("max", "min"):
            self.expect("(")
            lhs = self.sum()
            self.expect(",")
            rhs = self.sum()
            self.expect(")")
            return FUNCTIONS[token](lhs, rhs)
        if re.fullmatch(r"[dsi]\d+", token):
            return from_atom(Var(token[0], int(token[1:])))
        raise IndexExprSyntaxError(f"unexpected `{token}` in index expression `{self.text}`")


@lru_cache(maxsize=65536)
def parse_exprs(text: str) -> tuple[Expr, ...]:
    """Read a comma-separated list, as `"4, s0*2, d0 floordiv 8"`; empty text is ()."""
    parser = _Parser(text)
    if not parser.tokens:
        return ()
    values = [parser.sum()]
    while parser.peek() == ",":
        parser.take()
        values.append(parser.sum())
    if parser.peek():
        raise IndexExprSyntaxError(f"unexpected `{parser.peek()}` in index expression `{text}`")
    return tuple(values)


def parse_expr(text: str) -> Expr:
    (value,) = parse_exprs(text)
    return value


def format_exprs(values: Iterable[Expr | int]) -> str:
    return ", ".join(str(value) for value in values)
