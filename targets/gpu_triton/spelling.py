"""Spelling: types, numbers, index expressions and names in Triton."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from keyword import iskeyword

from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from tilewright.dialects.index_expr import Bounds, Call, Expr, Var
from tilewright.dialects.types import element_type

from ..native.text import line_comment, sum_of

Names = Mapping[Var, str]

_FLOATS = {
    **{"f64": "float64", "f32": "float32", "bf16": "bfloat16", "f16": "float16"},
    **{
        "f8E4M3FN": "float8e4nv",
        "f8E4M3FNUZ": "float8e4b8",
        "f8E5M2": "float8e5",
        "f8E5M2FNUZ": "float8e5b16",
    },
}
_POINTERS = {"f64": "fp64", "f32": "fp32", "bf16": "bf16", "f16": "fp16"}


@lru_cache(maxsize=256)
def dtype(type_: Attribute) -> str:
    """`tl.float32`: the type of the elements of a value."""
    element = element_type(type_)
    if isinstance(element, IndexType):
        return "tl.int64"
    if isa(element, IntegerType):
        return f"tl.int{element.width.data}"
    return f"tl.{_FLOATS[str(element)]}"


@lru_cache(maxsize=256)
def pointer(element: Attribute) -> str:
    """`*fp32`: the type of a buffer in a signature; of bytes without a sign, too, it is `*i8`.

    What is loaded is an i8 in the IR, which `arith.extsi` and `arith.extui` widen; of a `*u8` Triton would
    make a number without a sign whatever the op says.
    """
    if isa(element, IntegerType):
        return f"*i{element.width.data}"
    return f"*{_POINTERS[str(element)]}"


def number(value: float | int, type_: Attribute) -> str:
    """A literal; it takes the type of what it meets."""
    element = element_type(type_)
    if isa(element, IntegerType) and element.width.data == 1:
        return "True" if value else "False"
    if isinstance(value, int):
        return f"({value})" if value < 0 else str(value)
    if math.isnan(value):
        return 'float("nan")'
    if math.isinf(value):
        return 'float("inf")' if value > 0 else 'float("-inf")'
    return f"({value!r})" if math.copysign(1.0, value) < 0 else repr(value)


def shape_text(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"


# Index expressions


def expression(expr: Expr, names: Names, bounds: Bounds, helpers: set[str]) -> str:
    """The text of a sum; what may be negative is divided by helpers that round down, added to `helpers`."""
    return sum_of(expr, lambda atom: _atom(atom, names, bounds, helpers))


def enclosed(text: str) -> str:
    """In parentheses, unless no operator stands outside of its own: a word, a call, a method's result."""
    return f"({text})" if text.startswith("-") or len(_outside(text)) > 1 else text


def _outside(text: str) -> list[str]:
    """The words between spaces that no bracket holds: operands and operators in turn."""
    words, depth = [""], 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if c == " " and depth == 0:
            words.append("")
        else:
            words[-1] += c
    return words


def bare(text: str) -> str:
    """Without parentheses around all of it, as arguments of a call and right sides are written."""
    if not text.startswith("("):
        return text
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return text[1:-1] if i == len(text) - 1 else text
    return text


_BINDS: Mapping[str, int] = {"+": 1, "-": 1, "*": 2, "/": 2}


def binary(lhs: str, operator: str, rhs: str) -> str:
    """`lhs operator rhs` of operands as `enclosed` gives them, without parentheses that change nothing."""
    level = _BINDS.get(operator)
    if level is None:
        return f"{lhs} {operator} {rhs}"
    left = bare(lhs) if _binding(bare(lhs)) >= level else lhs
    right = bare(rhs) if _binding(bare(rhs)) > level else rhs
    return f"{left} {operator} {right}"


def _binding(text: str) -> int:
    """How close the loosest operator outside of brackets binds; 0 where it is no sum or product."""
    if text.startswith("-"):
        return 0
    words = _outside(text)
    return min((_BINDS.get(word, 0) for word in words[1::2]), default=3)


_OPERATORS = {"floordiv": "//", "mod": "%"}
_HELPERS = {"floordiv": "_floor_div", "mod": "_floor_mod"}
_EXTREMES = {"max": "tl.maximum", "min": "tl.minimum"}


def _atom(atom: Var | Call, names: Names, bounds: Bounds, helpers: set[str]) -> str:
    if isinstance(atom, Var):
        return names[atom]
    lhs, rhs = (expression(side, names, bounds, helpers) for side in (atom.lhs, atom.rhs))
    if atom.name in _EXTREMES:
        return f"{_EXTREMES[atom.name]}({lhs}, {rhs})"
    if bounds.is_nonnegative(atom.lhs) and bounds.is_nonnegative(atom.rhs):
        return f"({enclosed(lhs)} {_OPERATORS[atom.name]} {enclosed(rhs)})"
    helpers.add(_HELPERS[atom.name])
    return f"{_HELPERS[atom.name]}({lhs}, {rhs})"


_TAKEN = frozenset({"tl", "triton", "libdevice", "range", "float"})


def identifier(text: str) -> str:
    """A name for a function; `k_` keeps it apart from words that mean something else."""
    name = "".join(c if c.isascii() and c.isalnum() else "_" for c in text)
    fits = name.isidentifier() and not iskeyword(name) and not name.startswith("_") and name not in _TAKEN
    return name if fits else f"k_{name}"


def comment(text: str) -> str:
    """A line comment."""
    return line_comment("#", text)
