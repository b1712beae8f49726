"""Whether a store may change what a kernel reads: its loops are the last that read there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.domain import REDUCTIONS, reduced_axes

from ..kernels.facts import Body, arranged


@dataclass(frozen=True)
class Loops:
    """What is asked of the loops of a kernel of `rank` axes, all of whose ops are `ops`, answered once."""

    ops: Sequence[Operation]
    rank: int

    def store_last(self, store: StoreOp, loads: Sequence[Operation]) -> bool:
        """Whether none of them reads what `loads` read after the one that does `store`.

        Loads and store have one subscript, which uses every axis that has more than one element. Schedules
        repeat a load in each loop that needs it: of the loops over an axis a value stands in the one that
        follows all reductions along the axis of which it is made. So each reduction and each store that is
        made of the loads, without another reduction between them, is done in the store's loop or an earlier
        one where it is made of no reduction of which the store is not made:

            s = sum(x); x *= 2             one loop: an element is added, then stored
            s = sum(x); x = softmax(x)     the loop that stores waits for both sums of the row
            y = x / sum(x); x *= 2         no: the loop that makes y comes after the one that stores

        Within one iteration all is loaded before anything is stored. Where two reductions ask for opposite
        orders of loops, their loops stand one after the other, and each reads for itself: no. Nor where an
        axis of one element is reduced, which the subscript need not use: that may be a product, whose tiles
        do not walk along the sum again.
        """
        used = {var.index for expr in store.subscripts for var in expr.variables() if var.kind == "d"}
        if not self._reduced <= used:
            return False
        made_of = self._made_of
        if not all(made_of[op] <= made_of[store] for op in _readers(loads)):
            return False
        return self._have_an_order

    @cached_property
    def _reduced(self) -> frozenset[int]:
        return frozenset(axis for op in self.ops for axis in reduced_axes(op))

    @cached_property
    def _made_of(self) -> dict[Operation, frozenset[Operation]]:
        """Of each op the reductions of which its operands are made."""
        found: dict[Operation, frozenset[Operation]] = {}
        for op in self.ops:
            owners = [v.owner for v in op.operands if isinstance(v.owner, Operation)]
            ends = frozenset(owner for owner in owners if type(owner) in REDUCTIONS)
            found[op] = ends.union(*(found[owner] for owner in owners))
        return found

    @cached_property
    def _have_an_order(self) -> bool:
        block = self.ops[0].parent
        assert block is not None
        body = Body.of(block)
        return arranged(body, range(self.rank), body.ops) is not None


def _readers(loads: Sequence[Operation]) -> Iterable[Operation]:
    """Reductions and effects that are made of `loads`, and of no reduction of them."""
    todo: list[SSAValue] = [value for load in loads for value in load.results]
    seen = set(todo)
    while todo:
        for use in todo.pop().uses:
            if type(use.operation) in REDUCTIONS or not use.operation.results:
                yield use.operation
                continue
            new = [value for value in use.operation.results if value not in seen]
            seen.update(new)
            todo += new
