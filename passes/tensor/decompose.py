"""The `decompose` pass."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import parse_expr, product
from tilewright.dialects.tw.aten import AtenOp
from tilewright.dialects.tw.creation import FullOp, RngNormalOp, RngUniformOp
from tilewright.dialects.tw.elementwise import CosOp, Log1pOp, NegOp, SqrtOp
from tilewright.dialects.tw.elementwise_binary import MulOp
from tilewright.dialects.types import element_type_of, sizes_of

from .decompose_pooling import decompose_pooling
from .driver import Rewrite, Rules, apply_rules


@dataclass(frozen=True)
class DecomposePass(ModulePass):
    """Write composite ops in terms of those that kernels know.

    Before:
        %n = tw.rng_normal %seed offset "0" : tensor<i64> -> tensor<8xf32>
    After:
        %u = tw.rng_uniform %seed offset "0" : tensor<i64> -> tensor<8xf32>
        %v = tw.rng_uniform %seed offset "8" : tensor<i64> -> tensor<8xf32>
        ... sqrt(-2 * log1p(-u)) * cos(2 * pi * v)

    Pooling becomes a reduction over `tw.window`.
    """

    name = "decompose"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, RULES, self.name)


def normal_from_uniform(op: Operation, rw: Rewrite) -> SSAValue:
    """Box and Muller's transform; log1p(-u) is finite because u < 1."""
    assert isinstance(op, RngNormalOp)
    sizes, offset = sizes_of(op.result), parse_expr(op.offset.data)

    def times(value: SSAValue, factor: float) -> SSAValue:
        return rw.value(MulOp(value, rw.value(FullOp(factor, element_type_of(value), sizes))))

    u = rw.value(RngUniformOp(op.seed, sizes, offset))
    v = rw.value(RngUniformOp(op.seed, sizes, offset + product(sizes)))
    radius = rw.value(SqrtOp(times(rw.value(Log1pOp(rw.value(NegOp(u)))), -2.0)))
    return rw.value(MulOp(radius, rw.value(CosOp(times(v, 2 * pi)))))


RULES: Rules = {RngNormalOp: (normal_from_uniform,), AtenOp: (decompose_pooling,)}
