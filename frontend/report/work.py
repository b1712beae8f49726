"""What a kernel must do at least: floating-point operations, and bytes that have to move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.utils.hints import isa

from tilewright.dialects.index_expr import Expr, Var
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.compute import ScanOp
from tilewright.dialects.tk.domain import Reduction, axes_of_exprs, axes_of_op, domains_of
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import bytes_of, element_type_of, is_float

_FREE = frozenset({"arith.constant", "arith.select", "arith.extf", "arith.truncf"})


@dataclass
class Traffic:
    """Accesses to one buffer: each touches one element per point of its axes."""

    width: int
    """Bytes of an element."""
    elements: int | None
    """Of the whole buffer; None where that depends on a symbol."""
    reads: list[tuple[Expr, ...]] = field(default_factory=list[tuple[Expr, ...]])
    writes: list[tuple[Expr, ...]] = field(default_factory=list[tuple[Expr, ...]])

    def bytes(self, symbols: Mapping[Var, int]) -> int:
        """Every element once, however often it is used: what no cache can avoid."""
        return self.width * sum(self._touched(spaces, symbols) for spaces in (self.reads, self.writes))

    def _touched(self, spaces: Sequence[tuple[Expr, ...]], symbols: Mapping[Var, int]) -> int:
        touched = sum(prod(e.evaluate(symbols) for e in space) for space in spaces)
        return touched if self.elements is None else min(touched, self.elements)


@dataclass
class Work:
    """Of one kernel, over its symbols."""

    operations: list[tuple[Expr, ...]] = field(default_factory=list[tuple[Expr, ...]])
    """For each floating-point operation of the body, the sizes of the axes over which it runs."""
    buffers: list[Traffic] = field(default_factory=list[Traffic])

    def flops(self, symbols: Mapping[Var, int]) -> int:
        """A transcendental function counts as one operation."""
        return sum(prod(e.evaluate(symbols) for e in space) for space in self.operations)

    def bytes(self, symbols: Mapping[Var, int]) -> int:
        return sum(buffer.bytes(symbols) for buffer in self.buffers)


def work_of(func: FuncOp) -> Work:
    """The work of a kernel that is not scheduled yet."""
    block, sizes = func.body.block, func.sizes.exprs
    domains, found = domains_of(block), Work()
    buffers: dict[SSAValue, Traffic] = {arg: _traffic(arg) for arg in block.args}
    for op in block.ops:
        if isinstance(op, LoadOp | StoreOp):
            space = tuple(sizes[a] for a in sorted(axes_of_exprs(op.map.exprs) | _dynamic(op, domains)))
            traffic = buffers.get(op.buffer)
            if traffic is not None:
                (traffic.reads if isinstance(op, LoadOp) else traffic.writes).append(space)
        elif _computes(op):
            found.operations.append(tuple(sizes[a] for a in sorted(axes_of_op(op, domains))))
    found.buffers = list(buffers.values())
    return found


def _dynamic(op: LoadOp | StoreOp, domains: Mapping[SSAValue, frozenset[int]]) -> frozenset[int]:
    """The axes of a gather's indices."""
    return frozenset[int]().union(*(domains.get(v, frozenset()) for v in op.operands))


def _traffic(arg: SSAValue) -> Traffic:
    type_ = arg.type
    assert isa(type_, MemRefType)
    (elements,) = type_.get_shape()
    return Traffic(bytes_of(element_type_of(arg)), elements if elements >= 0 else None)


def _computes(op: Operation) -> bool:
    if not op.results or op.name in _FREE or not is_float(op.results[0].type):
        return False
    return isinstance(op, Reduction | ScanOp) or op.name.startswith(("arith.", "math.", "tk.call"))
