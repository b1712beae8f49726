"""A pass from outside the repository, as CONTRIBUTING.md shows it."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern

import tilewright
from tilewright.dialects.tw.elementwise import NegOp


@tilewright.register_pass
@dataclass(frozen=True)
class FoldDoubleNegPass(ModulePass):
    """Drop a negation of a negation.

    Before:
        %0 = tw.neg %x : tensor<4xf32>
        %1 = tw.neg %0 : tensor<4xf32>
    After:
        uses of %1 become uses of %x
    """

    name = "fold-double-neg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(_FoldDoubleNeg()).rewrite_module(op)


class _FoldDoubleNeg(RewritePattern):
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, NegOp) or not isinstance(inner := op.operand.owner, NegOp):
            return
        rewriter.replace(op, [], [inner.operand])
