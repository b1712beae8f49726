"""Bugs in what may be stored where it is read."""

from __future__ import annotations

from fault import Fault

_H = "passes/host/"

FAULTS = (
    Fault(
        "in-place-subscript",
        _H + "inplace.py",
        "isinstance(op, LoadOp) and not op.dynamic and op.subscripts == subscript for op in accesses",
        "isinstance(op, LoadOp) and not op.dynamic and subscript for op in accesses",
        "a kernel that reads transposed writes over its input",
    ),
    Fault(
        "in-place-several-stores",
        _H + "inplace.py",
        "if len(stores) > 1 and not loops.store_last(store, loads):",
        "if len(stores) > 9 and not loops.store_last(store, loads):",
        "an input is overwritten by one store before the loop of another has read it",
    ),
    Fault(
        "in-place-later-loop",
        _H + "stored_last.py",
        "return behind - self._made_of[store]",
        "return behind & frozenset()",
        "a sum over what lies below the largest element reads what has been overwritten",
    ),
    Fault(
        "in-place-other-order",
        _H + "stored_last.py",
        "return arranged(body, range(len(self.sizes)), body.ops) is not None",
        "return len(self.sizes) > 0 and body is not None",
        "sums of columns read what the loops that summed rows have overwritten",
    ),
    Fault(
        "in-place-once",
        _H + "stored_last.py",
        "used |= {axis for op in behind for axis in reduced_axes(op) if axis in self._long}",
        "used |= {axis for op in behind for axis in self._long}",
        "what a row has in common is stored where a loop inside of the row reads it again",
    ),
    Fault(
        "waits-for-one",
        _H + "stored_last.py",
        "return last if all(axes_of(value) <= stored for value in last) else None",
        "return last[:1] if all(axes_of(value) <= stored for value in last) else None",
        "a store waits for one of the sums behind which its old value is read",
    ),
    Fault(
        "waits-for-more-axes",
        _H + "stored_last.py",
        "return last if all(axes_of(value) <= stored for value in last) else None",
        "return last",
        "a store that waits is done again for each element of an axis that it does not use",
    ),
    Fault(
        "stores-before-reads",
        _H + "store_last.py",
        "elif awaited and may_rewrite(",
        "elif awaited and not may_rewrite(",
        "what changes an argument stores elsewhere, and a second kernel copies it",
    ),
    Fault(
        "disjoint-modulus",
        "passes/memory/disjoint.py",
        "return (most - low) // modulus * modulus < least - high",
        "return (most - low) // modulus * modulus <= least - high",
        "columns that share their last one with others are taken for others",
    ),
    Fault(
        "writes-out-of-order",
        _H + "homes.py",
        "if not all(_lies_apart(target, write, aliases) for write in earlier):",
        "if not all(_lies_apart(target, write, aliases) for write in earlier[1:]):",
        "what is computed into an argument is overwritten by an earlier write, which copies",
    ),
    Fault(
        "in-place-mask",
        _H + "inplace.py",
        "if op.map == store.map and not op.dynamic and store.mask in (None, op.mask):",
        "if op.map == store.map and not op.dynamic:",
        "an input is read where another iteration stores under a mask",
    ),
    Fault(
        "in-place-scatter",
        _H + "inplace.py",
        "if any(store.scatters for store in stores):",
        "if all(store.scatters for store in stores):",
        "the loop that scatters reads again what the loop before it has overwritten",
    ),
    Fault(
        "in-place-update",
        _H + "inplace.py",
        "        and update.others.isdisjoint(_accesses(value))\n",
        "",
        "a scatter to an argument adds what an earlier addition has changed",
    ),
    Fault(
        "in-place-checked",
        _H + "inplace.py",
        "if not before or not checked.isdisjoint(loads):",
        "if not before:",
        "threads of a GPU check indices that another one has overwritten",
    ),
    Fault(
        "in-place-type",
        _H + "inplace.py",
        "if element_type_of(value) != element_type_of(out):",
        "if value is out:",
        "an output is put over an input of another element type",
    ),
)
