"""Reductions of everything to one value, in parallel: each part by itself, then the parts.

The parts depend on the sizes only, not on the number of threads, so results do not either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import Expr, as_expr, dim
from tilewright.dialects.tk.access import LoadOp, LocalOp, StoreOp
from tilewright.dialects.tk.domain import Reduction
from tilewright.dialects.types import flat_memref

from ...kernels.combine import identities
from ..work import Carry, Work
from ..writer import Scope

if TYPE_CHECKING:
    from .nest import NestBuilder


@dataclass(frozen=True)
class _Partial:
    """Where the results of all parts of one reduction lie."""

    op: Reduction
    locals: tuple[SSAValue, ...]


def reduce_in_parts(
    nests: NestBuilder, scope: Scope, axis: int, rest: tuple[int, ...], work: Work, ops: Sequence[Reduction]
) -> None:
    """Run the loop over the tiles `axis` in parallel, although it reduces; `work` goes along."""
    real, tile = nests.plan.tiles[axis - len(nests.space)]
    count = nests.space[real].ceildiv(tile)
    partials = [_Partial(op, _scratch(nests, scope, op, count)) for op in ops]

    def part(inner: Scope, _: list[Carry]) -> None:
        carries = [Carry(op, nests.partial.start(inner, op)) for op in ops]
        nests.nest(inner, rest, work.with_carries(carries))
        for carry, partial in zip(carries, partials, strict=True):
            nests.partial.finish(inner, carry)
            for result, local in zip(carry.op.results, partial.locals, strict=True):
                place = (dim(axis) // tile,)
                nests.writer.put(inner, StoreOp.make(inner.env[result], local, place))

    nests.loops.tiles(scope, axis, [], part)
    for partial in partials:
        _join(nests, scope, partial, count)


def _scratch(nests: NestBuilder, scope: Scope, op: Reduction, count: Expr) -> tuple[SSAValue, ...]:
    nests.writer.location = op.location
    return tuple(
        nests.writer.put(scope, LocalOp.make(count, flat_memref(result.type, count))) for result in op.results
    )


def _join(nests: NestBuilder, scope: Scope, partial: _Partial, count: Expr) -> None:
    """Combine the parts, from the first to the last."""
    op = partial.op
    nests.writer.location = op.location
    carry = Carry(op, tuple(nests.writer.constant(value) for value in identities(op)))

    def one(inner: Scope, running: list[Carry]) -> None:
        place = (dim(nests.loops.last_axis),)
        new = [nests.writer.put(inner, LoadOp.make(local, place)) for local in partial.locals]
        running[0].values = nests.partial.join(inner, op, running[0].values, new)

    nests.loops.counted(scope, (as_expr(0), count), [carry], one)
    scope.env.update(zip(op.results, carry.values, strict=True))
