"""Dynamo's symbolic sizes as our symbols `s0, s1, ...` and index expressions.

Symbols are numbered in order of first appearance, so the same model gives the same text
whatever names Dynamo's shape environment used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import torch

from tilewright.dialects import index_expr
from tilewright.dialects.index_expr import Expr, Var, as_expr

from ..errors import UnsupportedSize
from ..torch_internals import is_negative, is_ragged, shape_environment, size_expression, traced_size

Size = int | torch.SymInt


@dataclass(frozen=True)
class Symbol:
    """A symbol of the IR, which takes none to be below zero."""

    expr: Expr
    sign: int
    """0: it is an integer as it is; 1, -1: what is above zero of one, or below with its sign turned."""

    @property
    def var(self) -> Var:
        (var,) = self.expr.variables()
        return var


class Symbols:
    """The symbols of one graph: sympy expression -> index expression."""

    def __init__(self) -> None:
        self._known: dict[Any, Expr] = {}
        self._equal: dict[Any, Any] | None = None
        self._multiples: Sequence[tuple[Any, Any]] = ()
        self._products: list[tuple[Expr, Expr]] | None = None
        self._count = 0
        self.traced: dict[Var, int] = {}
        """What each symbol was when the graph was traced, but for those that depend on data."""

    def define(self, value: torch.SymInt) -> Sequence[Symbol]:
        """What `value` (an input) is made of; nothing where it is known already."""
        node = self._node(value)
        if self._find(node) is not None:
            return ()
        negative = is_negative(value)
        signs = (1, -1) if negative is None else (-1,) if negative else (0,)
        found = [Symbol(index_expr.sym(self._count + i), sign) for i, sign in enumerate(signs)]
        self._count += len(found)
        self._known[node] = reduce(lambda a, b: a + b, [-s.expr if s.sign < 0 else s.expr for s in found])
        self._products = None
        if (size := traced_size(value)) is not None:
            self.traced[found[0].var] = abs(size)
        return found

    def could_know(self, value: Size) -> bool:
        """Whether an index expression says what a size is, were it of symbols that are known."""
        if not isinstance(value, torch.SymInt) or is_ragged(value):
            return True
        node, trial = self._node(value), Symbols()
        trial._equal = self._equal
        for simple in (node, (self._equal or {}).get(node, node)):
            for symbol in sorted(simple.free_symbols, key=str):
                trial._known.setdefault(symbol, index_expr.sym(len(trial._known)))
        return trial._find(node) is not None

    def knows(self, value: Size) -> bool:
        return not isinstance(value, torch.SymInt) or self._find(self._node(value)) is not None

    def expr(self, value: Size) -> Expr:
        """The index expression of a size; raises `UnsupportedSize` where there is none."""
        if not isinstance(value, torch.SymInt):
            return as_expr(int(value))
        found = self._find(self._node(value))
        if found is None:
            raise UnsupportedSize(size=value, reason="it depends on data or is no integer polynomial")
        return found

    def traced_value(self, value: Expr) -> int | None:
        """What an expression was when the graph was traced; None where it depends on data."""
        return value.evaluate(self.traced) if value.variables() <= self.traced.keys() else None

    def may_be_zero(self, value: Expr) -> bool:
        """Whether data decide a size: any other is no symbol where it is 0."""
        return not value.variables() <= self.traced.keys()

    def exprs(self, values: Sequence[Size]) -> tuple[Expr, ...]:
        return tuple(self.expr(value) for value in values)

    def without_quotients(self, value: Expr) -> Expr:
        """`value` with `a` for `b * (a // b)`, where guards say that `b` divides `a`."""
        if all(isinstance(atom, Var) for atom in value.atoms()):
            return value
        for whole, product in self._known_products():
            for term in value.terms:
                part = Expr((term,))
                if (rest := part.exact_div(product)) is not None:
                    value = value - part + rest * whole
        return value

    def _known_products(self) -> list[tuple[Expr, Expr]]:
        """`(a, b * (a // b))` of what guards say of the symbols so far."""
        if self._products is None:
            self._products = []  # while `a` itself is found
            sides = [(self._find(above), self._find(below)) for above, below in self._multiples]
            self._products = [(a, a // b * b) for a, b in sides if a is not None and b]
        return self._products

    def comparison(self, value: torch.SymBool) -> tuple[Expr, str, Expr] | None:
        """A comparison of sizes, `lt`, `eq`, ...; None for any other truth."""
        node = self._node(value)
        name = _COMPARISONS.get(getattr(node, "rel_op", ""))
        sides = [self._find(side) for side in node.args] if name is not None else []
        return (sides[0], name, sides[1]) if name and sides[0] is not None and sides[1] is not None else None

    def _node(self, value: torch.SymInt | torch.SymBool) -> Any:
        if self._equal is None:
            environment = shape_environment(value)
            self._equal = _known_equalities(environment)
            self._multiples = _known_multiples(environment)
        return size_expression(value)

    def _find(self, node: Any) -> Expr | None:
        known = self._known.get(node)
        if known is None:
            simpler = (self._equal or {}).get(node)
            known = self._convert(node) if simpler is None else self._find(simpler)
            if known is not None:
                known = self._known[node] = self.without_quotients(known)
        return known

    def _convert(self, node: Any) -> Expr | None:
        if node.is_Integer:
            return as_expr(int(node))
        name, args = type(node).__name__, node.args
        if name in _ROUNDED:
            name, args = _ROUNDED[name], _quotient(args[0], name == "TruncToInt")
        rule = _RULES.get(name)
        if rule is None:
            return None
        parts = [as_expr(part) if isinstance(part, int) else self._find(part) for part in args]
        if not parts or any(part is None for part in parts):
            return None
        return rule([part for part in parts if part is not None])


def _known_equalities(shape_env: Any) -> dict[Any, Any]:
    """What guards say: a size that tracing found equal to a simpler one is written as that."""
    equal: dict[Any, Any] = {}
    for guard in getattr(shape_env, "guards", ()):
        if type(guard.expr).__name__ != "Equality":
            continue
        sides = sorted(guard.expr.args, key=lambda side: (side.count_ops(), str(side)))
        if sides[0] != sides[1]:
            equal.setdefault(sides[1], sides[0])
    return equal


def _known_multiples(shape_env: Any) -> list[tuple[Any, Any]]:
    """`(a, b)` where guards say that `b` divides `a`."""
    found: list[tuple[Any, Any]] = []
    for guard in getattr(shape_env, "guards", ()):
        sides = guard.expr.args
        if type(guard.expr).__name__ == "Equality" and 0 in sides:
            other = sides[0] if sides[1] == 0 else sides[1]
            if type(other).__name__ in ("Mod", "PythonMod"):
                found.append(other.args)
    return found


def _quotient(value: Any, positive: bool) -> tuple[Any, ...]:
    """Integers of which a float is the quotient, and is no less than zero where it must be; else nothing."""
    name, args = type(value).__name__, value.args
    if name == "IntTrueDiv":
        above, below = args
    else:
        fraction, number = args if name == "Mul" and len(args) == 2 and args[0].is_Float else (1.0, value)
        factor, below = float(fraction).as_integer_ratio()
        if type(number).__name__ != "ToFloat" or not 0 < factor < _EXACT or below >= _EXACT:
            return ()
        above = factor * number.args[0]
    signs = (above.is_nonnegative, isinstance(below, int) or below.is_positive)
    return (above, below) if all(signs) or not positive else ()


def _power(parts: Sequence[Expr]) -> Expr | None:
    base, exponent = parts
    if exponent.constant is None or not 0 <= exponent.constant <= 8:
        return None
    return index_expr.product([base] * exponent.constant)


_COMPARISONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
"""SymPy's names of what `tw.compare` does."""
_ROUNDED: Mapping[str, str] = {"CeilToInt": "CeilDiv", "FloorToInt": "FloorDiv", "TruncToInt": "FloorDiv"}
"""`math.ceil(n / 32)` and `int(1.5 * n)` of integers, which Python divides and multiplies as floats."""
_EXACT = 1 << 20
"""Factors and powers of two below it are exact: times a size, they have no more digits than a float."""

_RULES: Mapping[str, Callable[[Sequence[Expr]], Expr | None]] = {
    "Add": lambda parts: reduce(lambda a, b: a + b, parts),
    "Mul": index_expr.product,
    "Pow": _power,
    "PowByNatural": _power,
    "FloorDiv": lambda parts: parts[0] // parts[1],
    "CleanDiv": lambda parts: parts[0] // parts[1],
    "CeilDiv": lambda parts: parts[0].ceildiv(parts[1]),
    "Mod": lambda parts: parts[0] % parts[1],
    "PythonMod": lambda parts: parts[0] % parts[1],
    "Abs": lambda parts: index_expr.maximum(parts[0], -parts[0]),
    "Max": lambda parts: reduce(index_expr.maximum, parts),
    "Min": lambda parts: reduce(index_expr.minimum, parts),
}
