"""Lines of upstream MLIR text: names, types, constants and index arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite
from struct import pack

from xdsl.dialects.builtin import IndexType, TensorType, UnknownLoc, bf16, f16, f32, f64, i1
from xdsl.ir import Attribute, Operation

from tilewright.dialects.index_expr import Call, Expr, Var
from tilewright.dialects.types import element_type, is_float, scalar_type, sizes_of_type

_HEX_DIGITS: Mapping[Attribute, int] = {f64: 16, f32: 8, f16: 4, bf16: 4}
_DIVISIONS = {"floordiv": "arith.floordivsi", "max": "arith.maxsi", "min": "arith.minsi"}


def spell(type_: Attribute) -> str:
    """A type as upstream has it: sizes that are symbols are `?`, integers have no sign."""
    if type_.name == TensorType.name:  # isinstance would leave the element type unknown to checkers
        return tensor(element_type(type_), sizes_of_type(type_))
    return str(scalar_type(type_))


def tensor(element: Attribute, sizes: Sequence[Expr]) -> str:
    """The tensor type with these sizes."""
    dims = "".join(f"{'?' if n.constant is None else n.constant}x" for n in sizes)
    return f"tensor<{dims}{spell(element)}>"


def literal(value: float | int, element: Attribute) -> str:
    """A number as an attribute of upstream."""
    if is_float(element):
        return _float(float(value), element)
    return ("true" if value else "false") if element == i1 else str(int(value))


def _float(value: float, element: Attribute) -> str:
    if not isfinite(value):  # no decimal form exists
        bits = pack(">f", value).hex() if element in (f32, bf16) else pack(">d", value).hex()
        bits = pack(">e", value).hex() if element == f16 else bits
        return f"0x{bits[: _HEX_DIGITS[element]].upper()}"
    mantissa, e, exponent = repr(value).partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{e}{exponent}"


class UnknownSize(Exception):
    """A symbol whose value no argument gives."""


@dataclass
class Writer:
    """Appends lines; `name` values are made in order, so the same module gives the same text."""

    lines: list[str] = field(default_factory=list[str])
    functions: dict[str, str] = field(default_factory=dict[str, str])
    """Declarations of C functions that are called, by name."""
    symbols: dict[Var, str] = field(default_factory=dict[Var, str])
    """The value of each symbol in the current function."""
    location: str = ""
    _count: int = 0
    _depth: int = 1

    def fresh(self) -> str:
        self._count += 1
        return f"%{self._count - 1}"

    def at(self, op: Operation) -> None:
        """The lines from here on come from `op`."""
        known = not isinstance(op.location, UnknownLoc)
        self.location = f" {op.location}" if known else ""

    def line(self, text: str, *, located: bool = True) -> None:
        self.lines.append("  " * self._depth + text + (self.location if located else ""))

    def value(self, text: str) -> str:
        """A new value, defined by `text`."""
        name = self.fresh()
        self.line(f"{name} = {text}")
        return name

    @contextmanager
    def block(self, opening: str, closing: Callable[[], str]) -> Generator[None]:
        """A region: what is written inside is indented."""
        self.line(opening, located=False)
        self._depth += 1
        yield
        self._depth -= 1
        self.line(closing())

    def restart(self) -> None:
        """Begin a function: names and symbols are its own."""
        self._count, self.location = 0, ""
        self.symbols.clear()

    # Constants and sizes

    def constant(self, value: float | int, type_: Attribute) -> str:
        suffix = "" if type_ == i1 else f" : {spell(type_)}"
        return self.value(f"arith.constant {literal(value, type_)}{suffix}")

    def index(self, expr: Expr, axes: Mapping[Var, str] | None = None) -> str:
        """The value of an index expression; `axes` gives those of axes and gather indices."""
        total: str | None = None
        for monomial, coefficient in expr.terms:
            factors = [self._atom(atom, axes or {}) for atom in monomial]
            if coefficient != 1 or not factors:
                factors.append(self.constant(coefficient, IndexType()))
            term = factors[0]
            for factor in factors[1:]:
                term = self.value(f"arith.muli {term}, {factor} : index")
            total = term if total is None else self.value(f"arith.addi {total}, {term} : index")
        return self.constant(0, IndexType()) if total is None else total

    def _atom(self, atom: Var | Call, axes: Mapping[Var, str]) -> str:
        if isinstance(atom, Var):
            if (found := axes.get(atom) or self.symbols.get(atom)) is None:
                raise UnknownSize(str(atom))
            return found
        lhs, rhs = self.index(atom.lhs, axes), self.index(atom.rhs, axes)
        if atom.name in _DIVISIONS:
            return self.value(f"{_DIVISIONS[atom.name]} {lhs}, {rhs} : index")
        quotient = self.value(f"arith.floordivsi {lhs}, {rhs} : index")
        whole = self.value(f"arith.muli {quotient}, {rhs} : index")
        return self.value(f"arith.subi {lhs}, {whole} : index")

    def size(self, expr: Expr) -> str:
        """A size in a list that takes numbers and values."""
        return self.index(expr) if expr.constant is None else str(expr.constant)

    def empty(self, element: Attribute, sizes: Sequence[Expr]) -> str:
        """A tensor whose elements nobody reads."""
        dynamic = ", ".join([self.index(n) for n in sizes if n.constant is None])
        return self.value(f"tensor.empty({dynamic}) : {tensor(element, sizes)}")

    def filled(self, value: str, element: Attribute, sizes: Sequence[Expr]) -> str:
        """A tensor that repeats a scalar."""
        type_ = tensor(element, sizes)
        target = self.empty(element, sizes)
        return self.value(f"linalg.fill ins({value} : {spell(element)}) outs({target} : {type_}) -> {type_}")
