"""The pass that finds squared ReLUs."""

from __future__ import annotations

from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import SSAValue

from tilewright import register_pass
from tilewright.dialects.tw.creation import FullOp
from tilewright.dialects.tw.elementwise_binary import MaximumOp, MulOp
from tilewright.dialects.types import element_type_of, is_float
from tilewright.passes.driver import Rewrite
from tilewright.passes.rewrite import skip

from .dialect import SquaredReluOp


@register_pass("fuse-squared-relu", on=MulOp)
def fuse_squared_relu(op: MulOp, rewrite: Rewrite) -> SSAValue | None:
    """Make one op of a ReLU that is multiplied by itself.

    Before:
        %zero = tw.full 0.0 : f32 -> tensor<8xf32>
        %relu = tw.maximum %x, %zero : tensor<8xf32>
        %r = tw.mul %relu, %relu : tensor<8xf32>
    After:
        %r = sq.squared_relu %x scale 1.0 : f64 : tensor<8xf32>

    The ReLU must have no other use: it would have to be computed all the same.
    """
    relu = op.lhs.owner
    if op.lhs is not op.rhs or not isinstance(relu, MaximumOp):
        return None
    if not is_float(element_type_of(op.result)):
        return skip(op, "its elements are no floats")
    x = _rectified(relu)
    if x is None:
        return skip(op, "its operand is no maximum with 0")
    if any(use.operation is not op for use in relu.result.uses):
        return skip(op, "the ReLU has other users")
    return rewrite.value(SquaredReluOp(x))


def _rectified(relu: MaximumOp) -> SSAValue | None:
    """The `x` of `max(x, 0)`. -0.0 does as well as 0.0: both square to 0.0."""
    for x, other in ((relu.lhs, relu.rhs), (relu.rhs, relu.lhs)):
        full = other.owner
        if isinstance(full, FullOp) and isinstance(full.value, FloatAttr) and full.value.value.data == 0.0:
            return x
    return None
