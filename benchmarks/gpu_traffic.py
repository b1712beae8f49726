"""Launches of a compiled graph, and the bytes that each must move.

One rule for every compiler: a launch (of a kernel, or of a library's function) moves each buffer
that it reads once and each that it writes once. Of a buffer count the elements that its
accesses can touch: per access the product of the sizes of the axes that its subscripts use,
over all accesses at most the buffer. A library's function moves its operands and results, without
the dimensions that only repeat elements. What stays inside of a launch is free.

Here it is applied to our plans, in benchmarks/gpu_compare_worker.py to Inductor's. Sizes are static.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import FixedBitwidthType, MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp as MainOp
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from tilewright.dialects.index_expr import Expr, Var, parse_exprs
from tilewright.dialects.th.calls import CallOp, ExternOp, LaunchOp, TritonLaunchOp
from tilewright.dialects.th.memory import ViewOp
from tilewright.dialects.th.types import TensorType
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.domain import axes_of_exprs, domains_of
from tilewright.dialects.tk.group import GroupOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tw.aten import ArgAttr


@dataclass(frozen=True)
class Call:
    """One launch."""

    name: str
    library: bool
    bytes: int
    parts: tuple[str, ...]
    """What it moves, for people."""


def touched(accesses: Iterable[tuple[Hashable, int]], size: int) -> int:
    """Elements that accesses (what, how many) touch of a buffer of `size`; equal ones count once."""
    return min(size, sum(dict(accesses).values()))


def calls_of(module: ModuleOp) -> list[Call]:
    """Every launch of a module that is planned (`plan-memory`) and whose kernels have no loops yet."""
    kernels = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp | GroupOp)}
    main = next(op for op in module.ops if isinstance(op, MainOp))
    found: list[Call] = []
    for op in main.body.block.ops:
        if isinstance(op, LaunchOp):
            found.append(_launch(kernels[op.kernel.string_value()], kernels))
        elif isinstance(op, ExternOp | CallOp):
            found.append(_of_handles(op, op.callee.data, library=True))
        elif isinstance(op, TritonLaunchOp):
            found.append(_of_handles(op, op.kernel.function.data, library=False))
    return found


Accesses = dict[tuple[str, SSAValue], list[tuple[Hashable, int]]]
"""What is done to which buffer: where, and to how many elements."""


def _launch(kernel: FuncOp | GroupOp, kernels: Mapping[str, FuncOp | GroupOp]) -> Call:
    if isinstance(kernel, FuncOp):
        accesses = _accesses(kernel, {})
    else:
        accesses = _accesses_of_parts(kernel, kernels)
    moved = [(way, buffer.type, touched(found, _room(buffer))) for (way, buffer), found in accesses.items()]
    parts = tuple(f"{way} {count} {_element(type_)}" for way, type_, count in moved)
    name = kernel.attributes.get("tk.name")
    title = f"{kernel.sym_name.data} {name or ''}".strip()
    return Call(title, False, sum(count * _width(type_) for _, type_, count in moved), parts)


def _accesses(kernel: FuncOp, symbols: Mapping[Var, Expr]) -> Accesses:
    space = [_number(size.substitute(symbols)) for size in kernel.space]
    block = kernel.body.block
    domains = domains_of(block)
    accesses: Accesses = {}
    for op in block.ops:
        if isinstance(op, LoadOp | StoreOp):
            axes = axes_of_exprs(op.subscripts).union(*(domains[v] for v in op.dynamic))
            way = "read" if isinstance(op, LoadOp) else "written"
            what = (*(e.substitute(symbols) for e in op.subscripts), *op.dynamic)
            accesses.setdefault((way, op.buffer), []).append((what, prod(space[a] for a in axes)))
    return accesses


def _accesses_of_parts(group: GroupOp, kernels: Mapping[str, FuncOp | GroupOp]) -> Accesses:
    """Buffers are those of the group; what several parts read is read once, if they do it alike."""
    accesses: Accesses = {}
    for part in group.parts:
        kernel = kernels[part.kernel.string_value()]
        assert isinstance(kernel, FuncOp)
        values = zip(kernel.symbols.exprs, part.symbol_values, strict=True)
        symbols = {var: value for symbol, value in values for var in symbol.variables()}
        given: dict[SSAValue, SSAValue] = dict(zip(kernel.body.block.args, part.arguments, strict=True))
        for (way, buffer), found in _accesses(kernel, symbols).items():
            accesses.setdefault((way, given[buffer]), []).extend(found)
    return accesses


def _of_handles(op: ExternOp | CallOp | TritonLaunchOp, name: str, *, library: bool) -> Call:
    operands = [(value.type, _elements_of_view(value)) for value in op.operands]
    if isinstance(op, ExternOp):
        operands += [operands[place] for place in _read_where_written(op)]
    if isinstance(op, CallOp):
        sizes = [parse_exprs(text.data) for text in op.sizes]
        operands += [
            (value.type, prod(map(_number, size))) for value, size in zip(op.outs, sizes, strict=True)
        ]
    parts = tuple(f"{count} {_element(type_)}" for type_, count in operands)
    return Call(name, library, sum(count * _width(type_) for type_, count in operands), parts)


def _read_where_written(op: ExternOp) -> list[int]:
    """Operands that are results, too: sums that begin with what lies there."""
    given = [arg.index.data for arg in op.args if isinstance(arg, ArgAttr)]
    return [place for place in range(len(op.ins), len(op.operands)) for _ in range(given.count(place) - 1)]


def _elements_of_view(value: SSAValue) -> int:
    """Elements behind a handle, each counted once."""
    owner = value.owner
    if isinstance(owner, CallOp):
        index = list(owner.results).index(value)  # type: ignore[arg-type]
        return prod(map(_number, parse_exprs(owner.sizes.data[index].data)))
    assert isinstance(owner, ViewOp), owner
    pairs = zip(parse_exprs(owner.sizes.data), parse_exprs(owner.strides.data), strict=True)
    return prod(_number(size) for size, stride in pairs if stride.constant != 0)


def _room(buffer: SSAValue) -> int:
    assert isa(buffer.type, MemRefType)
    (size,) = buffer.type.get_shape()
    assert size >= 0, "sizes are static"
    return size


def _number(size: Expr) -> int:
    assert size.constant is not None, "sizes are static"
    return size.constant


def _element(type_: Attribute) -> Attribute:
    if isinstance(type_, TensorType):
        return type_.element
    assert isa(type_, MemRefType), type_
    return type_.element_type


def _width(type_: Attribute) -> int:
    element = _element(type_)
    assert isinstance(element, FixedBitwidthType), element
    return element.size
