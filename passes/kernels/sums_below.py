"""Sums of exponentials of numbers less their maximum: what an online softmax finds in one pass."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.domain import axes_of


@dataclass(frozen=True)
class SumBelow:
    """`total` sums exponentials of `value` less `shift`, which varies along none of the summed axes."""

    total: ReduceOp
    value: SSAValue
    shift: SSAValue


def sum_below(op: Operation) -> SumBelow | None:
    """`op` as such a sum, if it is one; nothing is known of what is subtracted."""
    if not isinstance(op, ReduceOp) or op.kind.data != "add":
        return None
    exponential = op.value.owner
    apart = exponential.operand.owner if isinstance(exponential, math.ExpOp) else None
    if not isinstance(apart, arith.SubfOp) or apart.result.type not in (f32, f64):
        return None
    if not axes_of(apart.rhs).isdisjoint(op.over):
        return None
    return SumBelow(op, apart.lhs, apart.rhs)


def but_for_constant(shift: SSAValue) -> SSAValue:
    """What `shift` is but for a constant in its place: the maximum, where that is finite."""
    op = shift.owner
    if isinstance(op, arith.SelectOp):
        values = [v for v in (op.lhs, op.rhs) if not isinstance(v.owner, arith.ConstantOp)]
        return values[0] if len(values) == 1 else shift
    return shift


def maximum_of(shift: SSAValue) -> ReduceOp | None:
    """The maximum that `shift` is, or is but for a constant in its place."""
    op = but_for_constant(shift).owner
    return op if isinstance(op, ReduceOp) and op.kind.data == "max" else None
