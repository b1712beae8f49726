"""What is assigned to slices of a tensor, where a concatenation of it with what stands there is all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import ONE, ZERO, Expr, as_expr, parse_exprs
from tilewright.dialects.tw.creation import FullOp
from tilewright.dialects.tw.elementwise_binary import SelectOp
from tilewright.dialects.tw.view import BroadcastOp, ConcatOp, SliceOp
from tilewright.dialects.types import element_type_of, sizes_of

from ..driver import Rewrite
from .one_place import one_place
from .splats import splat_of

MOST = 4
"""Slices that are assigned one by one; more are joined and written with all the rest."""


@dataclass(frozen=True)
class Assigned:
    """What is assigned, and where it begins in the argument, per dimension."""

    value: SSAValue
    starts: Mapping[int, Expr]


@dataclass(frozen=True)
class Assignment:
    """What is assigned, and the concatenations of it with what stands there, which others may read."""

    parts: list[Assigned]
    wholes: list[Assigned]


def assigned(op: ConcatOp, x: SSAValue, starts: Mapping[int, Expr]) -> Assignment | None:
    """The pieces of a concatenation that are not what stands there in `x`; of those, if so, the same.

    What stands there may have been assigned before, by a concatenation that nobody else reads.
    """
    dim, found = op.dim.value.data, Assignment([], [])
    new, before = 0, _assigned_before(op)
    earlier = None if before is None or starts else assigned(before, x, {})
    for piece, start in zip(op.inputs, op.starts, strict=True):
        place = {**starts, dim: starts.get(dim, ZERO) + start}
        if _stands_there(piece, x, place):
            here = Assigned(piece, place)
            if earlier is not None and any(_may_overlap(part, here) for part in earlier.parts):
                return None
            continue
        if before is not None and earlier is not None and _stands_there(piece, before.result, place):
            continue
        new += 1
        inner = piece.owner
        deeper = assigned(inner, x, place) if isinstance(inner, ConcatOp) else None
        if deeper is None:
            found.parts.append(Assigned(piece, place))
        else:
            found.parts.extend(deeper.parts)
            found.wholes.extend([Assigned(piece, place), *deeper.wholes])
    if earlier is not None:
        found.parts[:0] = earlier.parts
    return found if new == 1 or 1 < new < len(op.inputs) else None


def selected(op: SelectOp, x: SSAValue, rw: Rewrite) -> Assigned | None:
    """What is assigned at one position along one dimension of `x`, where `op` selects that, else `x`."""
    found = one_place(op.condition)
    if op.on_false is not x or found is None:
        return None
    dim, place = found
    sizes = [ONE if d == dim else size for d, size in enumerate(sizes_of(x))]
    value, splat = op.on_true.owner, splat_of(op.on_true)
    if isinstance(value, BroadcastOp) and dim not in ints(value.dims):
        one = rw.value(BroadcastOp(value.source, sizes, ints(value.dims)))
    elif splat is not None:
        one = rw.value(FullOp(splat, element_type_of(x), sizes))
    else:
        return None
    return Assigned(one, {dim: as_expr(place)})


def _assigned_before(op: ConcatOp) -> ConcatOp | None:
    """The concatenation of as many elements of which `op` alone reads slices."""
    for piece in op.inputs:
        before = piece.owner.source.owner if isinstance(piece.owner, SliceOp) else None
        if isinstance(before, ConcatOp) and sizes_of(before.result) == sizes_of(op.result):
            slices = [use.operation for use in before.result.uses]
            readers = [use.operation for s in slices if isinstance(s, SliceOp) for use in s.result.uses]
            if all(isinstance(s, SliceOp) for s in slices) and all(reader is op for reader in readers):
                return before
    return None


def _may_overlap(one: Assigned, other: Assigned) -> bool:
    return not any(_ends_before(a, b, d) for d in one.starts for a, b in ((one, other), (other, one)))


def _ends_before(one: Assigned, other: Assigned, dim: int) -> bool:
    gap = other.starts.get(dim, ZERO) - one.starts.get(dim, ZERO) - sizes_of(one.value)[dim]
    return gap.constant is not None and gap.constant >= 0


def _stands_there(piece: SSAValue, x: SSAValue, starts: Mapping[int, Expr]) -> bool:
    owner = piece.owner
    if not isinstance(owner, SliceOp) or owner.source is not x:
        return False
    places, steps = parse_exprs(owner.starts.data), parse_exprs(owner.steps.data)
    return all(step == ONE for step in steps) and all(
        place == starts.get(d, ZERO) for d, place in enumerate(places)
    )
