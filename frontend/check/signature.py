"""What the functions of a module take, at whatever level it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.index_expr import Expr, Var, as_expr, parse_exprs
from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.kernels import FuncOp as KernelFunction
from tilewright.dialects.tw.base import stated_strides
from tilewright.dialects.types import element_type_of, sizes_of
from tilewright.passes.setup import SETUP

_SYMBOL = re.compile(r"\bs\d+\b")
Level = Literal["tensors", "plan", "kernel"]


@dataclass(frozen=True)
class Parameter:
    """One argument: a size (no element type), or a tensor."""

    element: Attribute | None
    sizes: tuple[Expr, ...] | None = ()
    """None for a flat buffer whose type does not say its size."""
    symbol: Var | None = None
    strides: tuple[Expr, ...] | None = None


@dataclass(frozen=True)
class Entry:
    """A function that can be run."""

    name: str
    level: Level
    parameters: tuple[Parameter, ...]
    symbols: tuple[Var, ...]
    """All that occur in the sizes."""


@dataclass(frozen=True)
class Refused:
    """A function that cannot be run, and why."""

    name: str
    why: str


def entries(module: ModuleOp) -> tuple[list[Entry], list[Refused]]:
    """The functions to run: those of the host, or the kernels where there are no others."""
    functions = list(defined_functions(module))
    mains = [f for f in functions if f.sym_name.data != SETUP or len(functions) == 1]
    found: list[Entry] = []
    refused: list[Refused] = []
    if mains:
        described = [_function(f) for f in mains]
    else:
        described = [_kernel(f) for f in module.ops if isinstance(f, KernelFunction)]
    for item in described:
        if isinstance(item, Entry):
            found.append(item)
        else:
            refused.append(item)
    return found, refused


def function_named(module: ModuleOp, name: str) -> FuncOp | None:
    """The host function of that name."""
    return next((f for f in module.ops if isinstance(f, FuncOp) and f.sym_name.data == name), None)


def kernel_named(module: ModuleOp, name: str) -> KernelFunction | None:
    """The kernel of that name."""
    found = (f for f in module.ops if isinstance(f, KernelFunction) and f.sym_name.data == name)
    return next(found, None)


def is_plan(function: FuncOp) -> bool:
    """Whether a function works on memory (`th`), not on values (`tw`, `tk`)."""
    inside = any(op.name.startswith("th.") for op in function.body.block.ops)
    return inside or any(isinstance(arg.type, MemRefType) for arg in function.body.block.args)


def derived_arguments(function: FuncOp) -> int:
    """How many trailing arguments are results of `@setup`."""
    attrs = function.arg_attrs.data if function.arg_attrs is not None else ()
    return sum("tw.derived" in a.data for a in attrs)


def _function(function: FuncOp) -> Entry | Refused:
    name, plan = function.sym_name.data, is_plan(function)
    count = len(function.body.block.args) - derived_arguments(function)
    parameters: list[Parameter] = []
    for index, arg in enumerate(function.body.block.args[:count]):
        attrs = _attributes(function, index)
        parameter = _parameter(arg, attrs)
        if parameter is None:
            return Refused(name, f"argument {index} has type {arg.type}, of which no values can be made")
        parameters.append(parameter)
    return Entry(name, "plan" if plan else "tensors", tuple(parameters), _symbols(function, parameters))


def _attributes(function: FuncOp, index: int) -> dict[str, Attribute]:
    attrs = function.arg_attrs.data if function.arg_attrs is not None else ()
    return dict(attrs[index].data) if index < len(attrs) else {}


def _parameter(arg: SSAValue, attrs: dict[str, Attribute]) -> Parameter | None:
    if isinstance(arg.type, IndexType):
        name = attrs.get("tw.symbol")
        return Parameter(None, (), _var(name.data) if isinstance(name, StringAttr) else None)
    sizes, strides = attrs.get("th.sizes"), attrs.get("th.strides")
    if isinstance(arg.type, MemRefType):
        if not isinstance(sizes, StringAttr) or not isinstance(strides, StringAttr):
            return _flat(arg)
        exprs = parse_exprs(sizes.data)
        return Parameter(element_type_of(arg), exprs, strides=parse_exprs(strides.data))
    if isinstance(arg.type, TensorType):
        return Parameter(element_type_of(arg), sizes_of(arg), strides=stated_strides(attrs))
    return None


def _flat(arg: SSAValue) -> Parameter | None:
    """A buffer without a layout is read as it lies; its size must be known."""
    size = _extent(arg)
    return None if size is None else Parameter(element_type_of(arg), (as_expr(size),), strides=(as_expr(1),))


def _extent(arg: SSAValue) -> int | None:
    """The elements of a flat buffer, None where its type does not say."""
    type_: Attribute = arg.type
    assert isinstance(type_, MemRefType)
    (size,) = type_.get_shape()
    return None if size < 0 else size


def _var(name: str) -> Var:
    return Var(name[0], int(name[1:]))


def _kernel(function: KernelFunction) -> Entry | Refused:
    parameters: list[Parameter] = []
    for arg in function.body.block.args:
        size = _extent(arg)
        parameters.append(Parameter(element_type_of(arg), None if size is None else (as_expr(size),)))
    symbols = sorted({v for e in function.symbols.exprs for v in e.variables()}, key=str)
    return Entry(function.sym_name.data, "kernel", tuple(parameters), tuple(symbols))


def _symbols(function: FuncOp, parameters: list[Parameter]) -> tuple[Var, ...]:
    found = {v for p in parameters for e in p.sizes or () for v in e.variables()}
    found |= {p.symbol for p in parameters if p.symbol is not None}
    for op in function.walk():
        for result in op.results:
            if isinstance(result.type, TensorType):
                found |= {v for e in sizes_of(result) for v in e.variables()}
        for attr in (*op.properties.values(), *op.attributes.values()):
            if isinstance(attr, StringAttr):
                found |= {_var(name) for name in _SYMBOL.findall(attr.data)}
    return tuple(sorted((v for v in found if v.kind == "s"), key=lambda v: v.index))
