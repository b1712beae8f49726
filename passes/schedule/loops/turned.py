"""Accesses that stride along the lanes, by way of scratch in which they do not.

    tk.for 2 = "0" to "512" step 32 {
      tk.for 3 = "0" to "1024" step 32 {
        %s = tk.local "1024" : memref<1024xf32>
        tk.turn %x[d0 + d1*512] into %s[d0*32 - d2*32 + d1 - d3] over 0 = "d2" count "32", 1 = "d3" count "32"
        tk.for 0 = "d2" to "d2 + 32" step 1 {
          tk.for 1 = "d3" to "d3 + 32" step 16 {
            %0 = tk.load %s[d0*32 - d2*32 + d1 - d3] lanes 1 : memref<1024xf32> -> vector<16xf32>

Loads are turned before the loops over a tile, stores after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Expr, as_expr, product
from tilewright.dialects.tk.access import LoadOp, LocalOp, StoreOp
from tilewright.dialects.tk.turn import Range, TurnOp
from tilewright.dialects.types import element_type, flat_memref

from ..cost import turns
from ..writer import Scope

if TYPE_CHECKING:
    from .nest import NestBuilder


class TurnedAccesses:
    """Scratch for the accesses that turn, around the loops over one tile."""

    def __init__(self, nests: NestBuilder) -> None:
        self.nests = nests
        self.writer = nests.writer
        self.plan = nests.plan

    def here(self, loops: Sequence[int]) -> bool:
        """Whether the loops that are left are those of a tile."""
        return self.plan.turn is not None and set(loops) == {self.plan.turn, self.plan.vector}

    def before(self, scope: Scope, ops: Sequence[Operation]) -> None:
        """Fill the scratch of loads; say where stores are to write."""
        across, vector = self._axes()
        for op in ops:
            if not turns(op, across, vector) or op in scope.turned:
                continue
            self.writer.location = op.location
            local = self._local(scope, op)
            if isinstance(op, LoadOp):
                ranges = (self._range(scope, across), self._range(scope, vector))
                read = op.map.exprs[0].substitute(scope.axes)
                write = self.writer.place(scope, (across, vector))
                self._turn(scope, scope.env[op.buffer], read, local, write, ranges)
                scope.kept[op.result] = (local, (across, vector))
            else:
                scope.turned[op] = (local, (across, vector))

    def after(self, scope: Scope, ops: Sequence[Operation]) -> None:
        """Empty the scratch of stores."""
        across, vector = self._axes()
        for op in ops:
            if isinstance(op, StoreOp) and op in scope.turned:
                local, _ = scope.turned.pop(op)
                self.writer.location = op.location
                ranges = (self._range(scope, vector), self._range(scope, across))
                read = self.writer.place(scope, (across, vector))
                write = op.map.exprs[0].substitute(scope.axes)
                self._turn(scope, local, read, scope.env[op.buffer], write, ranges)

    def _axes(self) -> tuple[int, int]:
        assert self.plan.turn is not None
        assert self.plan.vector is not None
        return self.plan.turn, self.plan.vector

    def _range(self, scope: Scope, axis: int) -> Range:
        start, count = scope.bounds.get(axis, (as_expr(0), self.nests.space[axis]))
        return axis, start, count

    def _local(self, scope: Scope, op: LoadOp | StoreOp) -> SSAValue:
        size = product(self.writer.extents(scope, self._axes()))
        element = element_type(op.buffer.type)
        return self.writer.put(scope, LocalOp.make(size, flat_memref(element, size)))

    def _turn(
        self,
        scope: Scope,
        source: SSAValue,
        read: Expr,
        target: SSAValue,
        write: Expr,
        ranges: tuple[Range, Range],
    ) -> None:
        self.writer.put(scope, TurnOp.make(source, read, target, write, ranges))
