"""A pass that is wrong on purpose."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilewright.dialects.tw.elementwise_binary import SubOp
from tilewright.passes.registry import register_pass
from tilewright.passes.rewrite import may_rewrite


@register_pass
@dataclass(frozen=True)
class TurnDifferencesPass(ModulePass):
    """Swap the operands of every difference: wrong, on purpose."""

    name = "turn-differences"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if isinstance(inner, SubOp) and may_rewrite(inner, "turned round"):
                inner.operands = tuple(reversed(inner.operands))
