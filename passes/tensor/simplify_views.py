"""The `simplify-views` pass."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilewright.dialects.tw.view import ReshapeOp

from ..driver import Rule, Rules, apply_rules
from .fold_views import VIEW_RULES
from .reshape_motion import reshape_above_elementwise
from .reshaped_broadcasts import reshape_of_broadcast


@dataclass(frozen=True)
class SimplifyViewsPass(ModulePass):
    """Make chains of views one view, and reshapes that cancel across elementwise ops none.

    Before:
        %r = tw.reshape %x : tensor<2x4x8xf32> -> tensor<8x8xf32>
        %e = tw.exp %r : tensor<8x8xf32>
        %s = tw.reshape %e : tensor<8x8xf32> -> tensor<2x4x8xf32>
    After:
        %s = tw.exp %x : tensor<2x4x8xf32>

    A reshape moves above elementwise ops only where that removes a reshape and leaves no
    more than before: every operand is a reshape of the result's shape, or equal everywhere,
    or a broadcast that can be written in the new shape, and the ops have no other users.
    """

    name = "simplify-views"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, RULES, self.name)


_RESHAPE_RULES: tuple[Rule, ...] = (*VIEW_RULES[ReshapeOp], reshape_of_broadcast, reshape_above_elementwise)
RULES: Rules = {**VIEW_RULES, ReshapeOp: _RESHAPE_RULES}
