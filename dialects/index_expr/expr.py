"""Expressions: arithmetic that canonicalises, division, and what is known without bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from math import gcd
from typing import Any

from .variables import Var


@dataclass(frozen=True, slots=True)
class Call:
    """A non-polynomial function (`floordiv`, `mod`, `max` or `min`) of two expressions."""

    name: str
    lhs: Expr
    rhs: Expr
    _hash: int = field(init=False, repr=False, compare=False)
    _key: tuple[object, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.name, self.lhs, self.rhs)))
        object.__setattr__(self, "_key", (1, self.name, str(self.lhs), str(self.rhs)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        """Hashes of text hold in one process."""
        return (Call, (self.name, self.lhs, self.rhs))

    def __str__(self) -> str:
        if self.name in ("max", "min"):
            return f"{self.name}({self.lhs}, {self.rhs})"
        return f"({_operand(self.lhs)} {self.name} {_operand(self.rhs)})"

    def key(self) -> tuple[object, ...]:
        return self._key


def _operand(expr: Expr) -> str:
    text = str(expr)
    return text if expr.constant is not None or text.isalnum() else f"({text})"


Atom = Var | Call
Monomial = tuple[Atom, ...]
Terms = tuple[tuple[Monomial, int], ...]


def _atom_key(atom: Atom) -> tuple[object, ...]:
    return atom.key()


def _term_key(term: tuple[Monomial, int]) -> tuple[object, ...]:
    return (-len(term[0]), tuple(map(_atom_key, term[0])))


@dataclass(frozen=True, slots=True)
class Expr:
    """A sum of `coefficient * atom * atom ...`; terms are sorted and non-zero."""

    terms: Terms
    _hash: int = field(init=False, repr=False, compare=False)
    _text: str = field(init=False, repr=False, compare=False, default="")
    """What it is written as; empty until somebody asks: sizes of nested divisions are asked often."""
    _used: frozenset[Var] | None = field(init=False, repr=False, compare=False, default=None)
    """Its variables; None until somebody asks."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(self.terms))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        """As for `Call`."""
        return (Expr, (self.terms,))

    # Arithmetic

    def __add__(self, other: Expr | int) -> Expr:
        other = as_expr(other)
        if not self.terms or not other.terms:
            return self if self.terms else other
        sums = dict(self.terms)
        for monomial, coefficient in other.terms:
            sums[monomial] = sums.get(monomial, 0) + coefficient
        return from_terms(sums)

    __radd__ = __add__

    def __neg__(self) -> Expr:
        return Expr(tuple((m, -c) for m, c in self.terms))

    def __sub__(self, other: Expr | int) -> Expr:
        return self + -as_expr(other)

    def __rsub__(self, other: int) -> Expr:
        return as_expr(other) - self

    def __mul__(self, other: Expr | int) -> Expr:
        other = as_expr(other)
        for one, factor in ((self, other), (other, self)):
            if (times := factor.constant) is not None:
                return one if times == 1 else Expr(tuple((m, c * times) for m, c in one.terms if times))
        products: dict[Monomial, int] = {}
        for m1, c1 in self.terms:
            for m2, c2 in other.terms:
                monomial = tuple(sorted(m1 + m2, key=_atom_key))
                products[monomial] = products.get(monomial, 0) + c1 * c2
        return from_terms(products)

    __rmul__ = __mul__

    def __floordiv__(self, other: Expr | int) -> Expr:
        return _divide(self, as_expr(other))[0]

    def __mod__(self, other: Expr | int) -> Expr:
        return _divide(self, as_expr(other))[1]

    def ceildiv(self, other: Expr | int) -> Expr:
        """The least integer that is not below `self / other`, for an `other` that is positive."""
        return (self + other - 1) // other

    def exact_div(self, other: Expr | int) -> Expr | None:
        """`self / other` where the polynomial division leaves nothing, else None."""
        return _exact_quotient(self, as_expr(other))

    # Queries

    @property
    def constant(self) -> int | None:
        """The value, where the expression is a plain integer."""
        match self.terms:
            case ():
                return 0
            case (((), value),):
                return value
            case _:
                return None

    def atoms(self) -> Iterator[Atom]:
        for monomial, _ in self.terms:
            yield from monomial

    def variables(self) -> frozenset[Var]:
        """Every variable, those inside `floordiv` and the like included."""
        if self._used is None:
            object.__setattr__(self, "_used", frozenset(_variables(self.terms)))
        return self._used or frozenset()

    def uses(self, var: Var) -> bool:
        return var in self.variables()

    def coefficient(self, var: Var) -> Expr | None:
        """`c` where `self == c*var + rest` and neither uses `var`; None where not linear."""
        return _coefficient(self, var) if self.uses(var) else ZERO

    # Rewriting

    def substitute(self, values: Mapping[Var, Expr]) -> Expr:
        """Replace variables; the result is canonical again."""
        if not values or self.variables().isdisjoint(values):
            return self

        def atom_value(atom: Atom) -> Expr:
            if isinstance(atom, Var):
                return values[atom] if atom in values else from_atom(atom)
            return FUNCTIONS[atom.name](atom.lhs.substitute(values), atom.rhs.substitute(values))

        sums: dict[Monomial, int] = {}
        for monomial, c in self.terms:
            for term, factor in product(map(atom_value, monomial)).terms:
                sums[term] = sums.get(term, 0) + c * factor
        return from_terms(sums)

    def evaluate(self, values: Mapping[Var, int]) -> int:
        """The integer value; raises KeyError where a variable has none."""
        total = 0
        for monomial, c in self.terms:
            for atom in monomial:
                if isinstance(atom, Var):
                    c *= values[atom]
                else:
                    c *= _EVALUATE[atom.name](atom.lhs.evaluate(values), atom.rhs.evaluate(values))
            total += c
        return total

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __str__(self) -> str:
        if not self._text:
            object.__setattr__(self, "_text", self._written())
        return self._text

    def _written(self) -> str:
        if not self.terms:
            return "0"
        text = ""
        for monomial, c in self.terms:
            factors = [str(abs(c))] if abs(c) != 1 or not monomial else []
            body = "*".join([*(str(a) for a in monomial), *factors])
            if text:
                text += f" - {body}" if c < 0 else f" + {body}"
            else:
                text = f"-{body}" if c < 0 else body
        return text


@lru_cache(maxsize=65536)
def _coefficient(expr: Expr, var: Var) -> Expr | None:
    linear: dict[Monomial, int] = {}
    for monomial, c in expr.terms:
        if var not in _variables(((monomial, c),)):
            continue
        if monomial.count(var) != 1:
            return None
        rest = list(monomial)
        rest.remove(var)
        if any(isinstance(a, Call) and var in a.lhs.variables() | a.rhs.variables() for a in rest):
            return None
        key = tuple(rest)
        linear[key] = linear.get(key, 0) + c
    return from_terms(linear)


def _variables(terms: Terms) -> set[Var]:
    found: set[Var] = set()
    for monomial, _ in terms:
        for atom in monomial:
            if isinstance(atom, Var):
                found.add(atom)
            else:
                found |= atom.lhs.variables() | atom.rhs.variables()
    return found


def from_terms(sums: Mapping[Monomial, int]) -> Expr:
    """The sum of `coefficient * monomial`, canonical."""
    kept = [(m, c) for m, c in sums.items() if c]
    if len(kept) > 1:
        kept.sort(key=_term_key)
    return Expr(tuple(kept))


def from_atom(atom: Atom) -> Expr:
    """A variable or function call as an expression."""
    return Expr((((atom,), 1),))


@cache
def _constant(value: int) -> Expr:
    return Expr((((), value),)) if value else Expr(())


def as_expr(value: Expr | int) -> Expr:
    return value if isinstance(value, Expr) else _constant(value)


ZERO = as_expr(0)
ONE = as_expr(1)


@cache
def dim(index: int) -> Expr:
    """Axis `d<index>`."""
    return from_atom(Var("d", index))


@cache
def sym(index: int) -> Expr:
    """Symbol `s<index>`, a size that is known at run time."""
    return from_atom(Var("s", index))


@cache
def gathered(index: int) -> Expr:
    """Gather index `i<index>`, the value of an `index` operand."""
    return from_atom(Var("i", index))


def product(factors: Iterable[Expr | int]) -> Expr:
    total = ONE
    for factor in factors:
        total = total * factor
    return total


# Division


def _quotient_of_term(monomial: Monomial, c: int, by: tuple[Monomial, int]) -> tuple[Monomial, int] | None:
    by_monomial, by_c = by
    if c % by_c:
        return None
    rest = list(monomial)
    for atom in by_monomial:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest), c // by_c


def _exact_quotient(value: Expr, by: Expr) -> Expr | None:
    if not by:
        return None
    quotient, rest, steps = ZERO, value, 0
    while rest:
        part = _quotient_of_term(*rest.terms[0], by.terms[0])
        steps += 1
        if part is None or steps > 32:
            return None
        term = from_terms({part[0]: part[1]})
        quotient, rest = quotient + term, rest - term * by
    return quotient


@lru_cache(maxsize=65536)
def _divide(value: Expr, by: Expr) -> tuple[Expr, Expr]:
    """Floor quotient and remainder; exact parts are divided out, the rest stays a call."""
    if by.constant == 0:
        raise ZeroDivisionError(f"({value}) divided by zero")
    if (exact := _exact_quotient(value, by)) is not None:
        return exact, ZERO
    whole, rest = _divided_terms(value, by)
    common = _content(rest, by)
    if common > 1:  # (g*a) floordiv (g*b) == a floordiv b, and mod scales by g
        rest, by = scale_down(rest, common), scale_down(by, common)
    if rest.constant is not None and by.constant is not None:
        return whole + rest.constant // by.constant, as_expr(rest.constant % by.constant) * common
    inner = rest.terms[0][0][0] if len(rest.terms) == 1 and len(rest.terms[0][0]) == 1 else None
    if isinstance(inner, Call) and rest.terms[0][1] == 1:
        if inner.name == "floordiv" and (by.constant or 0) > 0 and (inner.rhs.constant or 0) > 0:
            return whole + inner.lhs // (inner.rhs * by), _call("mod", rest, by) * common
        if inner.name == "mod" and inner.rhs.exact_div(by) is not None and by.constant is not None:
            return whole + _call("floordiv", rest, by), (inner.lhs % by) * common
    return whole + _call("floordiv", rest, by), _call("mod", rest, by) * common


def _divided_terms(value: Expr, by: Expr) -> tuple[Expr, Expr]:
    """The quotient of every term that `by` divides, and the other terms."""
    whole, rest = ZERO, value
    for monomial, c in value.terms if len(by.terms) == 1 else ():
        if (part := _quotient_of_term(monomial, c, by.terms[0])) is not None:
            term = from_terms({part[0]: part[1]})
            whole, rest = whole + term, rest - term * by
    return whole, rest


def _content(*values: Expr) -> int:
    return gcd(*(c for value in values for _, c in value.terms))


def scale_down(value: Expr, by: int) -> Expr:
    """`value / by`, where `by` divides every coefficient."""
    return Expr(tuple((m, c // by) for m, c in value.terms))


def _call(name: str, lhs: Expr, rhs: Expr) -> Expr:
    return from_atom(Call(name, lhs, rhs))


def maximum(lhs: Expr | int, rhs: Expr | int) -> Expr:
    return _extreme("max", as_expr(lhs), as_expr(rhs))


def minimum(lhs: Expr | int, rhs: Expr | int) -> Expr:
    return _extreme("min", as_expr(lhs), as_expr(rhs))


def _extreme(name: str, lhs: Expr, rhs: Expr) -> Expr:
    difference = lhs - rhs
    if difference.constant is not None or is_nonnegative(difference):
        larger, smaller = (lhs, rhs) if (difference.constant or 0) >= 0 else (rhs, lhs)
        return larger if name == "max" else smaller
    if is_nonnegative(-difference):
        return rhs if name == "max" else lhs
    first, second = sorted((lhs, rhs), key=str)
    return _call(name, first, second)


FUNCTIONS: Mapping[str, Callable[[Expr, Expr], Expr]] = {
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "max": maximum,
    "min": minimum,
}
_EVALUATE: Mapping[str, Callable[[int, int], int]] = {
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "max": max,
    "min": min,
}


# Facts


def atom_is_nonnegative(atom: Atom) -> bool:
    """True where the atom is non-negative for all sizes; nothing is assumed of axes."""
    match atom:
        case Var(kind="s"):
            return True
        case Call(name="mod", rhs=rhs):
            return is_nonnegative(rhs)
        case Call(name="floordiv" | "min", lhs=lhs, rhs=rhs):
            return is_nonnegative(lhs) and is_nonnegative(rhs)
        case Call(name="max", lhs=lhs, rhs=rhs):
            return is_nonnegative(lhs) or is_nonnegative(rhs)
        case _:
            return False


def is_nonnegative(value: Expr) -> bool:
    """True where every term is non-negative for all sizes (sufficient, not necessary)."""
    return all(c > 0 and all(atom_is_nonnegative(a) for a in m) for m, c in value.terms)
