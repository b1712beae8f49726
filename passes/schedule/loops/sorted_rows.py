"""Rows that are sorted on a CPU: computed into scratch, sorted there, and read again.

tk.for 0 = "0" to "64" step 1 parallel {
  %v = tk.local "128" : memref<128xf32>
  %p = tk.local "128" : memref<128xi32>
  tk.for 1 = "0" to "128" step 16 {
    %0 = tk.load %x[d0*128 + d1] lanes 1 : memref<8192xf32> -> vector<16xf32>
    tk.store %0, %v[d1] lanes 1 : vector<16xf32>, memref<128xf32>
  }
  tk.order %v into %p count "128" : memref<128xf32>, memref<128xi32>
  tk.for 1 = "0" to "128" step 16 {
    %1 = tk.load %v[d1] lanes 1 : memref<128xf32> -> vector<16xf32>
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import as_expr, dim, minimum
from tilewright.dialects.scalars import predicate_of
from tilewright.dialects.tk.access import IndexOp, LocalOp, StoreOp
from tilewright.dialects.tk.domain import Reduction
from tilewright.dialects.tk.sort import OrderOp, SortOp
from tilewright.dialects.types import flat_memref

from ..work import Work
from ..writer import Scope

if TYPE_CHECKING:
    from .nest import NestBuilder


class SortedRows:
    """Writes the sorts of one function."""

    def __init__(self, nests: NestBuilder) -> None:
        self.nests = nests
        self.writer = nests.writer
        self._filled: dict[SortOp, SSAValue] = {}
        """The scratch that a row is being written to."""

    def before(self, scope: Scope, loops: Collection[int], ops: Sequence[Operation], work: Work) -> bool:
        """Sort the rows of which all but the own axis is bound; whether there are any.

        When all are sorted, loops around nothing but stores of the first values are no longer than these.
        """
        found = [
            op
            for op in ops
            if isinstance(op, SortOp)
            and op not in self._filled
            and (self.nests.body.runs[op] - {op.along}).isdisjoint(loops)
        ]
        for op in found:
            self._sort(scope, op)
        if found and not any(isinstance(op, Reduction) for op in self.nests.needed(scope, work)):
            for op in found:
                self._shorten(scope, op, work)
        return bool(found)

    def _shorten(self, scope: Scope, op: SortOp, work: Work) -> None:
        if op.first is not None and all(stores_first(op, sink) for sink in work.ops()):
            size = minimum(op.first.value.data, self.nests.space[op.along])
            scope.bounds[op.along] = (as_expr(0), size)

    def fill(self, scope: Scope, op: SortOp) -> None:
        """One element of a row."""
        self.writer.write_local(scope, self._filled[op], (op.along,), self.writer.value(scope, op.value))

    def _sort(self, scope: Scope, op: SortOp) -> None:
        size = self.nests.space[op.along]
        values, positions = (
            self._put(scope, op, LocalOp.make(size, flat_memref(result.type, size))) for result in op.results
        )
        self._filled[op] = values
        self.nests.nest(scope, (op.along,), Work([op]))
        del self._filled[op]
        self._put(scope, op, OrderOp.make(values, positions, size, like=op))
        for result, local in zip(op.results, (values, positions), strict=True):
            scope.kept[result] = (local, (op.along,))

    def _put(self, scope: Scope, op: SortOp, new: Operation) -> SSAValue:
        self.writer.location = op.location
        return self.writer.put(scope, new)


def stores_first(op: SortOp, sink: Operation) -> bool:
    """Whether a store has no effect behind the first positions that a sort defines."""
    mask = sink.mask.owner if isinstance(sink, StoreOp) and sink.mask is not None else None
    if not isinstance(mask, arith.CmpiOp) or predicate_of(mask) != "slt" or op.first is None:
        return False
    place, limit = mask.lhs.owner, mask.rhs.owner
    return (
        isinstance(place, IndexOp)
        and place.expr == dim(op.along)
        and isinstance(limit, arith.ConstantOp)
        and isinstance(limit.value, IntegerAttr)
        and limit.value.value.data <= op.first.value.data
    )
