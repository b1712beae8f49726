"""The `canonicalize` pass."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilewright.dialects.tw.creation import ConstantOp, IotaOp

from ..driver import Rules, apply_rules
from .fold_constants import fold_constants, no_elements, one_position, splat_constant
from .fold_elementwise import ELEMENTWISE_RULES
from .fold_reductions import REDUCTION_RULES
from .fold_views import VIEW_RULES


@dataclass(frozen=True)
class CanonicalizePass(ModulePass):
    """Fold constants and identities until nothing changes.

    Before:
        %one = tw.full 1.0 : f32 -> tensor<8xf32>
        %a = tw.mul %x, %one : tensor<8xf32>
        %b = tw.neg %a : tensor<8xf32>
        %c = tw.neg %b : tensor<8xf32>
        %d = tw.reshape %c : tensor<8xf32> -> tensor<2x4xf32>
        %e = tw.reshape %d : tensor<2x4xf32> -> tensor<4x2xf32>
    After:
        %e = tw.reshape %x : tensor<8xf32> -> tensor<4x2xf32>

    Every rule holds for all inputs: `x * 0` stays (NaN), `x + 0.0` stays (-0.0), a cast
    down and up again stays (it rounds). Ops on constants are computed by the reference
    semantics. What has no elements is a constant: it can neither fail nor cost anything. Dead ops go.
    """

    name = "canonicalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, RULES, self.name, fallback=(no_elements, fold_constants))


_LITERAL_RULES: Rules = {ConstantOp: (splat_constant,), IotaOp: (one_position,)}
RULES: Rules = {**ELEMENTWISE_RULES, **VIEW_RULES, **REDUCTION_RULES, **_LITERAL_RULES}
