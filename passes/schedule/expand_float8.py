"""Pass `expand-float8`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, f32, i32
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.float8 import FORMATS, Float8
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import FLOAT8

from ..fusion.scalar_builder import ScalarBuilder
from ..rewrite import may_rewrite


@dataclass(frozen=True)
class ExpandFloat8Pass(ModulePass):
    """Compute what the bits of 8-bit floats stand for by integers, where the target has no such type.

    Before:
        %1 = arith.bitcast %0 : i8 to f8E4M3FN
        %2 = arith.extf %1 : f8E4M3FN to f32
    After:
        %1 = arith.extui %0 : i8 to i32
        %2 = arith.andi %1, %c127 : i32
        %3 = arith.shli %2, %c20 : i32
        %4 = arith.addi %3, %c1006632960 : i32            // exponents count from 127, not 7
        %5 = arith.bitcast %4 : i32 to f32
        ...                                               // what has no leading 1, is no number, has a sign

    `float8` are the kinds that the target has. Products of others have factors of f16, which
    `tk.factors` says: that holds all of them.
    """

    name = "expand-float8"

    float8: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        known = {FLOAT8[kind] for kind in self.float8}
        for func in op.body.block.ops:
            if not isinstance(func, FuncOp):
                continue
            for inner in list(func.body.block.ops):
                if not isinstance(inner, arith.ExtFOp) or inner.input.type in known:
                    continue
                bits, format_ = inner.input.owner, FORMATS.get(inner.input.type)
                if format_ is None or not isinstance(bits, arith.BitcastOp):
                    continue
                if may_rewrite(inner, "decoded by integers"):
                    _expand(inner, bits, format_)


def _expand(widened: arith.ExtFOp, cast: arith.BitcastOp, format_: Float8) -> None:
    block = widened.parent
    assert block is not None
    b = ScalarBuilder(Block(), widened.location)
    found = _number(b, b.op(arith.ExtUIOp, cast.input, type_=i32), format_)
    for op in list(b.block.ops):
        op.detach()
        block.insert_op_before(op, widened)
    widened.result.replace_all_uses_with(found)
    block.erase_op(widened)
    if cast.result.first_use is None:
        block.erase_op(cast)


def _number(b: ScalarBuilder, bits: SSAValue, format_: Float8) -> SSAValue:
    """The f32 of the bits, an i32 from 0 to 255."""
    size = b.op(arith.AndIOp, bits, b.constant(127, i32))
    shifted = b.op(arith.ShLIOp, size, b.constant(23 - format_.mantissa, i32))
    moved = b.op(arith.AddiOp, shifted, b.constant((127 - format_.bias) << 23, i32))
    normal = b.op(arith.BitcastOp, moved, type_=f32)
    step = b.constant(math.ldexp(1.0, 1 - format_.bias - format_.mantissa), f32)
    small = b.op(arith.MulfOp, b.op(arith.SIToFPOp, size, type_=f32), step)
    first = b.constant(1 << format_.mantissa, i32)
    found = b.select(b.compare_int("slt", size, first), small, normal)
    nan = b.constant(math.nan, f32)
    if format_.largest < 127:
        beyond = nan
        if format_.infinite:
            last = b.compare_int("eq", size, b.constant(format_.largest + 1, i32))
            beyond = b.select(last, b.constant(math.inf, f32), nan)
        found = b.select(b.compare_int("sgt", size, b.constant(format_.largest, i32)), beyond, found)
    sign = b.op(arith.ShLIOp, b.op(arith.AndIOp, bits, b.constant(128, i32)), b.constant(24, i32))
    whole = b.op(arith.OrIOp, b.op(arith.BitcastOp, found, type_=i32), sign)
    signed = b.op(arith.BitcastOp, whole, type_=f32)
    if format_.negative_zero:
        return signed
    return b.select(b.compare_int("eq", bits, b.constant(128, i32)), nan, signed)
