"""Pass `coalesce-axes`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import ZERO, Bounds, Expr, Var, dim
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.attributes import axes_attr, map_attr
from tilewright.dialects.tk.compute import ScanOp
from tilewright.dialects.tk.domain import Along, Reduction, exprs_of
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.moments import MomentsOp
from tilewright.dialects.tk.sort import SortOp

from ..kernels.body import named_axes
from ..kernels.one_axis import mergeable
from ..kernels.scalar_builder import InsertingBuilder
from ..rewrite import may_rewrite


@dataclass(frozen=True)
class CoalesceAxesPass(ModulePass):
    """Merge axes that every access walks through as one, and drop axes of size 1 or without use.

    Before:
        tk.func @add1 [8, 1, 768] (%x: memref<6144xf32>, %o: memref<6144xf32>) {
          %0 = tk.load %x[d0*768 + d2] : memref<6144xf32> -> f32
          ...
          tk.store %1, %o[d0*768 + d2] : f32, memref<6144xf32>
        }
    After:
        tk.func @add1 [6144] (%x: memref<6144xf32>, %o: memref<6144xf32>) {
          %0 = tk.load %x[d0] : memref<6144xf32> -> f32
          ...
          tk.store %1, %o[d0] : f32, memref<6144xf32>
        }

    Two axes are one where each subscript depends on them through `d<a>*size(b) + d<b>`
    only, and each reduction takes both or neither.
    """

    name = "coalesce-axes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and func.scheduled is None:
                coalesce(func)


def coalesce(func: FuncOp, *, merge: bool = True) -> None:
    """Drop the axes of one function that nothing uses; `merge` the others, as far as possible."""
    ops = list(func.body.block.ops)
    exprs = sorted({e for op in ops for e in exprs_of(op)}, key=str)
    axes: list[int] = list(range(len(func.space)))
    sizes = dict(enumerate(func.space))
    values: dict[Var, Expr] = {}
    groups = [frozenset(named_axes(op)) for op in ops]
    used = {var.index for e in exprs for var in e.variables() if var.kind == "d"}.union(*groups)
    for axis in range(len(func.space)):
        if sizes[axis].constant == 1 or axis not in used:
            values[Var("d", axis)] = ZERO
            axes.remove(axis)
    exprs = [e.substitute(values) for e in exprs]
    scans = {op.along for op in ops if isinstance(op, Along)}
    while merge and (pair := mergeable(axes, sizes, exprs, groups, scans)) is not None:
        high, low = pair
        change = {Var("d", high): ZERO}
        exprs = [e.substitute(change) for e in exprs]
        values = {var: e.substitute(change) for var, e in values.items()} | change
        sizes[low] = sizes[high] * sizes[low]
        axes[min(axes.index(high), axes.index(low))] = low
        axes = list(dict.fromkeys(a for a in axes if a != high))
    if axes != list(range(len(func.space))) and may_rewrite(func, "its axes were merged"):
        _renumber(func, ops, axes, sizes, values)


def _renumber(
    func: FuncOp,
    ops: Sequence[Operation],
    axes: Sequence[int],
    sizes: dict[int, Expr],
    values: dict[Var, Expr],
) -> None:
    """Give the axes that are left their new numbers, everywhere."""
    number = {old: new for new, old in enumerate(axes)}
    renamed = {Var("d", old): dim(new) for old, new in number.items()}
    change = {**renamed, **{var: e.substitute(renamed) for var, e in values.items()}}
    func.properties["sizes"] = map_attr([sizes[a] for a in axes])
    bounds = Bounds(func.space)
    for op in ops:
        if exprs := exprs_of(op):
            op.properties["map"] = map_attr([bounds.simplify(e.substitute(change)) for e in exprs])
            if isinstance(op, StoreOp) and op.over:
                op.properties["axes"] = axes_attr(*sorted({number[a] for a in op.over if a in number}))
        elif isinstance(op, Reduction):
            left = sorted({number[a] for a in op.over if a in number})
            op.properties["axes"] = axes_attr(*left)
            if not left:
                _forward(op)
        elif isinstance(op, Along):
            if op.along in number:
                op.properties["axis"] = IntegerAttr(number[op.along], i64)
            else:
                _forward(op)


def _forward(op: Reduction | Along) -> None:
    """A reduction over one element is that element, which stands at position 0."""
    values = list(op.operands)
    if isinstance(op, MomentsOp):
        values[1] = _checked(op)
    elif isinstance(op, SortOp):
        values.append(InsertingBuilder(op).constant(0, i32))
    elif isinstance(op, ScanOp):
        values = [op.value]
    for result, operand in zip(op.results, values, strict=True):
        result.replace_all_uses_with(operand)
    Rewriter.erase_op(op)


def _checked(op: MomentsOp) -> SSAValue:
    """The squared deviations of one group, NaN where its mean is not finite."""
    nothing = arith.SubfOp(op.mean, op.mean)
    checked = arith.AddfOp(op.squares, nothing.result)
    for new in (nothing, checked):
        new.location = op.location
        Rewriter.insert_op(new, InsertPoint.before(op))
    return checked.result
