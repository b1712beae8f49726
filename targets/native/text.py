"""What the text of a kernel is made of in every language: lines, names, sums, comparisons, places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, FileLineColLoc, FusedLoc, LocationAttr, NameLoc, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.utils.hints import isa

from tilewright.dialects.index_expr import Call, Expr, Var


@dataclass
class KernelText:
    """The text of one function while it is written, and the name of every value."""

    INDENT: ClassVar[str]
    COMMENT: ClassVar[str]
    """What starts a comment."""

    lines: list[str] = field(default_factory=list[str])
    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    depth: int = 1
    counter: int = 0
    where: str = ""
    """The place that the last comment named."""

    def line(self, text: str) -> None:
        """One more line at the present depth."""
        self.lines.append(self.INDENT * self.depth + text)

    def note_place(self, location: LocationAttr) -> None:
        """A comment where the user's line changes."""
        where = place(location)
        if where and where != self.where:
            self.where = where
            self.line(line_comment(self.COMMENT, where))

    def fresh(self, value: SSAValue, prefix: str = "v") -> str:
        """A new name for `value`; hints of the IR are not used, so equal kernels have equal text."""
        name = self.names[value] = f"{prefix}{self.counter}"
        self.counter += 1
        return name


def place(location: LocationAttr) -> str:
    """`model.py:12 (encoder.norm)`; empty where nothing is known."""
    if isinstance(location, NameLoc):
        inner = place(location.location) if isinstance(location.location, LocationAttr) else ""
        return f"{inner} ({location.desc.data})" if inner else location.desc.data
    if isinstance(location, FileLineColLoc):
        return f"{location.filename.data}:{location.line.data}"
    if isinstance(location, FusedLoc):
        parts: Attribute = location.locations
        inside = parts.data if isa(parts, ArrayAttr[Attribute]) else ()
        found = [place(part) for part in inside if isinstance(part, LocationAttr)]
        return ", ".join(dict.fromkeys(text for text in found if text))
    return ""


def name_of_argument(value: SSAValue) -> str:
    """What the user calls an argument of a graph: `x`, `encoder.norm.weight`; empty without a name."""
    if not isinstance(value, BlockArgument):
        return ""
    function = value.block.parent_op()
    if not isinstance(function, FuncOp) or function.arg_attrs is None:
        return ""
    name = function.arg_attrs.data[value.index].data.get("tw.name")
    return name.data if isinstance(name, StringAttr) else ""


def line_comment(leader: str, text: str) -> str:
    """A comment that stays one line; a backslash at its end would go on in C++."""
    return f"{leader} {' '.join(text.split())}".rstrip("\\")


# Index expressions


def sum_of(expr: Expr, atom: Callable[[Var | Call], str]) -> str:
    """The text of a sum of products; `atom` spells variables and calls."""
    if not expr.terms:
        return "0"
    text = ""
    for monomial, c in expr.terms:
        factors = [atom(a) for a in monomial]
        if abs(c) != 1 or not factors:
            factors.append(str(abs(c)))
        term = " * ".join(factors)
        if text:
            text += f" - {term}" if c < 0 else f" + {term}"
        else:
            text = f"-{term}" if c < 0 else term
    return text


# Comparisons

FLOAT_COMPARISONS: Mapping[str, str | bool] = {
    "false": False,
    "oeq": "{0} == {1}",
    "ogt": "{0} > {1}",
    "oge": "{0} >= {1}",
    "olt": "{0} < {1}",
    "ole": "{0} <= {1}",
    "one": "({0} < {1}) | ({0} > {1})",
    "ord": "({0} == {0}) & ({1} == {1})",
    "ueq": "({0} == {1}) | ({0} != {0}) | ({1} != {1})",
    "ugt": "({0} > {1}) | ({0} != {0}) | ({1} != {1})",
    "uge": "({0} >= {1}) | ({0} != {0}) | ({1} != {1})",
    "ult": "({0} < {1}) | ({0} != {0}) | ({1} != {1})",
    "ule": "({0} <= {1}) | ({0} != {0}) | ({1} != {1})",
    "une": "{0} != {1}",
    "uno": "({0} != {0}) | ({1} != {1})",
    "true": True,
}

_ORDERS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
INTEGER_COMPARISONS: Mapping[str, str] = {
    "eq": "==",
    "ne": "!=",
    **{sign + order: text for sign in "su" for order, text in _ORDERS.items()},
}
