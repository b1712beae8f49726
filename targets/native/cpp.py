"""Spelling: types, constants, index expressions and names in C++."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    VectorType,
)
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from tilewright.dialects.index_expr import Call, Expr, Var
from tilewright.dialects.types import is_float, ui8

from .text import line_comment, sum_of

Names = Mapping[Var, str]


@lru_cache(maxsize=256)
def scalar_type(type_: Attribute) -> str:
    """C++ type of one value, in a variable or in memory."""
    if isinstance(type_, IndexType):
        return "i64"
    width = integer_width(type_)
    if width is not None:
        return "bool" if width == 1 else f"i{width}"
    return str(type_)


def integer_width(type_: Attribute) -> int | None:
    """Bits of an integer type, None for others."""
    return type_.width.data if isa(type_, IntegerType) else None


@lru_cache(maxsize=1024)
def value_type(type_: Attribute) -> str:
    """C++ type of a value: vectors are `f32x16`, of i1 `i32x16`, of bf16 `u16x16`."""
    if not isa(type_, VectorType[Attribute]):
        return scalar_type(type_)
    element = scalar_type(type_.get_element_type())
    return f"{ {'bool': 'i32', 'bf16': 'u16'}.get(element, element) }x{lanes(type_)}"


@lru_cache(maxsize=1024)
def lanes(type_: Attribute) -> int:
    """Number of lanes, 1 for a scalar."""
    return type_.get_shape()[0] if isa(type_, VectorType[Attribute]) else 1


def is_vector(type_: Attribute) -> bool:
    """True for vectors."""
    return isinstance(type_, VectorType)


def buffer_type(type_: Attribute) -> str:
    """C++ type of what a memref points to; ui8 is read as i8, `arith` is signless."""
    assert isa(type_, MemRefType[Attribute])
    element = type_.get_element_type()
    return "i8" if element == ui8 else scalar_type(element)


def literal(value: float | int, type_: Attribute) -> str:
    """A constant of a scalar type."""
    if not is_float(type_):
        return _integer(int(value), type_)
    suffix = "" if isinstance(type_, Float64Type) else "f"
    if math.isnan(value):
        text = f'__builtin_nan{suffix}("")'
    elif math.isinf(value):
        text = f"{'-' if value < 0 else ''}__builtin_inf{suffix}()"
    else:
        text = repr(float(value)) if not suffix else f"{value:.9g}"
        text += ("" if any(c in text for c in ".e") else ".0") + suffix
    if isinstance(type_, BFloat16Type):
        return f"tw::to_bf16({text})"
    if isinstance(type_, Float16Type):
        return f"f16({text})"
    return f"({text})" if text.startswith("-") else text


def _integer(value: int, type_: Attribute) -> str:
    width = integer_width(type_) or 64
    if width == 1:
        return "true" if value else "false"
    if width == 32 and value > -(2**31):
        return f"({value})" if value < 0 else str(value)
    if value == -(2**63):
        return "(i64)(1ull << 63)"
    return f"i{width}({value}{'ll' if abs(value) >= 2**31 else ''})"


def element_literal(value: float | int, type_: Attribute) -> str:
    """A constant as one lane of a vector holds it: i1 is 0 or -1, bf16 its bits."""
    if integer_width(type_) == 1:
        return "-1" if value else "0"
    text = literal(value, type_)
    return f"{text}.bits" if isinstance(type_, BFloat16Type) else text


# Index expressions


def expression(value: Expr, names: Names | None = None) -> str:
    """An i64 expression; variables are spelled as themselves unless `names` says otherwise."""
    return sum_of(value, lambda atom: _atom(atom, names))


def operand(value: Expr, names: Names | None = None) -> str:
    """As `expression`, in parentheses where needed."""
    text = expression(value, names)
    return text if text.isalnum() else f"({text})"


_FUNCTIONS = {"floordiv": "tw::floor_div", "mod": "tw::floor_mod", "max": "tw::max_of", "min": "tw::min_of"}
_PLAIN = {"floordiv": "/", "mod": "%"}


def _atom(atom: Var | Call, names: Names | None) -> str:
    if isinstance(atom, Var):
        return str(atom) if names is None else names.get(atom, str(atom))
    if atom.name in _PLAIN and _nonnegative(atom.lhs) and _nonnegative(atom.rhs):
        return f"({operand(atom.lhs, names)} {_PLAIN[atom.name]} {operand(atom.rhs, names)})"
    lhs, rhs = expression(atom.lhs, names), expression(atom.rhs, names)
    return f"{_FUNCTIONS[atom.name]}<i64>({lhs}, {rhs})"


def _nonnegative(value: Expr) -> bool:
    """True where axes and symbols, which start at 0, cannot make it negative."""
    return all(c > 0 and all(_atom_nonnegative(a) for a in m) for m, c in value.terms)


def _atom_nonnegative(atom: Var | Call) -> bool:
    if isinstance(atom, Var):
        return atom.kind != "i"
    if atom.name == "max":
        return _nonnegative(atom.lhs) or _nonnegative(atom.rhs)
    if atom.name == "mod":
        return _nonnegative(atom.rhs)
    return _nonnegative(atom.lhs) and _nonnegative(atom.rhs)


# Text


def quoted(text: str) -> str:
    """A C string; everything outside of printable ASCII is escaped."""

    def escape(c: str) -> str:
        plain = c.isascii() and c.isprintable() and c not in '"\\?'
        return c if plain else "".join(f"\\{b:03o}" for b in c.encode())

    escaped = "".join(map(escape, text))
    return f'"{escaped}"'


def comment(text: str) -> str:
    """A line comment."""
    return line_comment("//", text)


_KEYWORDS = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t"
    " class compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield"
    " decltype default delete do double dynamic_cast else enum explicit export extern false float for friend"
    " goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private"
    " protected public register reinterpret_cast requires return short signed sizeof static static_assert"
    " static_cast struct switch template this thread_local throw true try typedef typeid typename union"
    " unsigned using virtual void volatile wchar_t while xor xor_eq".split()
)
# What the prelude and the emitted code declare: types, namespaces, variables.
_DECLARED = re.compile(
    r"(main|tw|tw_\w+|free|posix_memalign|dl\w+|PLACES|METHODS|SLOTS|Py\w*|_.*|[a-z]{1,2}\d+(x\d+)?)"
)


def identifier(text: str) -> str:
    """A C++ name made of what the text has; `k_` keeps it apart from words that mean something else."""
    name = "".join(c if c.isascii() and c.isalnum() else "_" for c in text)
    taken = not name or name[0].isdigit() or name in _KEYWORDS or _DECLARED.fullmatch(name)
    return f"k_{name}" if taken else name
