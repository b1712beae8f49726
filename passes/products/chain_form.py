"""Softmax of scores, times values, in the form that `passes/kernels/chains.py` recognises.

    w = exp(x - max x) / sum exp(x - max x)        e = exp(x - m), m = max x, or 0 where that is infinite
    w = 0 where all x are -inf              ->     o = (sum e * v) / sum e
    o = sum w * v                                  o = sum e * v where max x is -inf

What was NaN because a maximum is infinite still is: `max x - max x` is added to sums of `e`. There is no such
form where `e` or `x - m` are stored without a sum. Where dropout keeps some weights, `sum e * v` is of those,
and what they are multiplied with scales the sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.index_expr import Expr, product
from tilewright.dialects.scalars import is_number, predicate_of
from tilewright.dialects.tk.access import IndexOp
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.contraction import FACTORS
from tilewright.dialects.tk.domain import Axes, domains_of
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import is_float

from ..kernels.scalar_builder import InsertingBuilder

_NO_FLAGS = arith.FastMathFlagsAttr("none")
_NAN_OF_NAN = frozenset[type[Operation]](
    (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp, arith.MaximumfOp, arith.MinimumfOp)
) | {arith.NegfOp, arith.ExtFOp, arith.TruncFOp, math.LogOp}
"""Ops whose result is NaN if an operand is."""


def put_in_chain_form(kernel: KernelOp) -> str | None:
    """Rewrite the body of a kernel whose last reduction is a product with a softmax.

    Or why that cannot be: then the body is one that nobody may keep.
    """
    reductions = [op for op in kernel.body.block.ops if isinstance(op, ReduceOp)]
    kept = True
    for op in reductions:
        if op.kind.data == "max" and is_float(op.result.type):
            _all_hidden(op)
            kept = _guard(op) and kept
    if not _scale_the_sum(reductions[-1], kernel.space):
        return "its weights are no softmax"
    return None if kept else "it stores what is not divided by the sum of its weights"


def _guard(peak: ReduceOp) -> bool:
    """Exponents count from 0 where `peak` is infinite; what was NaN for that becomes it after the sum.

    False where something else that is stored counted from there, too.
    """
    shifted = [
        op
        for op in _users(peak.value)
        if isinstance(op, arith.SubfOp) and op.lhs is peak.value and op.rhs is peak.result
    ]
    if not shifted:
        return True
    b = InsertingBuilder(peak, behind=True)
    size, zero = b.op(math.AbsFOp, peak.result), b.constant(0.0, peak.result.type)
    infinite = b.compare_float("oeq", size, b.constant(inf, peak.result.type))
    guarded = b.select(infinite, zero, peak.result)
    off = b.op(arith.SubfOp, peak.result, peak.result, properties={"fastmath": _NO_FLAGS})
    powers = [e.result for op in shifted for e in _users(op.result) if isinstance(e, math.ExpOp)]
    sums = [user for power in powers for user in _users(power)]
    for op in shifted:
        op.operands[1] = guarded
    nan: set[SSAValue] = set()
    for total in sums:
        if isinstance(total, ReduceOp) and total.kind.data == "add" and total.over == peak.over:
            uses = [(use.operation, use.index) for use in total.result.uses]
            b = InsertingBuilder(total, behind=True)
            corrected = b.op(arith.AddfOp, total.result, off, properties={"fastmath": _NO_FLAGS})
            nan.add(corrected)
            for user, index in uses:
                user.operands[index] = corrected
    return _meet(peak, {op.result for op in shifted}, nan)


def _meet(peak: ReduceOp, guarded: set[SSAValue], nan: set[SSAValue]) -> bool:
    """Whether all that is made of what is `guarded`, and stored, is made with what is `nan` instead."""
    op = peak.next_op
    while op is not None:
        if nan.isdisjoint(op.results):
            if type(op) in _NAN_OF_NAN and not nan.isdisjoint(op.operands):
                nan.update(op.results)
            elif not guarded.isdisjoint(op.operands):
                if not op.results:
                    return False
                guarded.update(op.results)
        op = op.next_op
    return True


def _all_hidden(peak: ReduceOp) -> None:
    """All are -inf where the maximum is."""
    for test in _users(peak.value):
        if not isinstance(test, arith.CmpfOp) or predicate_of(test) != "oeq":
            continue
        other = test.rhs if test.lhs is peak.value else test.lhs
        if not is_number(other, -inf):
            continue
        for found in _users(test.result):
            if isinstance(found, ReduceOp) and found.kind.data == "and" and found.over == peak.over:
                b = InsertingBuilder(found, behind=True)
                hidden = b.compare_float("oeq", peak.result, b.constant(-inf, peak.result.type))
                found.result.replace_all_uses_with(hidden)


@dataclass(frozen=True)
class _Step:
    """An op that scales a number: divides or multiplies it `by` another, or puts 0 where that says so."""

    op: Operation
    by: SSAValue
    own: bool
    """Whether each of what is added up has another factor."""


def _scale_the_sum(total: ReduceOp, space: Sequence[Expr]) -> bool:
    """What scales all that is added up scales the sum; what each is scaled by on its own stays before it.

    Where there is nothing to add up the sum stays 0, which was divided by nothing before.
    """
    scaled = total.value.owner
    block = total.parent_block()
    if not isinstance(scaled, arith.MulfOp) or block is None:
        return False
    domains, over = domains_of(block), frozenset(total.over)
    for number, factor in enumerate((scaled.lhs, scaled.rhs)):
        found = _scaled(factor, domains, over, total)
        if found is None or not any(isinstance(step.op, arith.DivfOp) for step in found[1]):
            continue
        power, steps = found
        scaled.operands[number] = _scale(power, [step for step in steps if step.own])
        b = InsertingBuilder(total, behind=True)
        users = [(use.operation, use.index) for use in total.result.uses]
        value: SSAValue = total.result
        for step in reversed([step for step in steps if not step.own]):
            if isinstance(step.op, arith.SelectOp):
                value = b.select(step.by, total.result, value)  # a sum of zeros times values
            else:
                value = b.op(type(step.op), value, step.by, properties=step.op.properties)
        if sizes := [space[axis] for axis in total.over if not (space[axis].constant or 0) > 0]:
            count = b.add(IndexOp.make(product(sizes))).results[0]
            value = b.select(b.compare_int("eq", count, b.constant(0, i64)), total.result, value)
        for user, index in users:
            user.operands[index] = value
        return True
    return False


def _scale(power: SSAValue, steps: Sequence[_Step]) -> SSAValue:
    """An exponential, scaled where the last of the steps was."""
    if not steps:
        return power
    b, value = InsertingBuilder(steps[0].op, behind=True), power
    for step in reversed(steps):
        if isinstance(step.op, arith.SelectOp):
            value = b.select(step.by, value, step.op.rhs)
        else:
            value = b.op(arith.MulfOp, value, step.by, properties=step.op.properties)
    return value


def _scaled(
    value: SSAValue, domains: dict[SSAValue, Axes], over: Axes, total: ReduceOp
) -> tuple[SSAValue, list[_Step]] | None:
    """The exponential that `value` was, and what scaled it, the last step first."""
    op = value.owner
    if isinstance(op, math.ExpOp):
        return value, []
    if (wide := _before_rounding(op, total)) is not None:
        return _scaled(wide, domains, over, total)
    for source, step in _steps(op, domains, over):
        if (found := _scaled(source, domains, over, total)) is not None:
            return found[0], [step, *found[1]]
    return None


def _steps(
    op: Operation | Block, domains: dict[SSAValue, Axes], over: Axes
) -> Iterator[tuple[SSAValue, _Step]]:
    """What `op` may scale, and how."""
    if isinstance(op, arith.DivfOp) and domains[op.rhs].isdisjoint(over):
        yield op.lhs, _Step(op, op.rhs, own=False)
    elif isinstance(op, arith.MulfOp):
        for source, by in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            yield source, _Step(op, by, own=not domains[by].isdisjoint(over))
    elif isinstance(op, arith.SelectOp) and is_number(op.lhs, 0.0) and _is_hidden(op.cond, over):
        yield op.rhs, _Step(op, op.cond, own=False)
    elif isinstance(op, arith.SelectOp) and is_number(op.rhs, 0.0):
        yield op.lhs, _Step(op, op.cond, own=True)


def _is_hidden(condition: SSAValue, over: Axes) -> bool:
    """Whether it says that a maximum is -inf, so that all exponentials are 0."""
    test = condition.owner
    if not isinstance(test, arith.CmpfOp) or predicate_of(test) != "oeq" or not is_number(test.rhs, -inf):
        return False
    peak = test.lhs.owner
    return isinstance(peak, ReduceOp) and peak.kind.data == "max" and frozenset(peak.over) == over


def _before_rounding(op: Operation | Block, total: ReduceOp) -> SSAValue | None:
    """`x` of `extf(truncf(x))` to the type that the factors of the product have anyway."""
    narrow = op.operands[0].owner if isinstance(op, arith.ExtFOp) else None
    if not isinstance(narrow, arith.TruncFOp) or total.attributes.get(FACTORS) != narrow.results[0].type:
        return None
    return narrow.operands[0]


def _users(value: SSAValue) -> list[Operation]:
    return list(dict.fromkeys(use.operation for use in value.uses))
