"""What positions and sizes decide about ops of a kernel: comparisons, choices, masks, where loads are."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import Bounds, Expr, Var, gathered
from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.scalars import number_of, predicate_of
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.kernels import FuncOp, KernelOp

from ..rewrite import may_rewrite
from .positions import Positions
from .ranges import Range, decided, fits, range_of
from .scalar_builder import constant_op


def fold_known(kernel: KernelOp | FuncOp) -> bool:
    """Put in place what is the same at every position; whether there was something. Leaves dead ops."""
    bounds, positions, ranges = Bounds(kernel.space), Positions(kernel.space), dict[SSAValue, Range]()
    changed = False
    for op in ops_of(kernel.body.block):
        if len(op.results) == 1 and (found := range_of(op, [*map(ranges.get, op.operands)], kernel.space)):
            ranges[op.results[0]] = found
        if isinstance(op, AssertOp):
            if number_of(op.condition) and may_rewrite(op, "cannot fail"):
                Rewriter.erase_op(op)
                changed = True
        elif (value := _known(op, positions, bounds, ranges)) is not None:
            op.results[0].replace_all_uses_with(value)
            changed = True
        elif isinstance(op, LoadOp) and (known := positions.known(op.dynamic)):
            at_expressions(op, known)
            changed = True
    return changed


def at_expressions(op: LoadOp, positions: Mapping[SSAValue, Expr]) -> None:
    """Put known indices of `op` into its subscripts."""
    if not may_rewrite(op, "at an index expression"):
        return
    kept = [v for v in op.dynamic if v not in positions]
    new = {v: gathered(k) for k, v in enumerate(kept)}
    at = {Var("i", k): positions[v] if v in positions else new[v] for k, v in enumerate(op.dynamic)}
    moved = LoadOp.make(op.buffer, [e.substitute(at) for e in op.subscripts], kept, op.mask, op.other)
    moved.attributes.update(op.attributes)
    moved.location = op.location
    Rewriter.insert_op(moved, InsertPoint.before(op))
    op.result.replace_all_uses_with(moved.result)
    Rewriter.erase_op(op)


def _known(
    op: Operation, positions: Positions, bounds: Bounds, ranges: Mapping[SSAValue, Range]
) -> SSAValue | None:
    """The value that the result of `op` always equals."""
    if isinstance(op, arith.SelectOp):
        which = number_of(op.cond)
        if which is None or not may_rewrite(op, "of a condition that is known"):
            return None
        return op.lhs if which else op.rhs
    if isinstance(op, LoadOp):
        which = None if op.mask is None else number_of(op.mask)
        if which is None or not may_rewrite(op, "under a mask that is known"):
            return None
        return _unmasked(op) if which else op.other
    if isinstance(op, arith.ExtUIOp | arith.ExtSIOp):
        return _not_cut(op, ranges)
    if not isinstance(op, arith.CmpiOp):
        return None
    left, right = positions.of(op.lhs), positions.of(op.rhs)
    found = None if left is None or right is None else _decided(predicate_of(op), left, right, bounds)
    if found is None:
        found = decided(predicate_of(op), ranges.get(op.lhs), ranges.get(op.rhs))
    block = op.parent_block()
    if found is None or block is None or not may_rewrite(op, "comes to the same everywhere"):
        return None
    constant = constant_op(found, i1)
    constant.location = op.location
    block.insert_op_before(constant, op)
    return constant.result


def _not_cut(op: arith.ExtUIOp | arith.ExtSIOp, ranges: Mapping[SSAValue, Range]) -> SSAValue | None:
    """What is widened again, where narrowing it had lost nothing."""
    if not isinstance(narrowed := op.input.owner, arith.TruncIOp) or narrowed.input.type != op.result.type:
        return None
    whole = fits(ranges.get(narrowed.input), op.input.type, unsigned=isinstance(op, arith.ExtUIOp))
    return narrowed.input if whole and may_rewrite(op, "of what fitted a narrower type") else None


def _unmasked(op: LoadOp) -> SSAValue:
    new = LoadOp.make(op.buffer, op.subscripts, op.dynamic, result_type=op.result.type)
    new.attributes.update(op.attributes)
    new.location = op.location
    Rewriter.insert_op(new, InsertPoint.before(op))
    return new.result


def _decided(predicate: str, left: Expr, right: Expr, bounds: Bounds) -> bool | None:
    """What a comparison comes to at all positions, None where that differs or is not known."""
    if predicate in ("eq", "ne"):
        apart = (left - right).constant
        if apart is None and not (bounds.is_below(left, right) or bounds.is_below(right, left)):
            return None
        return (apart == 0) == (predicate == "eq")
    if predicate in ("sgt", "ugt", "sle", "ule"):  # a > b is b < a
        left, right = right, left
    if predicate[0] == "u" and not (bounds.is_nonnegative(left) and bounds.is_nonnegative(right)):
        return None
    if predicate[1:] not in ("lt", "gt", "le", "ge"):
        return None
    strict = predicate[1:] in ("lt", "gt")
    if bounds.is_below(left, right):
        return strict
    return not strict if bounds.is_nonnegative(left - right) else None
