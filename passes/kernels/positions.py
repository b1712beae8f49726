"""Which integers of a body follow from positions, as index expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, i32, i64
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Expr, as_expr
from tilewright.dialects.tk.access import IndexOp

from .ranges import Range, range_of

_LARGEST = 2**24
"""Coefficients up to which sums of positions cannot leave i64, whatever the sizes of axes are."""
_INTEGERS = (i32, i64, IndexType())


class Positions:
    """The integers of a body that are sums of positions, found as somebody asks for them.

    Each is looked at once: what it is made of may not change later. An integer is known where its type holds
    it: its range says so or, of 64 bits, its coefficients do. With `ranged` only ranges of sums, differences
    and products say so.
    """

    def __init__(self, space: Sequence[Expr], *, ranged: bool = False) -> None:
        self._space = space
        self._ranged = ranged
        self._found: dict[SSAValue, tuple[Expr, Range | None] | None] = {}

    def of(self, value: SSAValue) -> Expr | None:
        """An integer that follows from positions, if its type holds it; None of any other."""
        todo = [] if value in self._found else [value]
        while todo:  # no recursion: bodies may be longer than Python's stack
            asked = todo[-1]
            if missing := [v for v in _parts(asked) if v not in self._found]:
                todo += missing
            else:
                self._found[asked] = self._derived(asked)
                todo.pop()
        found = self._found[value]
        return None if found is None else found[0]

    def known(self, values: Iterable[SSAValue]) -> dict[SSAValue, Expr]:
        """Those of `values` that follow from positions."""
        return {v: place for v in values if (place := self.of(v)) is not None}

    def _derived(self, value: SSAValue) -> tuple[Expr, Range | None] | None:
        """The integer and its range, given those that it is made of."""
        op = value.owner
        parts = [self._found[v] for v in _parts(value)]
        known = [part for part in parts if part is not None]
        if not isinstance(op, Operation) or value.type not in _INTEGERS or len(known) < len(parts):
            return None
        if (expr := _expression(op, [e for e, _ in known])) is None:
            return None
        limits = range_of(op, [r for _, r in known], self._space)
        return (expr, limits) if limits is not None or self._fits(op, expr) else None

    def _fits(self, op: Operation, expr: Expr) -> bool:
        """Whether the result of `op`, of which no range is known, does not wrap around."""
        if op.results[0].type == i32 or (self._ranged and op.name in _SUMS):
            return False
        return self._ranged or all(abs(factor) <= _LARGEST for _, factor in expr.terms)


def _parts(value: SSAValue) -> Sequence[SSAValue]:
    """What `value` is made of, if it is an integer made of others."""
    op = value.owner
    return op.operands if isinstance(op, Operation) and op.name in (*_SUMS, *_CASTS) else ()


def _expression(op: Operation, parts: Sequence[Expr]) -> Expr | None:
    """What `op` makes of integers."""
    if isinstance(op, arith.ConstantOp):
        return as_expr(op.value.value.data) if isinstance(op.value, IntegerAttr) else None
    if isinstance(op, IndexOp):
        return op.expr
    if op.name in _CASTS:
        return parts[0]
    return None if (rule := _SUMS.get(op.name)) is None else rule(*parts)


def _product(one: Expr, other: Expr) -> Expr | None:
    return None if one.constant is None and other.constant is None else one * other


_SUMS: Mapping[str, Callable[[Expr, Expr], Expr | None]] = {
    "arith.addi": lambda one, other: one + other,
    "arith.subi": lambda one, other: one - other,
    "arith.muli": _product,
}
_CASTS = ("arith.extsi", "arith.index_cast")
