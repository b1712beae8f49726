"""Conditions that ask for one position along one dimension."""

from __future__ import annotations

from xdsl.ir import SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import ONE, Expr
from tilewright.dialects.tw.creation import IotaOp
from tilewright.dialects.tw.elementwise_binary import CompareOp
from tilewright.dialects.tw.view import BroadcastOp, ReshapeOp
from tilewright.dialects.types import sizes_of

from .splats import splat_of


def one_place(condition: SSAValue) -> tuple[int, int] | None:
    """The dimension of which `condition` asks for one position that exists, and that position."""
    rank, repeated = len(sizes_of(condition)), condition.owner
    if isinstance(repeated, BroadcastOp) and list(ints(repeated.dims)) == list(range(rank)):
        condition = repeated.source
    compare = condition.owner
    if not isinstance(compare, CompareOp) or compare.predicate.data != "eq":
        return None
    found = [d for d, size in enumerate(sizes_of(condition)) if size != ONE]
    positions, place = compare.lhs.owner, splat_of(compare.rhs)
    if isinstance(positions, ReshapeOp):
        positions = positions.source.owner
    if not isinstance(positions, IotaOp) or len(sizes_of(positions.result)) != 1 or len(found) != 1:
        return None
    if (positions.start.data, positions.step.data) != ("0", "1") or not isinstance(place, int):
        return None
    return (found[0], place) if _is_below(place, sizes_of(condition)[found[0]]) else None


def _is_below(place: int, size: Expr) -> bool:
    return size.constant is not None and 0 <= place < size.constant
