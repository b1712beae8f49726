"""Reductions and scans under way: where they start, how they grow, how they end."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Var, dim
from tilewright.dialects.tk.access import IndexOp
from tilewright.dialects.tk.compute import ArgReduceOp, ReduceOp, ScanOp
from tilewright.dialects.tk.domain import Reduction
from tilewright.dialects.tk.moments import MomentsOp
from tilewright.dialects.tk.scope import lanes_of, shape_of_lanes
from tilewright.dialects.tk.sumexp import SumExpOp
from tilewright.dialects.types import is_float

from ..kernels.combine import (
    Emit,
    combine,
    combine_positions,
    identities,
    last_position,
    linear,
    over_lanes,
    positions_over_lanes,
    select,
)
from ..kernels.facts import Body
from ..kernels.folding import folded
from . import exponentials
from .moments import Moments
from .plan import Plan
from .work import Carry
from .writer import Scope, Writer


class Accumulators:
    """Writes what happens to the carried values."""

    def __init__(self, plan: Plan, writer: Writer, body: Body) -> None:
        self.plan = plan
        self.writer = writer
        self.body = body

    def _emit(self, scope: Scope) -> Emit:
        """Puts ops into place, but for those of which it is known what they make."""

        def emit(op: Operation) -> SSAValue:
            if (found := folded(op)) is None:
                return self.writer.put(scope, op)
            shape = shape_of_lanes(op.results[0].type)
            op.erase()
            return found if isinstance(found, SSAValue) else self._filled(scope, found, shape)

        return emit

    def _filled(self, scope: Scope, number: FloatAttr[AnyFloat], shape: tuple[int, ...]) -> SSAValue:
        """A number in each lane."""
        value = self.writer.constant(number)
        return self.writer.widen(scope, value) if shape else value

    def _over_lanes(self, op: Reduction | ScanOp) -> bool:
        return not isinstance(op, ScanOp) and self.plan.vector in self.body.over[op]

    def start(self, scope: Scope, op: Reduction | ScanOp) -> tuple[SSAValue, ...]:
        """Identities: vectors where lanes are reduced, or where the value varies over lanes."""
        self.writer.location = op.location
        starts = identities(op)
        if isinstance(op, ArgReduceOp) and (first := _first_position(op)) is not None:
            starts[1] = IntegerAttr(first, last_position(op.index.type).type)
        values = [self.writer.constant(value) for value in starts]
        varies = scope.vectors and any(self.plan.vector in self.body.domains[v] for v in op.operands)
        if self._over_lanes(op) or varies:
            values = [self.writer.widen(scope, value) for value in values]
        return tuple(values)

    def add(self, scope: Scope, op: Reduction | ScanOp, acc: Sequence[SSAValue]) -> tuple[SSAValue, ...]:
        """One more element."""
        new = [self.writer.value(scope, operand) for operand in op.operands]
        self.writer.location = op.location
        if any(lanes_of(value.type) is not None for value in acc):
            new = [self.writer.widen(scope, value) for value in new]
        if scope.tail and self._over_lanes(op):
            mask, nothing = self.writer.active(scope), self.start(scope, op)
            emit = self._emit(scope)
            new = [select(mask, value, none, emit) for value, none in zip(new, nothing, strict=True)]
        if isinstance(op, ArgReduceOp) and _first_position(op) is not None:
            emit = self._emit(scope)
            return combine_positions(op.kind.data, (acc[0], acc[1]), (new[0], new[1]), emit, ordered=True)
        return self.join(scope, op, acc, new)

    def join(
        self, scope: Scope, op: Reduction | ScanOp, acc: Sequence[SSAValue], new: Sequence[SSAValue]
    ) -> tuple[SSAValue, ...]:
        """Two partial results into one."""
        self.writer.location = op.location
        if isinstance(op, MomentsOp):
            return self.moments(scope, op).join(acc, new)
        if isinstance(op, SumExpOp):
            return exponentials.join(acc, new, self._emit(scope))
        if isinstance(op, ArgReduceOp):
            return combine_positions(op.kind.data, (acc[0], acc[1]), (new[0], new[1]), self._emit(scope))
        if isinstance(op, ScanOp) and op.factor is not None:
            return (linear(acc[0], new[0], new[1], self._emit(scope)),)
        return (combine(op.kind.data, acc[0], new[0], self._emit(scope)),)

    def moments(self, scope: Scope, op: MomentsOp) -> Moments:
        """The arithmetic of moments, on the vectors of this scope."""

        def spread(value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
            return self.writer.widen(scope, value) if shape else value

        return Moments(self._emit(scope), self.writer.constant, spread, numbers=op.of_numbers)

    def finish(self, scope: Scope, carry: Carry) -> None:
        """The result of a reduction, from its carried values."""
        op, values = carry.op, carry.values
        self.writer.location = op.location
        if self._over_lanes(op):
            emit = self._emit(scope)
            if isinstance(op, ArgReduceOp):
                last = self.writer.widen(scope, self.writer.constant(last_position(op.index.type)))
                values = positions_over_lanes(
                    op.kind.data, (values[0], values[1]), last, emit, lambda v: self.writer.widen(scope, v)
                )
            elif isinstance(op, MomentsOp):
                moments = self.moments(scope, op)
                values = moments.whole(values, lambda v: over_lanes("add", v, emit))
            elif isinstance(op, SumExpOp):

                def over(kind: str, value: SSAValue) -> SSAValue:
                    return over_lanes(kind, value, emit)

                values = exponentials.over_all(values, over, lambda v: self.writer.widen(scope, v), emit)
            else:
                values = (over_lanes(op.kind.data, values[0], emit),)
        elif isinstance(op, MomentsOp):
            values = self.moments(scope, op).whole(values, lambda v: v)
        scope.env.update(zip(op.results, values, strict=True))


def _first_position(op: ArgReduceOp) -> int | None:
    """The position of the first step, where each step along the reduced axis has a later one.

    Accumulators start there: who never finds a better value than the identity has nothing but identities.
    """
    if len(op.over) != 1 or not isinstance(op.index.owner, IndexOp):
        return None
    expr, axis = op.index.owner.expr, Var("d", op.over[0])
    step = expr.coefficient(axis)
    if step is None or step.constant is None or step.constant <= 0:
        return None
    return (expr - step * dim(op.over[0])).constant


def sums_floats(op: Reduction | ScanOp) -> bool:
    """Whether rounding errors grow with the number of elements that one accumulator takes."""
    return isinstance(op, ReduceOp) and op.kind.data == "add" and is_float(op.value.type)
