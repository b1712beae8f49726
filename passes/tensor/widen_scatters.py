"""widen-scatters: halves that are scattered together are added up in f32, and rounded once."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import Expr, product
from tilewright.dialects.tw.base import ints
from tilewright.dialects.tw.creation import FullOp, IotaOp
from tilewright.dialects.tw.elementwise_binary import AddOp, CastOp
from tilewright.dialects.tw.indexing import GatherOp, ScatterAddOp, ScatterAlongOp, ScatterOp
from tilewright.dialects.tw.view import ReshapeOp
from tilewright.dialects.types import element_type_of, is_half, sizes_of

from ..rewrite import skip
from .driver import Rewrite, Rules, apply_rules
from .scatter_onto_addends import added_onto, adds, adds_to_zeros
from .splats import splat_of

LARGE = 8_000_000
"""Elements of a target whose cast to f32 and back, which moves 8 bytes more for each, takes longer than the
four launches that are saved: 4 us for each of these, at 4 TB/s."""


@dataclass(frozen=True)
class WidenScattersPass(ModulePass):
    """Combine halves that are scattered in f32, which devices do in memory, and round once.

    Before:
        %r = tw.scatter_add %v into %t[%i] dims [0] at 0 : (tensor<99x4xbf16>, ...) -> tensor<99x4xbf16>
    After, with 6 positions:
        %w = tw.scatter %n into %none[%i] dims [0] at 0 : (tensor<99xi64>, ...) // one of those for each row
        %g = tw.gather %w[%i] dims [0] at 0 : (tensor<99xi64>, tensor<6xi64>) -> tensor<6xi64>
        %s = tw.scatter_add %f into %zero[%g] dims [0] at 0 strict : (tensor<6x4xf32>, ...) -> tensor<6x4xf32>
        %p = tw.gather %s[%g] dims [0] at 0 strict : (tensor<6x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
        ...                                                             // plus what stood in %t there
        %r = tw.scatter %h into %t[%i] dims [0] at 0 : (tensor<99x4xbf16>, ...) -> tensor<99x4xbf16>

    %n counts the positions; whichever of those for one row remains in %w stands for all of them. So no more
    is added up in f32 than is scattered, be the target a table of which few rows are meant. A target that is
    small, or has no more numbers than are scattered, is all cast to f32 and back. Extremes, and sums along a
    dimension, each of whose numbers has a position of its own, are only done where the target has no more
    numbers. Sums of such sums are added up in f32, too, one onto the other, as `scatter-onto-addends` does
    where nothing is rounded. With `deterministic` all stay.
    """

    name = "widen-scatters"

    deterministic: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.deterministic:
            apply_rules(op, _RULES, self.name)


def _widen_sum(op: Operation, rw: Rewrite) -> SSAValue | None:
    assert isinstance(op, ScatterAddOp)
    if not is_half(element_type_of(op.target)) or 0 in (
        product(sizes_of(value)).constant for value in (op.target, op.values)
    ):
        return None
    size = product(sizes_of(op.target)).constant
    few = size is not None and size >= LARGE and not _fills(op)
    return _addressed(op, rw) if few else _whole(op, rw)


def _widen_along(op: Operation, rw: Rewrite) -> SSAValue | None:
    assert isinstance(op, ScatterAlongOp)
    if not is_half(element_type_of(op.target)) or op.combine.data.value not in ("add", "max", "min"):
        return None
    if not _fills(op):
        return skip(
            op, "not combined in f32: it has fewer numbers than the target, all of which would be cast"
        )
    return _whole(op, rw)


def _fills(op: ScatterAddOp | ScatterAlongOp) -> bool:
    """Whether at least as many numbers are scattered as the target has, as far as is known."""
    more = (product(sizes_of(op.values)) - product(sizes_of(op.target))).constant
    return more is not None and more >= 0


def _whole(op: ScatterAddOp | ScatterAlongOp, rw: Rewrite) -> SSAValue:
    """The same of f32."""
    wide = {value: _wide(value, rw) for value in (op.target, op.values)}
    made = type(op).create(
        operands=[wide.get(value, value) for value in op.operands],
        result_types=[wide[op.target].type],
        properties=op.properties,
    )
    return rw.value(CastOp(rw.value(made), element_type_of(op.result)))


def _wide(value: SSAValue, rw: Rewrite) -> SSAValue:
    constant = splat_of(value)
    return rw.value(CastOp(value, f32) if constant is None else FullOp(constant, f32, sizes_of(value)))


def _addressed(op: ScatterAddOp, rw: Rewrite) -> SSAValue:
    """Sums in a buffer of one place for each position."""
    dims, at, strict = list(ints(op.dims)), op.at.value.data, op.strict is not None
    target, sizes = sizes_of(op.target), sizes_of(op.indices[0])
    own = range(len(dims))
    numbers = _numbers(rw, sizes)
    none = rw.value(FullOp(0, i64, [target[d] for d in dims]))
    stands = rw.value(ScatterOp(none, op.indices, numbers, own, strict=strict))
    place = rw.value(GatherOp(stands, op.indices, own, strict=strict))
    values = sizes_of(op.values)
    flat = (*values[:at], product(sizes), *values[at + len(sizes) :])
    zeros, wide = rw.value(FullOp(0.0, f32, flat)), rw.value(CastOp(op.values, f32))
    sums = rw.value(ScatterAddOp(zeros, [place], wide, [at], at, strict=True))
    found = rw.value(GatherOp(sums, [place], [at], at, strict=True))
    if splat_of(op.target) != 0:
        old = rw.value(GatherOp(op.target, op.indices, dims, at, strict=strict))
        found = rw.value(AddOp(rw.value(CastOp(old, f32)), found))
    rounded = rw.value(CastOp(found, element_type_of(op.result)))
    return rw.value(ScatterOp(op.target, op.indices, rounded, dims, at, strict=strict))


def _onto_sum(op: Operation, rw: Rewrite) -> SSAValue | None:
    """Of two sums in f32, of which each was to be rounded alone, one."""
    assert isinstance(op, AddOp)
    for one, other in (op.operands, op.operands[::-1]):
        addend, scatter = _rounded_sum(one), _rounded_sum(other)
        if addend is not None and scatter is not None and adds_to_zeros(scatter):
            return rw.value(CastOp(added_onto(addend.result, scatter, rw), element_type_of(op.result)))
    return None


def _rounded_sum(value: SSAValue) -> ScatterAddOp | ScatterAlongOp | None:
    """The sum in f32 that nothing but `value` rounds and nothing but one op reads."""
    cast = value.owner
    if not isinstance(cast, CastOp) or cast.rounded is not None or not is_half(element_type_of(value)):
        return None
    scatter = cast.operand.owner
    if not adds(scatter) or element_type_of(scatter.result) != f32:
        return None
    return scatter if value.has_one_use() and scatter.result.has_one_use() else None


def _numbers(rw: Rewrite, sizes: tuple[Expr, ...]) -> SSAValue:
    """0, 1, 2, ... of this shape."""
    count = rw.value(IotaOp(i64, [product(sizes)]))
    return count if len(sizes) == 1 else rw.value(ReshapeOp(count, sizes))


_RULES: Rules = {ScatterAddOp: (_widen_sum,), ScatterAlongOp: (_widen_along,), AddOp: (_onto_sum,)}
