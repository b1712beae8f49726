"""select-scatters: one number per row that is scattered into a constant is chosen by position instead."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import ONE
from tilewright.dialects.tw.creation import FullOp, IotaOp
from tilewright.dialects.tw.elementwise_binary import AddOp, CastOp, CompareOp, SelectOp
from tilewright.dialects.tw.indexing import Combine, GatherOp, ScatterAlongOp
from tilewright.dialects.tw.view import BroadcastOp
from tilewright.dialects.types import element_type_of, same_but_along, sizes_of

from ..rewrite import skip
from .driver import Rewrite, Rules, apply_rules
from .splats import splat_of


@dataclass(frozen=True)
class SelectScattersPass(ModulePass):
    """Compare positions with the index where each row of a constant gets one number.

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
    """

    name = "select-scatters"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, _RULES, self.name)


def _select(op: Operation, rw: Rewrite) -> SSAValue | None:
    assert isinstance(op, ScatterAlongOp)
    sizes, few, dim = sizes_of(op.target), sizes_of(op.index), op.dim.value.data
    constant, combine = splat_of(op.target), op.combine.data
    if constant is None:
        return skip(op, "its target is no constant: what stands there would all be copied")
    if few[dim] != ONE or not same_but_along(dim, few, sizes):
        return skip(op, "it does not give one number to each row")
    if combine not in (Combine.NONE, Combine.ADD):
        return skip(op, f"it combines by {combine.value}")
    element, values = element_type_of(op.target), op.values
    if combine is Combine.ADD:
        values = rw.value(AddOp(rw.value(FullOp(constant, element, few)), values))
    count = rw.value(IotaOp(i64, [sizes[dim]]))
    checked = rw.value(GatherOp(count, [op.index], [0], strict=True))
    size = sizes[dim].constant
    if size is not None and size < 2**31:
        checked = rw.value(CastOp(checked, i32))
    position = rw.value(IotaOp(element_type_of(checked), sizes, dim))
    hit = rw.value(CompareOp(position, _repeated(checked, op, rw), "eq"))
    return rw.value(SelectOp(hit, _repeated(values, op, rw), op.target))


def _repeated(value: SSAValue, op: ScatterAlongOp, rw: Rewrite) -> SSAValue:
    return rw.value(BroadcastOp(value, sizes_of(op.target)))


_RULES: Rules = {ScatterAlongOp: (_select,)}
