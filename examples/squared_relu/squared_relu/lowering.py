"""What a squared ReLU is inside a kernel: fusion, schedules and every target follow from this."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tilewright.passes.kernels.scalar_builder import ScalarBuilder

from .dialect import SquaredReluOp


def lower_squared_relu(b: ScalarBuilder, op: SquaredReluOp, args: Sequence[SSAValue]) -> SSAValue:
    """`maximumf` propagates NaN, as the op does."""
    (x,) = args
    kept = b.op(arith.MaximumfOp, x, b.constant(0.0, x.type))
    squared = b.op(arith.MulfOp, kept, kept)
    scale = op.scale.value.data
    return squared if scale == 1.0 else b.op(arith.MulfOp, squared, b.constant(scale, x.type))
