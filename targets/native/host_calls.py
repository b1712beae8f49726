"""Arguments of `th.extern` and `th.call`: C expressions for a shim, plain data for Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tw.aten import ArgAttr, SizeAttr
from tilewright.dialects.types import ELEMENT_TYPES
from tilewright.dialects.types import ui8 as _ui8

from .cpp import expression, quoted
from .errors import NoHostLowering
from .fallback import Argument, Dtype, Integer, Operand
from .shims import Parameter, Shim

DTYPES = {
    "ui8": 0, "i8": 1, "i16": 2, "i32": 3, "i64": 4, "f16": 5, "f32": 6, "f64": 7, "i1": 11, "bf16": 15,
}  # fmt: skip
"""c10::ScalarType, part of libtorch's stable ABI."""

_NAMES = {element: name for name, element in ELEMENT_TYPES.items()}


def element_name(type_: Attribute) -> str:
    """`f32`, `ui8`, ...: the name in ELEMENT_TYPES."""
    return "ui8" if type_ == _ui8 else _NAMES[type_]


class NoCForm(Exception):
    """An argument that a C function cannot take; the call goes through Python."""


@dataclass
class ShimArguments:
    """C declarations that must stand before the call, and the argument expressions."""

    handles: Sequence[str]
    prefix: str
    before: list[str] = field(default_factory=list[str])
    values: list[str] = field(default_factory=list[str])

    def fill(self, shim: Shim, args: Sequence[Attribute]) -> None:
        """Append what `shim` takes for `args`; raises NoCForm where it cannot take them."""
        given = args[: len(args) - shim.outs]
        if len(given) > len(shim.parameters):
            raise NoCForm
        outs = [self._handle(arg) for arg in args[len(given) :]]
        self.values += outs
        for i, parameter in enumerate(shim.parameters):
            arg = given[i] if i < len(given) else None
            if arg is None and parameter.default is None:
                raise NoCForm
            self._one(parameter, arg)

    def _declare(self, text: str, suffix: str = "") -> str:
        """A local of `text`, a declaration with `@` for its name."""
        name = f"{self.prefix}_{len(self.before)}"
        self.before.append(text.replace("@", name + suffix))
        return name

    def _handle(self, arg: Attribute | None) -> str:
        if not isinstance(arg, ArgAttr):
            raise NoCForm
        return self.handles[arg.index.data]

    def _one(self, parameter: Parameter, arg: Attribute | None) -> None:
        kind = parameter.kind
        if kind.endswith("?") and _is_none(parameter, arg):
            self.values += ["nullptr", "0"] if kind == "L?" else ["nullptr"]
        elif kind == "T":
            self.values.append(self._handle(arg))
        elif kind == "T?":
            self.values.append(f"&{self._declare(f'Handle @ = {self._handle(arg)};')}")
        elif kind in ("I?", "F?"):
            type_ = {"I?": "i64", "F?": "f64"}[kind]
            self.values.append(f"&{self._declare(f'const {type_} @ = {_number(arg)};')}")
        elif kind in ("I", "F", "B"):
            self.values.append(str(parameter.default) if arg is None else _number(arg))
        elif kind == "S":
            if not isinstance(arg, StringAttr):
                raise NoCForm
            self.values.append(quoted(arg.data))
        elif kind == "D?":
            if arg not in _NAMES:
                raise NoCForm
            self.values.append(f"&{self._declare(f'const i32 @ = {DTYPES[_NAMES[arg]]};')}")
        else:
            self._list(kind, parameter, arg)

    def _list(self, kind: str, parameter: Parameter, arg: Attribute | None) -> None:
        if arg is None or not isinstance(arg, ArrayAttr):
            raise NoCForm  # also lists given as one number or left out: rare, Python knows the schema
        items = [*cast(ArrayAttr[Attribute], arg).data]
        if kind == "A":
            texts, type_ = [self._handle(item) for item in items], "Handle"
        else:
            texts, type_ = [_number(item) for item in items], "i32" if kind == "M" else "i64"
        name = self._declare(f"const {type_} @ = {{{', '.join(texts) or '0'}}};", "[]")
        if kind == "L?":
            name = "&" + self._declare(f"const i64* const @ = {name};")
        self.values += [name, str(len(texts))]


def _is_none(parameter: Parameter, arg: Attribute | None) -> bool:
    return isinstance(arg, UnitAttr) or (arg is None and parameter.default == "None")


def _number(arg: Attribute | None) -> str:
    match arg:
        case IntegerAttr(value=IntAttr(data=value), type=IntegerType(width=IntAttr(data=1))):
            return "1" if value else "0"
        case IntegerAttr(value=IntAttr(data=value)):
            return str(value)
        case FloatAttr():
            return _double(arg.value.data)
        case SizeAttr():
            return expression(arg.expr())
        case _:
            raise NoCForm


def _double(value: float) -> str:
    if value != value:
        return '__builtin_nan("")'
    if value in (float("inf"), float("-inf")):
        return f"{'-' if value < 0 else ''}__builtin_inf()"
    return repr(value)


@dataclass
class PythonArguments:
    """Arguments as data; symbolic integers are collected, to be passed at run time."""

    op: Operation
    integers: list[Expr] = field(default_factory=list[Expr])

    def convert(self, arg: Attribute) -> Argument:
        """One argument."""
        match arg:
            case ArgAttr():
                return Operand(arg.index.data)
            case SizeAttr():
                self.integers.append(arg.expr())
                return Integer(len(self.integers) - 1)
            case UnitAttr():
                return None
            case IntegerAttr(value=IntAttr(data=value), type=IntegerType(width=IntAttr(data=1))):
                return bool(value)
            case IntegerAttr(value=IntAttr(data=value)):
                return value
            case FloatAttr():
                return arg.value.data
            case StringAttr():
                return arg.data
            case ArrayAttr():
                items = arg.data
                return tuple(self.convert(item) for item in items)
            case _ if arg in _NAMES:
                return Dtype(_NAMES[arg])
            case _:
                raise NoHostLowering(self.op, reason=f"its argument {arg} has no form in Python")


Available = Callable[[str], bool]
"""Whether libtorch exports a C function."""
