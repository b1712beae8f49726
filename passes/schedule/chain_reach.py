"""How far chained products must go: a mask on positions hides whole blocks, which add nothing.

Causal masks, windows, prefixes: `visible.py` says what a condition lets through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.dialects import arith, math
from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import ZERO, Bounds, Call, Expr, Var, dim, maximum, minimum
from tilewright.dialects.scalars import is_number

from ..kernels.chains import Chain, Outer, positive
from ..kernels.positions import Positions
from .blocks import Blocks
from .cost import estimate
from .visible import Span, View

MANY = 8
"""Steps of a chain of which it is worth to write some apart."""
Condition = tuple[SSAValue, bool]
"""A truth value, and which it shall be."""


def reach(chain: Chain, blocks: Blocks, space: Sequence[Expr]) -> tuple[Expr, Expr]:
    """The first element and the end of the loop of one program along the chain.

    Where nothing is visible, maxima meet -inf and sums zeros: the blocks of which this holds as a
    whole, before all others or after them, are left out.
    """
    sizes = dict(blocks.sizes)
    rows, step = sizes[chain.row], sizes[chain.along]
    span = visible_span(chain, _view(chain, blocks, space))
    size = space[chain.along]
    end = size if span.end is None else minimum(size, span.end)
    if span.first is None:
        return ZERO, end
    first = _aligned(span.first, step, chain.row, rows)
    return first if Bounds(tuple(space)).is_nonnegative(first) else maximum(0, first), end


@dataclass(frozen=True)
class Clear:
    """Steps of a chain of which no condition of `conditions` hides anything."""

    at: Expr
    """Where they end, or begin: a multiple of the step."""
    first: bool
    """Whether they come first."""
    conditions: tuple[Condition, ...]


def clear_steps(chain: Chain, blocks: Blocks, space: Sequence[Expr]) -> Clear | None:
    """The steps that a mask on positions leaves whole for all rows of a program, if a chain has many.

    None where such steps are neither the first nor the last ones: between the ends of a window.
    """
    sizes = dict(blocks.sizes)
    rows, step = sizes[chain.row], sizes[chain.along]
    if estimate(space[chain.along]) < MANY * step:
        return None
    view = _view(chain, blocks, space)
    found = {c: view.span(c[0], not c[1]) for outer in chain.outer for c in _visible(outer)}
    firsts = {c: span.first for c, span in found.items() if span.first is not None and span.end is None}
    ends = {c: span.end for c, span in found.items() if span.end is not None and span.first is None}
    if firsts and not ends:
        hidden = reduce(minimum, dict.fromkeys(firsts.values()))
        return Clear(_aligned(hidden, step, chain.row, rows), True, tuple(firsts))
    if ends and not firsts:
        hidden = reduce(maximum, dict.fromkeys(ends.values()))
        return Clear(_aligned(hidden + step - 1, step, chain.row, rows), False, tuple(ends))
    return None


def split_at(place: Expr, bounds: tuple[Expr, Expr], space: Sequence[Expr]) -> Expr:
    """`place`, or the bound that it lies beyond."""
    known, (first, end) = Bounds(tuple(space)), bounds
    if not known.is_nonnegative(place - first):
        place = maximum(first, place)
    return reduce(minimum, (e for e in _lesser(end) if not known.is_nonnegative(e - place)), place)


def _lesser(value: Expr) -> tuple[Expr, ...]:
    """Those of which `value` is the least."""
    for atom in value.atoms():
        if isinstance(atom, Call) and atom.name == "min" and minimum(atom.lhs, atom.rhs) == value:
            return *_lesser(atom.lhs), *_lesser(atom.rhs)
    return (value,)


def _view(chain: Chain, blocks: Blocks, space: Sequence[Expr]) -> View:
    """The rows of one program."""
    fixed = frozenset((*(a for a, _ in blocks.sizes[: blocks.grid]), *chain.around)) - {chain.row}
    return View(chain.row, dict(blocks.sizes)[chain.row], chain.along, fixed, Positions(space))


def visible_span(chain: Chain, view: View) -> Span:
    """Where along the chain some reduction may be given something that changes it, for one of the rows."""
    return reduce(Span.either, dict.fromkeys(_span(outer, view) for outer in chain.outer))


def _span(outer: Outer, view: View) -> Span:
    """Where a reduction may be given something that changes it."""
    found = (view.span(condition, wanted) for condition, wanted in _visible(outer))
    return reduce(Span.both, found, Span())


def _aligned(first: Expr, step: int, row: int, rows: int) -> Expr:
    """The last multiple of `step` that is not above `first`; blocks of rows begin at multiples of `rows`."""
    axis, place = Var("d", row), dim(row)
    found = first.substitute({axis: place * rows}) // step * step
    factor = found.coefficient(axis)
    if factor is not None and (by := factor.constant) is not None and by % rows == 0:
        return found - place * by + place * (by // rows)
    return found.substitute({axis: place // rows})


def required(chain: Chain) -> list[SSAValue]:
    """The truth values without any of which a step changes nothing."""
    first, *others = (
        [v for condition in _visible(outer) for v in _conjuncts(*condition)] for outer in chain.outer
    )
    return [v for v in dict.fromkeys(first) if all(v in found for found in others)]


def _conjuncts(value: SSAValue, wanted: bool) -> list[SSAValue]:
    """What must be true for `value` to be what is wanted."""
    if not wanted:
        return []
    op = value.owner
    return [*_conjuncts(op.lhs, True), *_conjuncts(op.rhs, True)] if isinstance(op, arith.AndIOp) else [value]


def _visible(outer: Outer) -> list[Condition]:
    """The conditions without any of which a reduction is given what changes nothing."""
    value = outer.reduce.value
    return _infinite(value) if outer.reduce.kind.data == "max" else _zero(value)


def _infinite(value: SSAValue) -> list[Condition]:
    """The conditions without any of which `value` is -inf (or NaN)."""
    op = value.owner
    if isinstance(op, arith.SelectOp):
        return _selected(op, float("-inf"), _infinite)
    if isinstance(op, arith.SubfOp):
        return _infinite(op.lhs)
    if isinstance(op, arith.MulfOp) and positive(op.rhs) is not None:
        return _infinite(op.lhs)
    return _infinite(op.a) if isinstance(op, math.FmaOp) and positive(op.b) is not None else []


def _zero(value: SSAValue) -> list[Condition]:
    """The conditions without any of which `value` is 0 (or NaN)."""
    op = value.owner
    if isinstance(op, arith.SelectOp):
        return _selected(op, 0.0, _zero)
    if isinstance(op, math.ExpOp | math.Exp2Op):
        return _infinite(op.operand)
    if isinstance(op, arith.ExtFOp | arith.TruncFOp | arith.DivfOp):
        return _zero(op.operands[0])
    if isinstance(op, arith.MulfOp):
        return [*_zero(op.lhs), *_zero(op.rhs)]
    return []


def _selected(
    op: arith.SelectOp, nothing: float, inside: Callable[[SSAValue], list[Condition]]
) -> list[Condition]:
    """The conditions without any of which a choice between `nothing` and something else is `nothing`."""
    if is_number(op.rhs, nothing):
        return [(op.cond, True), *inside(op.lhs)]
    return [(op.cond, False), *inside(op.rhs)] if is_number(op.lhs, nothing) else []
