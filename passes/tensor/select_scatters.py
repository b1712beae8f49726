"""select-scatters: few numbers per row that are scattered into a constant are chosen by position instead."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import ONE
from tilewright.dialects.tw.creation import FullOp, IotaOp
from tilewright.dialects.tw.elementwise_binary import AddOp, CastOp, CompareOp, SelectOp
from tilewright.dialects.tw.indexing import Combine, GatherOp, ScatterAddOp, ScatterAlongOp, ScatterOp
from tilewright.dialects.tw.view import BroadcastOp, SliceOp
from tilewright.dialects.types import element_type_of, same_but_along, sizes_of

from ..driver import Rewrite, Rules, apply_rules
from ..rewrite import skip
from .counted_rows import along_rows
from .splats import splat_of


@dataclass(frozen=True)
class SelectScattersPass(ModulePass):
    """Compare positions with the index where each row of a constant gets one number, or a few.

    Before:
        %r = tw.scatter_along %zero, %i, %v dim 1 reduce none
           : (tensor<8x128xf32>, tensor<8x1xi64>, tensor<8x1xf32>) -> tensor<8x128xf32>
    After:
        %n = tw.iota dim 0 start "0" step "1" -> tensor<128xi64>
        %c = tw.gather %n[%i] dims [0] at 0 strict : (tensor<128xi64>, tensor<8x1xi64>) -> tensor<8x1xi64>
        %p = tw.iota dim 1 start "0" step "1" -> tensor<8x128xi32>
        %h = tw.compare eq %p, %c, cast and broadcast
        %r = tw.select %h, %v, broadcast, %zero

    The gather is the index, checked: one out of range is an error still. The select fuses with what reads it,
    so that gradients of cross entropy and of `gather` are not written to memory as zeros, added to and read.
    With `numbers` a row may get so many, of which the last one for a place stays, or all are added in order:
    the weights of the few experts that a router has chosen. Each is a comparison for each element. So are few
    positions of counted rows, `t[arange(8), i]`, or of all of a tensor, `t[i]`.
    """

    name = "select-scatters"

    numbers: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        in_rows = partial(_select_in_rows, most=self.numbers)
        rules: Rules = {
            ScatterAlongOp: (partial(_select, most=self.numbers),),
            ScatterOp: (in_rows,),
            ScatterAddOp: (in_rows,),
        }
        apply_rules(op, rules, self.name)


def _select(op: Operation, rw: Rewrite, most: int) -> SSAValue | None:
    assert isinstance(op, ScatterAlongOp)
    sizes, few, dim = sizes_of(op.target), sizes_of(op.index), op.dim.value.data
    constant, combine = splat_of(op.target), op.combine.data
    if constant is None:
        return skip(op, "its target is no constant: what stands there would all be copied")
    number = few[dim].constant
    if number is None or not 1 <= number <= most:
        return skip(op, f"it does not give each row a number, or {most} at most")
    if not same_but_along(dim, few, sizes):
        return skip(op, "it leaves rows as they are")
    if combine not in (Combine.NONE, Combine.ADD):
        return skip(op, f"it combines by {combine.value}")
    if number > 1:
        return _in_turn(op, rw, number, adds=combine is Combine.ADD)
    values = op.values
    if combine is Combine.ADD:
        values = rw.value(AddOp(rw.value(FullOp(constant, element_type_of(op.target), few)), values))
    hit = _hit(op, _checked(op, rw), rw)
    return rw.value(SelectOp(hit, _repeated(values, op, rw), op.target))


def _select_in_rows(op: Operation, rw: Rewrite, most: int) -> SSAValue | None:
    assert isinstance(op, ScatterOp | ScatterAddOp)
    if splat_of(op.target) is None:
        return skip(op, "its target is no constant: what stands there would all be copied")
    along = along_rows(op, most, rw)
    if along is None:
        return skip(op, f"it does not give each counted row a number, or {most} at most")
    return rw.value(along)


def _in_turn(op: ScatterAlongOp, rw: Rewrite, number: int, *, adds: bool) -> SSAValue:
    """Several numbers, the first one first."""
    checked, result = _checked(op, rw), op.target
    for turn in range(number):
        value = _repeated(_column(op.values, turn, op, rw), op, rw)
        if adds:
            value = rw.value(AddOp(result, value))
        result = rw.value(SelectOp(_hit(op, _column(checked, turn, op, rw), rw), value, result))
    return result


def _checked(op: ScatterAlongOp, rw: Rewrite) -> SSAValue:
    """The index, of as few bits as it needs; one out of range is an error."""
    size = sizes_of(op.target)[op.dim.value.data]
    count = rw.value(IotaOp(i64, [size]))
    checked = rw.value(GatherOp(count, [op.index], [0], strict=True))
    if size.constant is not None and size.constant < 2**31:
        checked = rw.value(CastOp(checked, i32))
    return checked


def _hit(op: ScatterAlongOp, index: SSAValue, rw: Rewrite) -> SSAValue:
    position = rw.value(IotaOp(element_type_of(index), sizes_of(op.target), op.dim.value.data))
    return rw.value(CompareOp(position, _repeated(index, op, rw), "eq"))


def _column(value: SSAValue, turn: int, op: ScatterAlongOp, rw: Rewrite) -> SSAValue:
    """Of each row the number that is scattered in this turn."""
    dim, sizes = op.dim.value.data, list(sizes_of(value))
    sizes[dim] = ONE
    starts = [turn if d == dim else 0 for d in range(len(sizes))]
    return rw.value(SliceOp(value, starts, sizes))


def _repeated(value: SSAValue, op: ScatterAlongOp, rw: Rewrite) -> SSAValue:
    return rw.value(BroadcastOp(value, sizes_of(op.target)))
