"""How far chained products must go: a causal mask hides whole blocks, which add nothing."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, math
from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import Expr, as_expr, dim, minimum
from tilewright.dialects.scalars import is_number, predicate_of
from tilewright.dialects.tk.access import IndexOp

from .blocks import Blocks
from .chains import Chain, Outer

_UPTO, _FROM = "sle", "sge"
_KINDS = {
    ("sle", True): _UPTO,
    ("slt", True): _UPTO,
    ("sge", True): _FROM,
    ("sgt", True): _FROM,
    ("sgt", False): _UPTO,
    ("sge", False): _UPTO,
    ("slt", False): _FROM,
    ("sle", False): _FROM,
}
"""Where the first operand lies, or close by, if a comparison is what it shall be."""
_Condition = tuple[SSAValue, bool]
"""A truth value, and which it shall be."""


def reach(chain: Chain, blocks: Blocks, size: Expr) -> tuple[Expr, Expr]:
    """The first element and the end of the loop of one program along the chain.

    Where nothing is visible, maxima meet -inf and sums zeros: the blocks of which this holds as a
    whole are left out.
    """
    whole = as_expr(0), size
    sizes = dict(blocks.sizes)
    rows, step = sizes[chain.row], sizes[chain.along]
    if rows % step:  # the loop would not start, or end, at a block
        return whole
    first, *others = (_visible(outer) for outer in chain.outer)
    common = [condition for condition in dict.fromkeys(first) if all(condition in found for found in others)]
    directions = [found for condition in common if (found := _direction(condition, chain)) is not None]
    if len(directions) != 1:
        return whole
    (direction,) = directions
    return (whole[0], minimum(size, dim(chain.row) + rows)) if direction == _UPTO else (dim(chain.row), size)


def _visible(outer: Outer) -> list[_Condition]:
    """The conditions without any of which a reduction is given what changes nothing."""
    value = outer.reduce.value
    return _infinite(value) if outer.reduce.kind.data == "max" else _zero(value)


def _infinite(value: SSAValue) -> list[_Condition]:
    """The conditions without any of which `value` is -inf (or NaN)."""
    op = value.owner
    if isinstance(op, arith.SelectOp):
        return _selected(op, float("-inf"), _infinite)
    return _infinite(op.lhs) if isinstance(op, arith.SubfOp) else []


def _zero(value: SSAValue) -> list[_Condition]:
    """The conditions without any of which `value` is 0 (or NaN)."""
    op = value.owner
    if isinstance(op, arith.SelectOp):
        return _selected(op, 0.0, _zero)
    if isinstance(op, math.ExpOp):
        return _infinite(op.operand)
    if isinstance(op, arith.ExtFOp | arith.TruncFOp | arith.DivfOp):
        return _zero(op.operands[0])
    if isinstance(op, arith.MulfOp):
        return [*_zero(op.lhs), *_zero(op.rhs)]
    return []


def _selected(
    op: arith.SelectOp, nothing: float, inside: Callable[[SSAValue], list[_Condition]]
) -> list[_Condition]:
    """The conditions without any of which a choice between `nothing` and something else is `nothing`."""
    if is_number(op.rhs, nothing):
        return [(op.cond, True), *inside(op.lhs)]
    return [(op.cond, False), *inside(op.rhs)] if is_number(op.lhs, nothing) else []


def _direction(condition: _Condition, chain: Chain) -> str | None:
    """Whether elements along the chain are visible up to the row's number, or from there on."""
    op = condition[0].owner
    if not isinstance(op, arith.CmpiOp):
        return None
    kind = _KINDS.get((predicate_of(op), condition[1]))
    places = [v.owner.map.exprs[0] if isinstance(v.owner, IndexOp) else None for v in op.operands]
    if places == [dim(chain.along), dim(chain.row)]:
        return kind
    if places == [dim(chain.row), dim(chain.along)] and kind is not None:
        return _FROM if kind == _UPTO else _UPTO
    return None
