"""A pass with a bug, for the tests of what finds it: every difference of one file is turned round."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern

import tilewright
from tilewright.dialects.tw.elementwise_binary import SubOp
from tilewright.passes.rewrite import replace


@tilewright.register_pass
@dataclass(frozen=True)
class SwapSubPass(ModulePass):
    """Mark every difference; swaps the operands of those that come from bad.py."""

    name = "swap-sub"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(_Mark()).rewrite_module(op)


class _Mark(RewritePattern):
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, SubOp) or "marked" in op.attributes:
            return
        bad = "bad.py" in str(op.location)
        new = SubOp(op.rhs, op.lhs) if bad else SubOp(op.lhs, op.rhs)
        new.attributes["marked"] = UnitAttr()
        replace(rewriter, op, [new])
