"""Pass `expand-float8`."""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, f32, i8, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tilewright.dialects.float8 import FORMATS, Float8
from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.tk.arith import ExtUIOp, SIToFPOp, TruncIOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import FLOAT8

from ..kernels.scalar_builder import InsertingBuilder, ScalarBuilder
from ..rewrite import may_rewrite


@dataclass(frozen=True)
class ExpandFloat8Pass(ModulePass):
    """Convert to and from 8-bit floats by integers, where the target has no conversion that is right.

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

    Before:
        %1 = arith.truncf %0 : f32 to f8E4M3FN
        %2 = arith.bitcast %1 : f8E4M3FN to i8
    After:
        ...
        %5 = arith.addi %3, %4 : i32                      // half of the last place that stays, ties to even
        %6 = arith.shrsi %5, %c20 : i32
        %7 = arith.subi %6, %c960 : i32
        ...
        %9 = arith.trunci %8 : i32 to i8

    `float8` are the kinds that the target has: what they hold it can read. Products of others have factors of
    f16, which `tk.factors` says: that holds all of them. Numbers are always rounded here: the instructions of
    devices clamp what is too large, of which torch makes infinity, or no number.
    """

    name = "expand-float8"

    float8: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        known = {FLOAT8[kind] for kind in self.float8}
        for func in op.body.block.ops:
            if isinstance(func, FuncOp):
                for inner in ops_of(func.body.block):
                    _expand(inner, known)


def _expand(op: Operation, known: Set[Attribute]) -> None:
    """Put integers in the place of a conversion. Behind one, an 8-bit float is its bits, read as such."""
    if isinstance(op, arith.TruncFOp) and (format_ := FORMATS.get(op.result.type)):
        if may_rewrite(op, "rounded by integers"):
            b = InsertingBuilder(op)
            bits = _bits(b, op.input, format_)
            _replace(op, b.op(arith.BitcastOp, bits, type_=op.result.type))
        return
    if isinstance(op, arith.ExtFOp | arith.BitcastOp) and op.input.type in FORMATS:
        first = op.input.owner
        if not isinstance(first, arith.BitcastOp):
            return
        if isinstance(op, arith.BitcastOp):
            _replace(op, first.input)
        elif first.result.type not in known and may_rewrite(op, "decoded by integers"):
            _replace(op, _number(InsertingBuilder(op), first.input, FORMATS[first.result.type]))
        if first.result.first_use is None:
            Rewriter.erase_op(first)


def _replace(op: arith.TruncFOp | arith.ExtFOp | arith.BitcastOp, value: SSAValue) -> None:
    op.result.replace_all_uses_with(value)
    Rewriter.erase_op(op)


def _number(b: ScalarBuilder, byte: SSAValue, format_: Float8) -> SSAValue:
    """The f32 of the bits, an i8."""
    bits = b.op(ExtUIOp, byte, type_=i32)
    size = b.op(arith.AndIOp, bits, b.constant(127, i32))
    shifted = b.op(arith.ShLIOp, size, b.constant(23 - format_.mantissa, i32))
    moved = b.op(arith.AddiOp, shifted, b.constant((127 - format_.bias) << 23, i32))
    normal = b.op(arith.BitcastOp, moved, type_=f32)
    step = b.constant(math.ldexp(1.0, 1 - format_.bias - format_.mantissa), f32)
    small = b.op(arith.MulfOp, b.op(SIToFPOp, size, type_=f32), step)
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


def _bits(b: ScalarBuilder, number: SSAValue, format_: Float8) -> SSAValue:
    """The i8 of the nearest 8-bit float of an f32, as `dialects.float8.encoded` says."""
    raw = b.op(arith.BitcastOp, number, type_=i32)
    size = b.op(arith.AndIOp, raw, b.constant(0x7FFFFFFF, i32))
    inf = b.constant(0x7F800000, i32)
    first = b.constant((128 - format_.bias) << 23, i32)
    normal = _rounded(b, b.op(arith.MinSIOp, size, inf), format_)
    found = b.select(b.compare_int("slt", size, first), _without_leading_one(b, size, format_), normal)
    found = b.op(arith.MinSIOp, found, b.constant(format_.largest + 1, i32))
    if format_.infinite:
        found = b.select(b.compare_int("sgt", size, inf), b.constant(format_.nan, i32), found)
    sign = b.op(arith.AndIOp, b.op(arith.ShRSIOp, raw, b.constant(24, i32)), b.constant(128, i32))
    bits = b.op(arith.OrIOp, found, sign)
    if not format_.negative_zero:
        zero = b.constant(0, i32)
        bits = b.select(b.compare_int("eq", found, zero), zero, bits)
    return b.op(TruncIOp, bits, type_=i8)


def _rounded(b: ScalarBuilder, size: SSAValue, format_: Float8) -> SSAValue:
    """The bits below the sign of numbers with a leading 1; ties go to even."""
    left_out = b.constant(23 - format_.mantissa, i32)
    odd = b.op(arith.AndIOp, b.op(arith.ShRSIOp, size, left_out), b.constant(1, i32))
    half = b.op(arith.AddiOp, odd, b.constant((1 << (22 - format_.mantissa)) - 1, i32))
    found = b.op(arith.ShRSIOp, b.op(arith.AddiOp, size, half), left_out)
    return b.op(arith.SubiOp, found, b.constant((127 - format_.bias) << format_.mantissa, i32))


def _without_leading_one(b: ScalarBuilder, size: SSAValue, format_: Float8) -> SSAValue:
    """The same of those without: added to a number whose last place is their step, they are its last bits."""
    exponent = 24 - format_.bias - format_.mantissa
    large = b.constant(math.ldexp(1.0, exponent), f32)
    moved = b.op(arith.AddfOp, b.op(arith.BitcastOp, size, type_=f32), large)
    bits = b.op(arith.BitcastOp, moved, type_=i32)
    return b.op(arith.SubiOp, bits, b.constant((127 + exponent) << 23, i32))
