"""Upstream MLIR as the judge of our IR."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilewright.dialects.upstream import verify_upstream


@dataclass(frozen=True)
class VerifyUpstreamPass(ModulePass):
    """Have upstream MLIR parse and verify the module, dominance included; changes nothing.

    Before:
        %0 = tw.exp %x : tensor<4xf32>
    After:
        %0 = tw.exp %x : tensor<4xf32>

    Needs the `upstream` extra. Raises RejectedUpstream with upstream's own message.
    """

    name = "verify-upstream"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_upstream(op)
