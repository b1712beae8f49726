"""Whether a store may change what a kernel reads: its loops are the last that read there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import ONE, Expr
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.domain import (
    REDUCTIONS,
    REDUCTIONS_AND_SCANS,
    axes_of,
    axes_of_exprs,
    reduced_axes,
)

from ..kernels.facts import Body, arranged


@dataclass(frozen=True)
class Loops:
    """What is asked of the loops of a kernel of these `sizes`, all of whose ops are `ops`, answered once.

    `once` says that what does not vary along an axis is loaded once, before the loop over it: so it is where
    no axis inside of another becomes the outer one, with sums of rows in arrays.
    """

    ops: Sequence[Operation]
    sizes: Sequence[Expr]
    once: bool = False

    def store_last(self, store: StoreOp, loads: Sequence[Operation]) -> bool:
        """Whether none of them reads what `loads` read after the one that does `store`.

        Loads and store have one subscript, which uses every axis that has more than one element, but for
        those (where all is loaded `once`) that are reduced before. Schedules repeat a load in each loop that
        needs it: of the loops over an axis a value stands in the one that follows all reductions along the
        axis of which it is made. So each reduction and each store that is made of the loads, without another
        reduction between them, is done in the store's loop or an earlier one where it is made of no
        reduction of which the store is not made:

            s = sum(x); x *= 2             one loop: an element is added, then stored
            s = sum(x); x = softmax(x)     the loop that stores waits for both sums of the row
            y = x / sum(x); x *= 2         no: the loop that makes y comes after the one that stores
            c += sum(x); y = x / c         `once`: c, of the row, is read before the loop that makes y

        Within one iteration all is loaded before anything is stored. Where two reductions ask for opposite
        orders of loops, their loops stand one after the other, and each reads for itself: no. Nor where an
        axis of one element is reduced, which the subscript need not use: that may be a product, whose tiles
        do not walk along the sum again.
        """
        if not self._have_levels:
            return self._covers(store, ())
        covers = self._covers(store, self._made_of[store])
        return covers and not self._missing(store, loads) and self._have_an_order

    def awaited(self, store: StoreOp, loads: Sequence[Operation]) -> Sequence[SSAValue] | None:
        """What `store` must stand after to be stored last; None if it cannot be.

        y = x / sum(x); x *= 2         the loop that makes y may store 2 * x: it waits for the sum
        """
        missing = self._missing(store, loads)
        if not (self._covers(store, self._made_of[store] | missing) and self._have_an_order):
            return None
        earlier = frozenset[Operation]().union(*(self._made_of[op] for op in missing))
        last = [op.results[0] for op in self.ops if op in missing and op not in earlier]
        stored = axes_of_exprs(store.subscripts)
        return last if all(axes_of(value) <= stored for value in last) else None

    def _missing(self, store: StoreOp, loads: Sequence[Operation]) -> frozenset[Operation]:
        """Reductions behind which `loads` are read, but the store is not done."""
        behind = frozenset[Operation]().union(*(self._made_of[op] for op in _readers(loads)))
        return behind - self._made_of[store]

    def _covers(self, store: StoreOp, behind: Iterable[Operation]) -> bool:
        """Whether each iteration over the axes that are reduced, or have more elements than one, stores.

        So does the one that follows those over what is reduced, by the ops `behind` which the store is done.
        """
        used = axes_of_exprs(store.subscripts)
        if self.once:
            used |= {axis for op in behind for axis in reduced_axes(op) if axis in self._long}
        return self._reduced | self._long <= used

    @cached_property
    def _have_levels(self) -> bool:
        """Whether something is reduced or scanned: else one loop loads all before it stores."""
        return any(type(op) in REDUCTIONS_AND_SCANS for op in self.ops)

    @cached_property
    def _long(self) -> frozenset[int]:
        return frozenset(axis for axis, size in enumerate(self.sizes) if size != ONE)

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
        return arranged(body, range(len(self.sizes)), body.ops) is not None


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
