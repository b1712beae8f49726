"""Pass `unpack-factors`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import Bounds, Expr, Var, as_expr, dim
from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.attributes import axes_attr, map_attr
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.domain import exprs_of
from tilewright.dialects.tk.kernels import FuncOp

from ..kernels.body import set_exprs, simplify_ops
from ..kernels.known import fold_known
from ..kernels.unroll import ops_unrolled, unroll
from ..rewrite import may_rewrite, skip
from ..schedule.roles import matrix_products
from .coalesce_axes import coalesce

_NUMBERS = (8, 4, 2)
"""How many numbers of a sum an element may hold."""
_LEAST = 16
"""Elements along a sum that a matrix unit takes at once, at least."""


@dataclass(frozen=True)
class UnpackFactorsPass(ModulePass):
    """Let a step of a matrix product read each element once that holds several of the numbers it sums.

    Before (weights of 4 bits, two of them a byte):
        tk.func @f [16, 4096, 4096] (%x: memref<65536xbf16>, %q: memref<8388608xui8>, ...) {
          %0 = tk.load %x[d0*4096 + d2] : memref<65536xbf16> -> bf16
          %1 = tk.load %q[d1*2048 + (d2 floordiv 2)] : memref<8388608xui8> -> i8
          %2 = tk.index "d2 mod 2" : i64
          ...
          %9 = arith.mulf %0, %8 : f32
          %r = tk.reduce add %9 over [2] {tk.factors = bf16} : f32
    After:
        tk.func @f [16, 4096, 2048] (%x: memref<65536xbf16>, %q: memref<8388608xui8>, ...) {
          %0 = tk.load %x[d0*4096 + d2*2] : memref<65536xbf16> -> bf16
          %1 = tk.load %x[d0*4096 + d2*2 + 1] : memref<65536xbf16> -> bf16
          %2 = tk.load %q[d1*2048 + d2] : memref<8388608xui8> -> i8
          ...
          %r = tk.reduce add %9 over [2] {tk.factors = bf16} : f32
          %s = tk.reduce add %15 over [2] {tk.factors = bf16} : f32
          %t = arith.addf %r, %s : f32

    Lanes would each load a byte, half of them the same as their neighbours, and choose between what they make
    of it: such loads are too narrow to be on their way while matrix units work. What is chosen by
    `d2 mod 2` is known then. A loop sums both (`running_sums.py`); `interleave-factors` has one product of
    them again. Run `flatten-axes` before. `ops` is how many there may be.
    """

    name = "unpack-factors"

    ops: int = 512

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and func.scheduled is None:
                _unpack(func, self.ops)


def _unpack(func: FuncOp, most: int) -> None:
    products = list(matrix_products(func))
    if not products:
        return
    first = products[0]
    if len(products) > 1 or len(first.over) > 1 or first.reduce.result.type != f32:
        return skip(func, "only one product of floats, over one axis, is unpacked")
    (axis,) = first.over
    size = func.space[axis].constant or 0
    ops = [op for op in ops_of(func.body.block) if any(e.uses(Var("d", axis)) for e in exprs_of(op))]
    for count in _NUMBERS:
        if size % count == 0 and size // count >= _LEAST and (found := _apart(func, ops, axis, count)):
            break
    else:
        return skip(func, "no element of a factor holds several of its numbers")
    if ops_unrolled(func, (axis,)) // size * count > most:
        skip(func, "unpacked, its factors are too many ops")
    elif may_rewrite(func, "its factors are unpacked"):
        _rewrite(func, first.reduce, found, axis, count)


def _apart(func: FuncOp, ops: Sequence[Operation], axis: int, count: int) -> Mapping[Operation, list[Expr]]:
    """The expressions of `ops` for each of `count` numbers, if some load has them in elements side by side;
    none otherwise."""
    number = len(func.space)
    sizes = (*(size // count if a == axis else size for a, size in enumerate(func.space)), as_expr(count))
    bounds, place = Bounds(sizes), {Var("d", axis): dim(axis) * count + dim(number)}
    found = {op: [bounds.simplify(e.substitute(place)) for e in exprs_of(op)] for op in ops}
    packed = any(isinstance(op, LoadOp) and _lies_along(exprs, axis, number) for op, exprs in found.items())
    return found if packed else {}


def _lies_along(exprs: Sequence[Expr], axis: int, number: int) -> bool:
    """Whether the elements of a flat buffer lie along an axis, and those of all numbers are the same."""
    (at,) = exprs
    return at.coefficient(Var("d", axis)) == as_expr(1) and not at.uses(Var("d", number))


def _rewrite(
    func: FuncOp, reduce: ReduceOp, found: Mapping[Operation, list[Expr]], axis: int, count: int
) -> None:
    sizes = [size // count if a == axis else size for a, size in enumerate(func.space)]
    for op, exprs in found.items():
        set_exprs(op, exprs)
    reduce.properties["axes"] = axes_attr(axis, len(sizes))
    func.properties["sizes"] = map_attr([*sizes, as_expr(count)])
    unroll(func, (len(sizes),))
    func.properties["sizes"] = map_attr(sizes)
    fold_known(func)
    simplify_ops(func.body.block)
    coalesce(func)
