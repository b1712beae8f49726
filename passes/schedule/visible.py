"""Which elements along one axis a condition on positions can let through, for a block of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import Call, Expr, Var, as_expr, dim, maximum, minimum
from tilewright.dialects.scalars import is_number, predicate_of

from ..kernels.positions import Positions

_NEGATED = {"eq": "ne", "ne": "eq", "slt": "sge", "sge": "slt", "sgt": "sle", "sle": "sgt"}


@dataclass(frozen=True)
class Span:
    """Elements from `first` to before `end`; None where nothing limits them."""

    first: Expr | None = None
    end: Expr | None = None

    def both(self, other: Span) -> Span:
        """What lies in either of two spans that must hold at once."""
        return Span(_tighter(self.first, other.first, maximum), _tighter(self.end, other.end, minimum))

    def either(self, other: Span) -> Span:
        """The least span around two."""
        first = None if self.first is None or other.first is None else minimum(self.first, other.first)
        end = None if self.end is None or other.end is None else maximum(self.end, other.end)
        return Span(first, end)


def _tighter(one: Expr | None, other: Expr | None, of: Callable[[Expr, Expr], Expr]) -> Expr | None:
    if one is None or other is None:
        return one if other is None else other
    return of(one, other)


@dataclass(frozen=True)
class View:
    """Rows `d<row>` to `d<row> + rows - 1`, which look along axis `along`."""

    row: int
    rows: int
    along: int
    fixed: frozenset[int]
    """Axes that are one element for all of them."""
    positions: Positions

    def span(self, value: SSAValue, wanted: bool) -> Span:
        """Where, for one of these rows at least, the truth value `value` may be what is `wanted`."""
        op = value.owner
        if isinstance(op, arith.CmpiOp):
            return self._compared(op, wanted)
        if isinstance(op, arith.XOrIOp) and value.type == i1:
            for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                if is_number(other, 1) or is_number(other, -1):
                    return self.span(one, not wanted)
        if isinstance(op, arith.AndIOp | arith.OrIOp) and value.type == i1:
            one, other = self.span(op.lhs, wanted), self.span(op.rhs, wanted)
            return one.both(other) if isinstance(op, arith.AndIOp) == wanted else one.either(other)
        return Span()

    def _compared(self, op: arith.CmpiOp, wanted: bool) -> Span:
        order = predicate_of(op) if wanted else _NEGATED.get(predicate_of(op))
        less = self._ordered(op.lhs, op.rhs, int(order == "slt")) if order in ("eq", "sle", "slt") else Span()
        more = self._ordered(op.rhs, op.lhs, int(order == "sgt")) if order in ("eq", "sge", "sgt") else Span()
        return less.both(more)

    def _ordered(self, less: SSAValue, more: SSAValue, by: int) -> Span:
        """Where `less + by <= more` may hold."""
        op = less.owner
        inside = op.operands[0] if isinstance(op, math.AbsIOp) else less
        known = [p for v in (inside, more) if (p := self.positions.of(v)) is not None]
        if len(known) < 2:
            return Span()
        span = self._at_most(known[0] - known[1] + by)
        return span if inside is less else span.both(self._at_most(-known[0] - known[1] + by))

    def _at_most(self, value: Expr) -> Span:
        """Where `value` is not above 0."""
        factor = value.coefficient(Var("d", self.along))
        by = None if factor is None else factor.constant
        axes = {var.index for var in value.variables() if var.kind == "d"}
        if not by or not axes <= {self.row, self.along, *self.fixed}:
            return Span()
        rest = self._least(value - dim(self.along) * by)
        if rest is None:
            return Span()
        return Span(end=(-rest) // by + 1) if by > 0 else Span(first=rest.ceildiv(-by))

    def _least(self, value: Expr) -> Expr | None:
        """The least that `value` is for one of the rows; None where rows change it in no known direction."""
        row = Var("d", self.row)
        last = dim(self.row) + self.rows - 1
        total = as_expr(0)
        for monomial, factor in value.terms:
            term = Expr(((monomial, factor),))
            if term.uses(row):
                if len(monomial) != 1 or not _grows(monomial[0], row):
                    return None
                if factor < 0:
                    term = term.substitute({row: last})
            total = total + term
        return total


def _grows(atom: Var | Call, row: Var) -> bool:
    """Whether `atom` never becomes less as `row` becomes more."""
    if isinstance(atom, Var):
        return True
    step = atom.lhs.coefficient(row)
    return (
        atom.name == "floordiv"
        and (atom.rhs.constant or 0) > 0
        and step is not None
        and (step.constant or -1) > 0
    )
