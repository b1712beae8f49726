"""The `drop-checks` pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import Bounds, Expr
from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.scalars import number_of, predicate_of
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.kernels import KernelOp

from ..functions.fold_positions import at_expressions
from ..kernels.body import simplify_body
from ..kernels.positions import Positions
from ..kernels.ranges import Range, decided, range_of
from ..kernels.scalar_builder import constant_op
from ..rewrite import may_rewrite


@dataclass(frozen=True)
class DropChecksPass(ModulePass):
    """Drop checks of positions that cannot fail, and let loads say where they are.

    Before:
        %o = tk.kernel [s0] ins(%x : tensor<?xi64>) -> (tensor<?xi64>) {
          %0 = tk.index "d0" : i64
          %1 = tk.index "s0" : i64
          %2 = arith.cmpi ult, %0, %1 : i64
          tk.assert %2 "index out of range" : i1
          %3 = arith.select %2, %0, %zero : i64
          %4 = arith.index_cast %3 : i64 to index
          %5 = tk.load %a[i0](%4) : tensor<?xi64> -> i64 ...
    After:
          %5 = tk.load %a[d0] : tensor<?xi64> -> i64 ...

    That a position is below the size of its axis holds for any size. A mask of attention that reads a tensor
    at the numbers of rows and columns has no check then, and blocks may be left out. So it is known that a
    number is not zero: division by it checks nothing. What floats make of positions of a known number lies
    between two numbers, too: where an image is read that is resized. A load under a mask that never holds is
    none, as of a part of a stack where the position says that another one is read.
    """

    name = "drop-checks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for kernel in function.body.block.ops:
                if isinstance(kernel, KernelOp):
                    _simplify(kernel)


def _simplify(kernel: KernelOp) -> None:
    if not any(isinstance(op, AssertOp | arith.CmpiOp) for op in kernel.body.block.ops):
        return
    bounds, positions, ranges = Bounds(kernel.space), Positions(kernel.space), dict[SSAValue, Range]()
    changed = False
    for op in list(kernel.body.block.ops):
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
    if changed:
        simplify_body(kernel)


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
