"""call-scaled-products: what is added to a product of bf16, and what scales both, is the library's."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FloatAttr, IntAttr, ModuleOp, bf16, f32, f64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.tw.aten import ArgAttr, AtenOp
from tilewright.dialects.tw.elementwise_binary import AddOp, CastOp, MulOp
from tilewright.dialects.tw.linalg import MatmulOp
from tilewright.dialects.tw.view import BroadcastOp
from tilewright.dialects.types import element_type_of, sizes_of

from ..driver import Rewrite, Rules, apply_rules
from ..rewrite import skip
from .splats import splat_of


@dataclass(frozen=True)
class CallScaledProductsPass(ModulePass):
    """Call `aten::addmm` or `aten::baddbmm` for a sum with a product of bf16 that is computed in f32.

    Before:
        %l = tw.cast %x : tensor<6x4xbf16> -> tensor<6x4xf32>
        %r = tw.cast %y : tensor<4x5xbf16> -> tensor<4x5xf32>
        %m = tw.matmul %l, %r : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
        %a = tw.full 2.0 : f32 -> tensor<6x5xf32>
        %s = tw.mul %m, %a : tensor<6x5xf32>
        %c = tw.cast %z : tensor<6x5xbf16> -> tensor<6x5xf32>
        %t = tw.add %c, %s : tensor<6x5xf32>
        %q = tw.cast %t : tensor<6x5xf32> -> tensor<6x5xbf16>
    After:
        %q = tw.aten "aten::addmm"(%z, %x, %y) {args = [#tw.arg<0>, #tw.arg<1>, #tw.arg<2>, 1.0, 2.0]}

    The library adds in f32, too, and rounds once, and where the machine multiplies pairs of bf16 (`bf16-dot`)
    its product of them takes half the time of one of f32. Without that nothing changes. Left alone are
    products that others read, and factors of 0, which the library takes for "nothing to read" (NaN is lost).
    """

    name = "call-scaled-products"

    bf16_dot: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.bf16_dot:
            apply_rules(op, _RULES, self.name)


def _call(op: Operation, rw: Rewrite) -> SSAValue | None:
    assert isinstance(op, CastOp)
    total = op.operand.owner
    if element_type_of(op.result) != bf16 or not isinstance(total, AddOp):
        return None
    for scaled, added in (total.operands, total.operands[::-1]):
        product, alpha = _factor_of(scaled)
        matmul, addend = product.owner, _addend(added)
        if addend is None or not isinstance(matmul, MatmulOp) or matmul.bias is not None:
            continue
        x, y = _narrow(matmul.lhs), _narrow(matmul.rhs)
        if x is None or y is None:
            continue
        if not all(value.has_one_use() for value in (op.operand, scaled, product)):
            skip(op, "others read the product, or the sum, before it is rounded")
            continue
        if (rank := len(sizes_of(product))) > 3:
            skip(op, "the library adds to products under at most one batch dimension")
            continue
        if 0 in (alpha, addend.factor):
            skip(op, "the library does not read what it multiplies by 0, which may be NaN")
            continue
        value = addend.value
        for view in addend.views:
            value = rw.value(BroadcastOp(value, sizes_of(view.result), ints(view.dims)), like=view)
        factors = (FloatAttr(addend.factor, f64), FloatAttr(alpha, f64))
        callee = "aten::addmm" if rank == 2 else "aten::baddbmm"
        args = (*(ArgAttr(IntAttr(number)) for number in range(3)), *factors)
        return rw.value(AtenOp(callee, (value, x, y), args, (op.result.type,)), like=matmul)
    return None


@dataclass(frozen=True)
class _Addend:
    """`factor` times a tensor of bf16 that is computed in f32, repeated by `views`, the inner first."""

    value: SSAValue
    factor: float
    views: tuple[BroadcastOp, ...]


def _addend(value: SSAValue) -> _Addend | None:
    factor, views = 1.0, list[BroadcastOp]()
    while (source := _narrow(value)) is None:
        if isinstance(view := value.owner, BroadcastOp):
            views.insert(0, view)
            value = view.source
            continue
        scaled, again = _factor_of(value)
        if scaled is value or factor != 1:
            return None
        value, factor = scaled, again
    return _Addend(source, factor, tuple(views))


def _factor_of(value: SSAValue) -> tuple[SSAValue, float]:
    """What is multiplied by a literal, and the literal: by 1 where nothing is."""
    if isinstance(owner := value.owner, MulOp):
        for scaled, other in (owner.operands, owner.operands[::-1]):
            if (literal := splat_of(other)) is not None:
                return scaled, float(literal)
    return value, 1.0


def _narrow(value: SSAValue) -> SSAValue | None:
    """The tensor of bf16 that `value` is, None where it is not exactly one."""
    if isinstance(cast := value.owner, CastOp) and element_type_of(value) == f32:
        return cast.operand if element_type_of(cast.operand) == bf16 else None
    return None


_RULES: Rules = {CastOp: (_call,)}
