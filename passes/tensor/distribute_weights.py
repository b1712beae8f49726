"""distribute-weights: sums that are weighed and summed again are one sum of weighed terms."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.tw.elementwise_binary import CastOp, MulOp
from tilewright.dialects.tw.reduction import SumOp
from tilewright.dialects.tw.view import BroadcastOp
from tilewright.dialects.types import element_type_of, is_half, sizes_of

from ..driver import Rewrite, apply_rules
from ..rewrite import skip


@dataclass(frozen=True)
class DistributeWeightsPass(ModulePass):
    """Weigh the terms of a sum instead of the sum, where all that is weighed is summed again.

    Before (where on average a heat map is warm):
        %r = tw.sum %x over [2] : tensor<8x64x32xf32> -> tensor<8x64xf32>
        %m = tw.mul %r, %w : tensor<8x64xf32>
        %s = tw.sum %m over [1] : tensor<8x64xf32> -> tensor<8xf32>
    After:
        %b = tw.broadcast %w dims [0, 1] : tensor<8x64xf32> -> tensor<8x64x32xf32>
        %m = tw.mul %x, %b : tensor<8x64x32xf32>
        %s = tw.sum %m over [1, 2] : tensor<8x64x32xf32> -> tensor<8xf32>

    One kernel takes the sum where two would be launched, one behind the other, and it may join what makes %x,
    or reduces that along the same axes. A product for each term is little beside reading it; of halves it is
    not rounded. Sums that others read, too, are made anyway.
    """

    name = "distribute-weights"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {SumOp: (_at_once,)}, self.name)


def _at_once(op: Operation, rw: Rewrite) -> SSAValue | None:
    assert isinstance(op, SumOp)
    weighed = op.source.owner
    if not isinstance(weighed, MulOp):
        return None
    sums = [value.owner for value in weighed.operands]
    number = next((i for i, inner in enumerate(sums) if isinstance(inner, SumOp)), None)
    if number is None:
        return None
    inner, weight = sums[number], weighed.operands[1 - number]
    assert isinstance(inner, SumOp)
    if not (weighed.result.has_one_use() and inner.result.has_one_use()):
        return skip(op, "others read what is weighed, or the sums")
    sizes, axes = sizes_of(inner.source), ints(inner.axes)
    kept = [d for d in range(len(sizes)) if d not in axes]
    element = element_type_of(op.result)
    wide = f32 if is_half(element) else element
    x, weight = (v if wide == element else rw.value(CastOp(v, wide)) for v in (inner.source, weight))
    terms = rw.value(MulOp(x, rw.value(BroadcastOp(weight, sizes, kept))))
    total = rw.value(SumOp(terms, [*axes, *(kept[axis] for axis in ints(op.axes))]))
    return total if wide == element else rw.value(CastOp(total, element))
