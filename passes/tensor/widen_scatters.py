"""widen-scatters: halves that are scattered together are added up in f32, and rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import product
from tilewright.dialects.tw.creation import FullOp
from tilewright.dialects.tw.elementwise_binary import AddOp, CastOp
from tilewright.dialects.tw.indexing import ScatterAddOp, ScatterAlongOp
from tilewright.dialects.tw.view import BroadcastOp
from tilewright.dialects.types import element_type_of, is_half, sizes_of

from ..driver import Rewrite, Rules, apply_rules
from ..rewrite import skip
from .added_apart import added_apart, wide
from .scatter_onto_addends import added_onto, adds, adds_to_zeros
from .splats import splat_of

LARGE = 8_000_000
"""Elements of a target whose cast to f32 and back, which moves 8 bytes more for each, takes longer than the
four launches that are saved: 4 us for each of these, at 4 TB/s."""


_ROUNDED_ONCE = 32
"""Elements side by side at one position that eager mode adds up in f32, at most: one for each lane of a warp.
Of more it rounds each sum. (`indexing_backward_kernel_small_stride`)"""


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
    dimension, of which each number has a position of its own, are only done where the target has no more
    numbers. Sums of such sums are added up in f32, too, one onto the other, as `scatter-onto-addends` does
    where nothing is rounded. Sums of f32 in a large table of zeros, which are rounded then, have places of
    their own, too. With `deterministic` all stay.

    `halves` that devices add in memory are added so where the target has as many numbers as are scattered, or
    more, for then they seldom meet, unless the sum is added to another: each addition is rounded, as in eager
    mode, which rounds sums of short rows, or of numbers, once: those are added up in f32 here, too.
    """

    name = "widen-scatters"

    deterministic: bool = False
    halves: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.deterministic:
            rules: Rules = {
                ScatterAddOp: (partial(_widen_sum, halves=self.halves),),
                ScatterAlongOp: (partial(_widen_along, halves=self.halves),),
                AddOp: (_onto_sum,),
                CastOp: (_round_addressed,),
            }
            apply_rules(op, rules, self.name)


def _widen_sum(op: Operation, rw: Rewrite, halves: Sequence[str]) -> SSAValue | None:
    assert isinstance(op, ScatterAddOp)
    element = element_type_of(op.target)
    if not is_half(element) or 0 in (product(sizes_of(value)).constant for value in (op.target, op.values)):
        return None
    if str(element) in halves and _seldom_meet(op) and not _is_rounded_once(op):
        return skip(op, "its halves are added in memory")
    return added_apart(op, op.target, rw) if _is_few(op) else _whole(op, rw)


def _round_addressed(op: Operation, rw: Rewrite) -> SSAValue | None:
    """Rounded where it was added up."""
    assert isinstance(op, CastOp)
    scatter = _rounded_sum(op.result)
    if not isinstance(scatter, ScatterAddOp) or splat_of(scatter.target) != 0 or not _is_few(scatter):
        return None
    zeros = rw.value(FullOp(0.0, element_type_of(op.result), sizes_of(op.result)))
    return added_apart(scatter, zeros, rw)


def _widen_along(op: Operation, rw: Rewrite, halves: Sequence[str]) -> SSAValue | None:
    assert isinstance(op, ScatterAlongOp)
    combine, element = op.combine.data.value, element_type_of(op.target)
    if not is_half(element) or combine not in ("add", "max", "min"):
        return None
    if combine == "add" and str(element) in halves and _seldom_meet(op):
        return skip(op, "its halves are added in memory")
    if not _fills(op) and not (combine == "add" and _is_worth_casting(op)):
        return skip(
            op, "not combined in f32: it has fewer numbers than the target, all of which would be cast"
        )
    return _whole(op, rw)


def _fills(op: ScatterAddOp | ScatterAlongOp) -> bool:
    """Whether at least as many numbers are scattered as the target has, as far as is known."""
    more = (product(sizes_of(op.values)) - product(sizes_of(op.target))).constant
    return more is not None and more >= 0


def _is_few(op: ScatterAddOp) -> bool:
    """Whether to cast all of the target would take longer than launches do."""
    size = product(sizes_of(op.target)).constant
    return size is not None and size >= LARGE and not _fills(op)


def _is_worth_casting(op: ScatterAlongOp) -> bool:
    """Whether fewer sums than numbers of the target are made alike: rows, or some that become one sum."""
    size, index = product(sizes_of(op.target)).constant, op.index.owner
    if size is None or size >= LARGE:
        return False
    rows = isinstance(index, BroadcastOp) and product(sizes_of(index.source)) != product(sizes_of(op.index))
    return rows or (adds_to_zeros(op) and _is_added_to_a_sum(op.result))


def _seldom_meet(op: ScatterAddOp | ScatterAlongOp) -> bool:
    """Whether no more numbers are scattered than the target has, and not to be one sum with another."""
    more = (product(sizes_of(op.values)) - product(sizes_of(op.target))).constant
    return more is not None and more <= 0 and not (adds_to_zeros(op) and _is_added_to_a_sum(op.result))


def _is_rounded_once(op: ScatterAddOp) -> bool:
    """Whether eager mode may be as exact as f32: many may meet, of few numbers."""
    behind = op.at.value.data + len(sizes_of(op.indices[0]))
    size = product(sizes_of(op.values)[behind:]).constant
    return size is None or size <= _ROUNDED_ONCE


def _is_added_to_a_sum(value: SSAValue) -> bool:
    users = [use.operation for use in value.uses]
    if len(users) != 1 or not isinstance(add := users[0], AddOp):
        return False
    return all(map(_is_sum, add.operands))


def _is_sum(value: SSAValue) -> bool:
    """Whether `value` is a sum of what is scattered, or of such sums."""
    op = value.owner
    if isinstance(op, AddOp):
        return all(map(_is_sum, op.operands))
    return adds(op) or _rounded_sum(value) is not None


def _whole(op: ScatterAddOp | ScatterAlongOp, rw: Rewrite) -> SSAValue:
    """The same of f32."""
    widened = {value: wide(value, rw) for value in (op.target, op.values)}
    made = type(op).create(
        operands=[widened.get(value, value) for value in op.operands],
        result_types=[widened[op.target].type],
        properties=op.properties,
    )
    return rw.value(CastOp(rw.value(made), element_type_of(op.result)))


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
