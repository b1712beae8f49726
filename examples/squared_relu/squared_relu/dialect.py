"""The dialect `sq`: one op, what it demands of its operand, and what it computes."""

from __future__ import annotations

from math import isfinite

from xdsl.dialects.builtin import FloatAttr, f64
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from tilewright.dialects.semantics import Args, Machine, Results, semantics
from tilewright.dialects.tw.base import PURE, SAME, Elementwise, TwOp, expect_kind, fail
from tilewright.dialects.types import element_type_of


@irdl_op_definition
class SquaredReluOp(TwOp):
    """`scale * max(x, 0)**2` of a float tensor; NaN gives NaN.

    ```mlir
    %r = sq.squared_relu %x scale 1.0 : f64 : tensor<8x128xf32>
    ```
    """

    name = "sq.squared_relu"

    operand = operand_def(SAME)
    scale = prop_def(FloatAttr)
    result = result_def(SAME)

    traits = traits_def(PURE, Elementwise())
    assembly_format = "$operand `scale` $scale attr-dict `:` type($result)"

    def __init__(self, operand: SSAValue, scale: float = 1.0) -> None:
        self._build((operand,), (operand.type,), {"scale": FloatAttr(scale, f64)})

    def check(self) -> None:
        expect_kind(self, self.operand, "float")
        if self.scale.type != f64 or not isfinite(self.scale.value.data):
            raise fail(self, f"scale is {self.scale}, expected a finite f64")


@semantics(SquaredReluOp)
def run_squared_relu(op: SquaredReluOp, args: Args, machine: Machine) -> Results:
    """Half types compute in f32 and round once, as every elementwise op."""
    arrays, element = machine.arrays, element_type_of(op.result)
    x = arrays.cast(args[0], arrays.compute_dtype(element))
    with machine.quiet():
        kept = machine.xp.maximum(x, machine.xp.zeros_like(x))
        return (arrays.store(kept * kept * op.scale.value.data, element),)


SQ = Dialect("sq", [SquaredReluOp], [])
