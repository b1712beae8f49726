"""The `decompose` pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import pi

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import Expr, maximum, parse_expr, product
from tilewright.dialects.tw.aten import AtenOp
from tilewright.dialects.tw.creation import FullOp, RngNormalOp, RngUniformOp
from tilewright.dialects.tw.elementwise import CosOp, Log1pOp, NegOp, SqrtOp
from tilewright.dialects.tw.elementwise_binary import AddOp, CastOp, DivOp, MaximumOp, MulOp, SubOp
from tilewright.dialects.tw.indexing import SortOp
from tilewright.dialects.tw.linalg import MatmulOp
from tilewright.dialects.tw.reduction import MomentsOp, SumOp
from tilewright.dialects.tw.view import BroadcastOp
from tilewright.dialects.types import element_type_of, is_float, is_half, sizes_of

from ..driver import Rewrite, Rules, apply_rules
from .decompose_pooling import decompose_pooling
from .select_in_parts import select_in_parts
from .short_scans import SHORT_SCANS, write_out_scan
from .sort_by_library import sort_by_library


@dataclass(frozen=True)
class DecomposePass(ModulePass):
    """Write composite ops in terms of those that kernels know.

    Before:
        %n = tw.rng_normal %seed offset "0" : tensor<i64> -> tensor<8xf32>
    After:
        %u = tw.rng_uniform %seed offset "0" : tensor<i64> -> tensor<8xf32>
        %v = tw.rng_uniform %seed offset "8" : tensor<i64> -> tensor<8xf32>
        ... sqrt(-2 * log1p(-u)) * cos(2 * pi * v)

    Pooling becomes a reduction over `tw.window`. `tw.moments` becomes a mean and a sum of squared
    deviations, which is two passes over the data: the faster way where a cache or a program holds them; of
    f32, the sum of the deviations corrects both. Those over more than `moments` elements, or not over the
    innermost axes, stay if a number is given, and one pass is enough. Kernels sort rows of `sorts` elements
    at most, of 64 bits each a quarter of that; of longer rows the first few are those of their parts, and all
    are sorted by ATen. Scans of `scans` elements or fewer are written out.
    A bias of integers is added by itself. Products of a column and a row are no sums: kernels of any kind
    multiply their elements.
    """

    name = "decompose"

    moments: int | None = None
    sorts: int = 0
    scans: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        moments = {MomentsOp: [partial(moments_in_two_passes, self.moments)]}
        sorts = {SortOp: [partial(rule, self.sorts) for rule in _SORTS]}
        scans = {kind: [partial(write_out_scan, self.scans)] for kind in SHORT_SCANS}
        apply_rules(op, {**RULES, **moments, **sorts, **scans}, self.name)


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


def moments_in_two_passes(longest: int | None, op: Operation, rw: Rewrite) -> Sequence[SSAValue] | None:
    """The mean, then the squares of the deviations from it; halves compute in f32.

    Numbers of f32 are less exact than their mean may have to be: what rounding left in it is the mean of the
    deviations, which corrects both (Chan, Golub and LeVeque 1983, "corrected two-pass algorithm"). So equal
    numbers deviate by nothing.
    """
    assert isinstance(op, MomentsOp)
    element, axes, sizes = element_type_of(op.source), ints(op.axes), sizes_of(op.source)
    number = product(sizes[a] for a in axes)
    if longest is not None and not _are_rows(sizes, axes, longest):
        return None
    x = op.source
    if is_half(element):
        x = rw.value(CastOp(x, f32))
    total = rw.value(SumOp(x, axes))
    number = number if number.constant is None else number.constant
    count = rw.value(FullOp(number, element_type_of(x), sizes_of(total)))
    mean = rw.value(DivOp(total, count))
    kept = [i for i in range(len(sizes)) if i not in axes]
    apart = rw.value(SubOp(x, rw.value(BroadcastOp(mean, sizes, kept))))
    squares = rw.value(SumOp(rw.value(MulOp(apart, apart)), axes))
    if is_half(element):
        return rw.value(CastOp(mean, element)), rw.value(CastOp(squares, element))
    if element != f32:
        return mean, squares
    left = rw.value(SumOp(apart, axes))
    error = _share(rw, left, number)
    squares = rw.value(SubOp(squares, rw.value(MulOp(left, error))))
    nothing = rw.value(FullOp(0.0, f32, sizes_of(total)))
    return rw.value(AddOp(mean, error)), rw.value(MaximumOp(squares, nothing))


def _are_rows(sizes: Sequence[Expr], axes: Sequence[int], longest: int) -> bool:
    """Whether `axes` are the innermost and hold at most `longest` elements together."""
    number = product(sizes[a] for a in axes).constant
    return number is not None and number <= longest and sorted(axes)[0] == len(sizes) - len(axes)


def _share(rw: Rewrite, total: SSAValue, number: Expr | int) -> SSAValue:
    """One of `number` parts of f32, as exact as a correction has to be; of none it is all."""
    sizes = sizes_of(total)
    if isinstance(number, int):
        return rw.value(MulOp(total, rw.value(FullOp(1 / max(number, 1), f32, sizes))))
    return rw.value(DivOp(total, rw.value(FullOp(maximum(number, 1), f32, sizes))))


def split_integer_bias(op: Operation, rw: Rewrite) -> SSAValue | None:
    """ATen's C functions scale a bias by a double, which no integer takes where there is nothing to sum."""
    assert isinstance(op, MatmulOp)
    if op.bias is None or is_float(element_type_of(op.result)):
        return None
    sizes = sizes_of(op.result)
    bias = rw.value(BroadcastOp(op.bias, sizes, [len(sizes) - 1]))
    return rw.value(AddOp(rw.value(MatmulOp(op.lhs, op.rhs, element=element_type_of(op.result))), bias))


def outer_product(op: Operation, rw: Rewrite) -> SSAValue | None:
    """`[b..., m, 1] x [b..., 1, n]`: each element is 0 and one product, rounded once with the bias."""
    assert isinstance(op, MatmulOp)
    sizes, element = sizes_of(op.result), element_type_of(op.result)
    if sizes_of(op.lhs)[-1].constant != 1:
        return None
    wide = f32 if is_half(element) else element
    a, b, *bias = (v if element_type_of(v) == wide else rw.value(CastOp(v, wide)) for v in op.operands)
    axes = range(len(sizes))
    value = rw.value(MulOp(*(rw.value(BroadcastOp(v, sizes, axes)) for v in (a, b))))
    if is_float(wide):
        value = rw.value(AddOp(value, rw.value(FullOp(0.0, wide, sizes))))  # no sum from 0 on is -0.0
    for each in bias:
        value = rw.value(AddOp(value, rw.value(BroadcastOp(each, sizes, axes[-1:]))))
    return value if wide == element else rw.value(CastOp(value, element))


_SORTS = (select_in_parts, sort_by_library)
"""Each is given the longest row of a kernel."""

RULES: Rules = {
    RngNormalOp: (normal_from_uniform,),
    AtenOp: (decompose_pooling,),
    MatmulOp: (outer_product, split_integer_bias),
}
