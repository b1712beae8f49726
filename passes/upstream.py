"""Any of upstream MLIR's C++ passes, from our pipelines."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilewright.dialects.upstream import run_upstream


@dataclass(frozen=True)
class UpstreamPass(ModulePass):
    """Run upstream MLIR's `pipeline` on the module: `upstream{pipeline="cse,func.func(canonicalize)"}`.

    Before:
        %0 = tw.exp %x : tensor<4xf32>
        %1 = tw.exp %x : tensor<4xf32>
        %2 = tw.add %0, %1 : tensor<4xf32>
    After (`upstream{pipeline="cse"}`):
        %0 = tw.exp %x : tensor<4xf32>
        %1 = tw.add %0, %0 : tensor<4xf32>

    Needs the `upstream` extra. The module crosses the border as text, so this is a tool
    for experiments and checks, not part of a target's pipeline.
    """

    name = "upstream"

    pipeline: str

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        run_upstream(ctx, op, self.pipeline)
