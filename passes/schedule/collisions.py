"""Which iterations may store to one place: those of scatters, whose positions are loaded."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from xdsl.dialects import arith
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Expr, Var, as_expr
from tilewright.dialects.scalars import is_number, number_of, predicate_of
from tilewright.dialects.tk.access import ALONE, IndexOp, StoreOp
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.compute import ScanOp

from ..kernels.facts import Body
from .plan import SCALAR

_Digit = tuple[Expr, Expr]
"""What a variable is multiplied with, and how many values it has."""
_SAME_NUMBER = (arith.IndexCastOp, arith.TruncIOp, arith.ExtSIOp)


def scatters(op: Operation) -> bool:
    """Whether different iterations may store to one place."""
    return isinstance(op, StoreOp) and op.scatters


def in_turn(sinks: Sequence[Operation]) -> list[list[Operation]]:
    """Sinks that may share loops; stores that add to what another store left come after it.

    Checks come last, where the positions are that they check. Stores without lanes have loops of their own.
    """
    turns: list[list[Operation]] = [[]]
    written: dict[SSAValue, bool] = {}
    checks = [op for op in sinks if isinstance(op, AssertOp)]
    for op in sinks:
        if isinstance(op, StoreOp):
            mixes = scatters(op)
            if op.buffer in written and (mixes or written[op.buffer]):
                turns.append([])
                written = {}
            written[op.buffer] = written.get(op.buffer, False) or mixes
            turns[-1].append(op)
    turns[-1] = [op for op in sinks if op in turns[-1] or op in checks]
    return [part for turn in turns for part in _by_lanes(turn)]


def _by_lanes(turn: list[Operation]) -> list[list[Operation]]:
    """Those with lanes, then those without; checks go with the latter."""
    if not any(SCALAR in op.attributes for op in turn):
        return [turn]
    parts: tuple[list[Operation], list[Operation]] = ([], [])
    for op in turn:
        parts[isinstance(op, AssertOp) or SCALAR in op.attributes].append(op)
    return [part for part in parts if part]


def mark_stores(body: Body, vector: int | None, *, parallel: bool) -> None:
    """Note on stores that threads do not meet there, and that loops of scalars do.

    Parallel axes are independent ones.
    """
    for op in body.ops:
        if isinstance(op, StoreOp) and parallel and op.combine is not None:
            op.attributes[ALONE] = UnitAttr()
        if goes_apart(body, op, vector):
            op.attributes[SCALAR] = UnitAttr()


def goes_apart(body: Body, op: Operation, vector: int | None) -> bool:
    """Whether lanes are stored at positions of their own, or all at one: that is done one by one."""
    if not isinstance(op, StoreOp):
        return False
    return vector in op.over or any(vector in body.domains[v] for v in op.dynamic)


def is_independent(body: Body, space: Sequence[Expr], axis: int) -> bool:
    """Whether iterations along `axis` may run at once, or in any order."""
    for op in body.ops:
        if isinstance(op, ScanOp) and op.along == axis:
            return False
        if isinstance(op, StoreOp) and scatters(op) and not _disjoint(body, space, op, axis):
            return False
    return True


def _disjoint(body: Body, space: Sequence[Expr], op: StoreOp, axis: int) -> bool:
    """True if two iterations along `axis` never store to one place.

    The subscript is a number whose digit `axis` stands below some of the other parts and above the rest,
    which are digits themselves. What does not run along the axis stands outside of its loop.
    """
    if axis not in body.runs[op]:
        return True
    (expr,) = op.map.exprs
    own = expr.coefficient(Var("d", axis))
    if own is None or own.constant == 0:
        return False
    period = own * space[axis]
    lower: list[_Digit] = []
    for var in sorted(expr.variables() - {Var("d", axis)}, key=str):
        if var.kind == "s":
            continue
        other = expr.coefficient(var)
        if other is None:
            return False
        if other.exact_div(period) is not None:
            continue
        size = limit_of(op.dynamic[var.index]) if var.kind == "i" else space[var.index]
        if size is None:
            return False
        lower.append((other, size))
    top = (own, space[axis])
    apart = all(_above(one, other) or _above(other, one) for one, other in combinations(lower, 2))
    return apart and all(_above(top, other) for other in lower)


def _above(one: _Digit, other: _Digit) -> bool:
    """Whether a step of `one` is at least all that `other` can be."""
    (step, _), (lower, size) = one, other
    return step.exact_div(lower * size) is not None


def limit_of(position: SSAValue) -> Expr | None:
    """What a checked position is less than: n of `select (x ult n), x, 0`."""
    owner = _number(position).owner
    if not isinstance(owner, arith.SelectOp) or not is_number(owner.rhs, 0):
        return None
    test = owner.cond.owner
    if not isinstance(test, arith.CmpiOp) or predicate_of(test) != "ult":
        return None
    if _number(test.lhs) is not _number(owner.lhs):
        return None
    limit = test.rhs.owner
    if isinstance(limit, IndexOp):
        return limit.expr
    found = number_of(test.rhs)
    return as_expr(found) if isinstance(found, int) else None


def _number(value: SSAValue) -> SSAValue:
    """`value` before it changed its width: positions fit."""
    while isinstance(owner := value.owner, _SAME_NUMBER):
        value = owner.input
    return value
