"""Pass `split-lanes`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import Bounds, Expr, Var, as_expr, dim
from tilewright.dialects.tk.access import IndexOp, LoadOp, StoreOp
from tilewright.dialects.tk.attributes import axes_attr, map_attr
from tilewright.dialects.tk.domain import REDUCTIONS_AND_SCANS, exprs_of
from tilewright.dialects.tk.kernels import FuncOp

from ..rewrite import may_rewrite, skip
from ..schedule.neighbours import neighbours_of
from ..schedule.roles import contiguous_axis, transposed_axes
from ..schedule.tiles.lanes import elements_of_lane


@dataclass(frozen=True)
class SplitLanesPass(ModulePass):
    """Give the neighbours that one lane has an axis of their own, where all of them read the same element.

    Before:
        tk.func @f [1605632] (%x: memref<1605632xf32>, %mean: memref<64xf32>, %o: memref<1605632xf32>) {
          %0 = tk.load %x[d0] : memref<1605632xf32> -> f32
          %1 = tk.load %mean[(((d0 floordiv 3136)) mod 64)] : memref<64xf32> -> f32
          %2 = arith.subf %0, %1 : f32
          tk.store %2, %o[d0] : f32, memref<1605632xf32>
        }
    After:
        tk.func @f [401408, 4] (%x: memref<1605632xf32>, %mean: memref<64xf32>, %o: memref<1605632xf32>) {
          %0 = tk.load %x[d0*4 + d1] : memref<1605632xf32> -> f32
          %1 = tk.load %mean[(((d0 floordiv 784)) mod 64)] : memref<64xf32> -> f32
          %2 = arith.subf %0, %1 : f32
          tk.store %2, %o[d0*4 + d1] : f32, memref<1605632xf32>
        }

    A lane then loads what belongs to a row or a channel once for the 16 bytes that it moves, with one
    division for its place, and computes once what is made of that alone, or of the number of the row; also
    an index that is gathered at, whose row it then reads as a whole. Run `flatten-axes` before.
    """

    name = "split-lanes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and func.scheduled is None:
                _split(func)


def _split(func: FuncOp) -> None:
    ops = list(func.body.block.ops)
    if any(type(op) in REDUCTIONS_AND_SCANS for op in ops):
        return skip(func, "lanes share rows that are reduced or scanned")
    axis = _contiguous(func)
    if axis is None:
        return skip(func, "its stores are not contiguous along one axis")
    if neighbours_of(func):
        return skip(func, "lanes load or store groups of neighbours")
    each = elements_of_lane(func)
    if (func.space[axis] % each).constant != 0:
        return skip(func, f"not all lanes would have {each} neighbours")
    lane = len(func.space)
    sizes = [n // each if a == axis else n for a, n in enumerate(func.space)] + [as_expr(each)]
    bounds, place = Bounds(tuple(sizes)), {Var("d", axis): dim(axis) * each + dim(lane)}
    found = {op: [bounds.simplify(e.substitute(place)) for e in exprs_of(op)] for op in ops if exprs_of(op)}
    if any(e.coefficient(Var("d", lane)) is None for exprs in found.values() for e in exprs):
        return skip(func, "neighbours lie in different rows")
    if not any(_is_shared(op, exprs, axis, lane) for op, exprs in found.items()):
        return skip(func, "neighbours read nothing in common")
    if may_rewrite(func, "neighbours of a lane were given an axis"):
        _rewrite(func, sizes, found, axis)


def _contiguous(func: FuncOp) -> int | None:
    """The axis along which all stores are contiguous, and no load is along another."""
    axes = {contiguous_axis(op) for op in func.body.block.ops if isinstance(op, StoreOp)}
    axis = axes.pop() if len(axes) == 1 else None
    return None if transposed_axes(func) != (None, None) else axis


def _is_shared(op: Operation, exprs: list[Expr], axis: int, lane: int) -> bool:
    variables = {v for e in exprs for v in e.variables()}
    alone = isinstance(op, IndexOp) or (isinstance(op, LoadOp) and not op.dynamic)
    return alone and Var("d", axis) in variables and Var("d", lane) not in variables


def _rewrite(func: FuncOp, sizes: list[Expr], found: Mapping[Operation, list[Expr]], axis: int) -> None:
    func.properties["sizes"] = map_attr(sizes)
    for op, exprs in found.items():
        op.properties["map"] = map_attr(exprs)
        if isinstance(op, StoreOp) and axis in op.over:
            op.properties["axes"] = axes_attr(*op.over, len(sizes) - 1)
