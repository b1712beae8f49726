"""Pass `unroll-reductions`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import ONE, Var, dim
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.domain import exprs_of
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import bytes_of, element_type_of

from ..kernels.unroll import few_terms, ops_unrolled, unroll
from ..rewrite import may_rewrite, skip

_NEAR = 8
"""Bytes between what neighbouring lanes load, at most: a warp loads from 8 sectors of memory then, not 32."""


@dataclass(frozen=True)
class UnrollReductionsPass(ModulePass):
    """Let a lane compute all terms of a reduction over a few elements, where lanes can go along memory.

    Before:
        tk.func @f [64, 128, 3] (%x: memref<24576xf32>, %o: memref<8192xf32>) {
          %0 = tk.load %x[d0*384 + d2*128 + d1] : memref<24576xf32> -> f32
          %1 = tk.reduce add %0 over [2] : f32
          tk.store %1, %o[d0*128 + d1] : f32, memref<8192xf32>
        }
    After:
        tk.func @f [64, 128, 1] (%x: memref<24576xf32>, %o: memref<8192xf32>) {
          %0 = tk.load %x[d0*384 + d1] : memref<24576xf32> -> f32
          %1 = tk.load %x[d0*384 + d1 + 128] : memref<24576xf32> -> f32
          %2 = tk.load %x[d0*384 + d1 + 256] : memref<24576xf32> -> f32
          %3 = arith.addf %0, %1 : f32
          %4 = arith.addf %3, %2 : f32
          tk.store %4, %o[d0*128 + d1] : f32, memref<8192xf32>
        }

    Among lanes, windows of 3 x 3 would leave 7 lanes of 16 without work, each would compute where its element
    lies, and the maximum be found in four steps between them. Rows of few elements stay: what lanes load
    would be a row apart. `ops` is how many there may be then.
    """

    name = "unroll-reductions"

    ops: int = 512

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and func.scheduled is None and (axes := few_terms(func)) is not None:
                if why := _why_not(func, axes):
                    skip(func, why)
                elif ops_unrolled(func, axes) > self.ops:
                    skip(func, "its few terms are too many ops")
                elif may_rewrite(func, "its few terms are each computed by themselves"):
                    unroll(func, axes)


def _why_not(func: FuncOp, axes: Sequence[int]) -> str | None:
    kept = [a for a, size in enumerate(func.space) if a not in axes and size != ONE]
    if not kept:
        return "it has one result"
    lane, next_lane = kept[-1], {Var("d", kept[-1]): dim(kept[-1]) + 1}
    for op in func.body.block.ops:
        if not isinstance(op, LoadOp) or op.dynamic:
            continue
        (at,) = exprs_of(op)
        variables = {v.index for v in at.variables() if v.kind == "d"}
        if lane not in variables or variables.isdisjoint(axes):
            continue
        step = (at.substitute(next_lane) - at).constant
        if step is None or abs(step) * bytes_of(element_type_of(op.buffer)) > _NEAR:
            return "lanes would load elements that are far apart"
    return None
