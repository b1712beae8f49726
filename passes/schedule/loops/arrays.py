"""Reductions whose accumulators lie in scratch: one per element of the result.

For sums over rows of a matrix in rows: the loop over rows is outside, and each row is
added to an array, so that memory is read in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Var, dim, product
from tilewright.dialects.tk.access import LocalOp
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.domain import Reduction
from tilewright.dialects.types import flat_memref

from ...kernels.combine import combine, identity
from ..work import Grow
from ..writer import Known, Scope

if TYPE_CHECKING:
    from .nest import NestBuilder


def _kind(op: Reduction) -> str:
    """`schedule-cpu` asks for arrays where nothing but one value per element is accumulated."""
    assert isinstance(op, ReduceOp)
    return op.kind.data


class ArrayAccumulators:
    """Writes what happens to arrays of accumulators."""

    def __init__(self, nests: NestBuilder) -> None:
        self.nests = nests
        self.writer = nests.writer

    def axes(self, order: tuple[int, ...], op: Operation) -> tuple[int, ...]:
        """The axes of scratch for the result of `op`, of those that are not bound yet."""
        domain = self.nests.body.domains[op.results[0]]
        return tuple(a for a in order if a in domain and a < len(self.nests.space))

    def local(self, scope: Scope, op: Operation, axes: tuple[int, ...]) -> SSAValue:
        """Scratch for the result of `op`."""
        size = product(self.writer.extents(scope, axes))
        self.writer.location = op.location
        return self.writer.put(scope, LocalOp.make(size, flat_memref(op.results[0].type, size)))

    def start(self, scope: Scope, order: tuple[int, ...], op: Reduction) -> Grow:
        """Scratch full of identities."""
        axes = self.axes(order, op)
        local = self.local(scope, op, axes)
        nothing = self.writer.constant(identity(_kind(op), op.results[0].type))
        self.nests.loops.each(scope, axes, lambda inner: self.writer.write_local(inner, local, axes, nothing))
        return Grow(op, local, axes)

    def add(self, scope: Scope, grow: Grow) -> None:
        """One more element, or as many as there are rows at once."""
        axis, count = grow.rows
        values: list[SSAValue] = []
        for row in range(count):
            place = scope
            if row:
                place = scope.beside()
                place.axes[Var("d", axis)] = dim(axis) + row
                domains = self.nests.body.domains
                place.env = {old: new for old, new in place.env.items() if axis not in domains.get(old, ())}
                place.spread = {}
                for op in self.nests.body.closure([grow.op], Known(place)):
                    if op is not grow.op:
                        self.nests.write(place, op)
            values.append(self.writer.value(place, grow.op.operands[0]))
        self._into(scope, grow, values)

    def merge(self, scope: Scope, whole: Grow, part: Grow) -> None:
        """Add one array to another."""

        def one(inner: Scope) -> None:
            value = self.writer.read_local(inner, part.local, part.axes, part.op.results[0].type)
            self._into(inner, whole, [value])

        self.nests.loops.each(scope, part.axes, one)

    def _into(self, scope: Scope, grow: Grow, values: list[SSAValue]) -> None:
        """Combine `values` in pairs, and the result with the accumulator."""
        op = grow.op
        self.writer.location = op.location

        def emit(new: Operation) -> SSAValue:
            return self.writer.put(scope, new)

        while len(values) > 1:
            pairs = zip(values[::2], values[1::2], strict=False)
            odd = values[-1:] if len(values) % 2 else []
            values = [combine(_kind(op), lhs, rhs, emit) for lhs, rhs in pairs] + odd
        old = self.writer.read_local(scope, grow.local, grow.axes, op.results[0].type)
        (new,) = values
        if old.type != new.type:
            old, new = self.writer.widen(scope, old), self.writer.widen(scope, new)
        self.writer.write_local(scope, grow.local, grow.axes, combine(_kind(op), old, new, emit))
