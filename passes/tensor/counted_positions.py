"""Positions that are counted one by one."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import ONE, Expr, parse_expr
from tilewright.dialects.tw.creation import IotaOp
from tilewright.dialects.tw.elementwise_binary import AddOp
from tilewright.dialects.tw.view import BroadcastOp, ReshapeOp
from tilewright.dialects.types import sizes_of

from .splats import splat_of


@dataclass(frozen=True)
class Counted:
    """An index whose elements count from `start` along its dimension `dim`, and repeat along all others."""

    dim: int
    start: int
    size: Expr


def counted(index: SSAValue) -> Counted | None:
    """What `index` counts, None where it may be anything else."""
    owner = index.owner
    if isinstance(owner, IotaOp):
        start, step = parse_expr(owner.start.data).constant, parse_expr(owner.step.data).constant
        dim = owner.dim.value.data
        if start is None or start < 0 or step != 1:
            return None
        return Counted(dim, start, sizes_of(index)[dim])
    if isinstance(owner, AddOp) and (more := splat_of(owner.rhs)) is not None:
        found = counted(owner.lhs)
        return found and _from(found, found.start + int(more), found.dim)
    if not isinstance(owner, BroadcastOp | ReshapeOp) or (found := counted(owner.source)) is None:
        return None
    if isinstance(owner, BroadcastOp):
        dim = ints(owner.dims)[found.dim]
        return _from(found, found.start, dim) if sizes_of(index)[dim] == found.size else None
    before = [d for d, size in enumerate(sizes_of(owner.source)) if size != ONE]
    after = [d for d, size in enumerate(sizes_of(index)) if size != ONE]
    if before != [found.dim] or len(after) != 1:
        return None
    return _from(found, found.start, after[0])


def _from(found: Counted, start: int, dim: int) -> Counted | None:
    return Counted(dim, start, found.size) if start >= 0 else None
