"""Pass `flatten-axes`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import Bounds, Expr, Var, dim, product
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.attributes import axes_attr, map_attr
from tilewright.dialects.tk.domain import Along, Reduction, exprs_of
from tilewright.dialects.tk.kernels import FuncOp

from ..kernels.one_axis import Merge, joined
from ..rewrite import may_rewrite, skip
from ..schedule.roles import groups_of


@dataclass(frozen=True)
class FlattenAxesPass(ModulePass):
    """Leave one axis per role: the parallel ones, those that one reduction removes, ...

    Before:
        tk.func @f [8, 5, 7] (%x: memref<280xf32>, %b: memref<5xf32>, %o: memref<280xf32>) {
          %0 = tk.load %x[d0*35 + d1*7 + d2] : memref<280xf32> -> f32
          %1 = tk.load %b[d1] : memref<5xf32> -> f32
          ...
          tk.store %2, %o[d0*35 + d1*7 + d2] : f32, memref<280xf32>
        }
    After:
        tk.func @f [280] (%x: memref<280xf32>, %b: memref<5xf32>, %o: memref<280xf32>) {
          %0 = tk.load %x[d0] : memref<280xf32> -> f32
          %1 = tk.load %b[(((d0 floordiv 7)) mod 5)] : memref<5xf32> -> f32
          ...
          tk.store %2, %o[d0] : f32, memref<280xf32>
        }

    For targets where a division costs less than idle lanes. Axes of a transpose stay apart:
    where one access is contiguous along one axis and another along a second. The rows,
    columns, batches and sums of a matrix product are roles of their own.
    """

    name = "flatten-axes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and func.scheduled is None:
                flatten(func)


def flatten(func: FuncOp) -> None:
    """Merge the axes of one function, role by role."""
    if any(size.constant == 0 for size in func.space):
        return skip(func, "an axis has no elements, and what is divided by its size has no value")
    groups = groups_of(func)
    if [group.axes for group in groups] == [(a,) for a in range(len(func.space))]:
        return skip(func, "no two axes have one role")
    if not may_rewrite(func, "its axes were flattened"):
        return
    sizes = [product(func.space[a] for a in group.axes) for group in groups]
    number = {a: new for new, group in enumerate(groups) for a in group.axes}
    merges: list[Merge] = []
    for group in groups:
        first, *others = group.axes
        for axis in others:
            merges.append((first, axis, func.space[axis]))
    _rewrite(func, sizes, merges, number)


def _rewrite(func: FuncOp, sizes: Sequence[Expr], merges: Sequence[Merge], number: Mapping[int, int]) -> None:
    bounds = Bounds(tuple(sizes))
    func.properties["sizes"] = map_attr(sizes)
    renamed = {Var("d", old): dim(new) for old, new in number.items()}
    for op in func.body.block.ops:
        if exprs := exprs_of(op):
            flat = [bounds.simplify(joined(e, merges).substitute(renamed)) for e in exprs]
            op.properties["map"] = map_attr(flat)
            if isinstance(op, StoreOp) and op.over:
                op.properties["axes"] = axes_attr(*sorted({number[a] for a in op.over}))
        elif isinstance(op, Reduction):
            op.properties["axes"] = axes_attr(*sorted({number[a] for a in op.over}))
        elif isinstance(op, Along):
            op.properties["axis"] = IntegerAttr(number[op.along], i64)
