"""reduce-at-source: all of what a kernel makes is reduced by that kernel, whatever else reads it."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.kernels import KernelOp

from ..fusion.contents import Bodies
from ..fusion.merge_matched import merge_matched
from ..fusion.sizes import KernelSizes
from ..kernels.body import simplify_body
from ..rewrite import may_rewrite, skip


@dataclass(frozen=True)
class ReduceAtSourcePass(ModulePass):
    """Let the kernels that make what is reduced as a whole do that, too, once no other kernel will join them.

    Before (a product and two sums read what the first one makes):
        %a, %b = tk.kernel [512, 256] ins(%x, %y) -> (tensor<512x256xbf16>, tensor<512x256xbf16>) {...}
        %s = tk.kernel [512, 256] ins(%a) -> (tensor<f32>) {... tk.reduce add %0 over [0, 1] ...}
        %t = tk.kernel [512, 256] ins(%b) -> (tensor<f32>) {... tk.reduce add %0 over [0, 1] ...}
        %p = tk.kernel [512, 64, 256] ins(%a, %w) -> (tensor<512x64xbf16>) {...}
    After:
        %a, %s, %t = tk.kernel [512, 256] ins(%x, %y) -> (tensor<512x256xbf16>, tensor<f32>, tensor<f32>) {
          ... tk.store %v, %a[d0, d1] ... tk.reduce add %v over [0, 1] ... tk.reduce add %w over [0, 1] ...}
        %p = tk.kernel [512, 64, 256] ins(%a, %w) -> (tensor<512x64xbf16>) {...}

    `fuse` lets them while nothing else could join yet. It takes 131072 elements, of which `split-reductions`
    makes parts: fewer would be made by one program. Run `drop-checks` before: a part can not fail.
    """

    name = "reduce-at-source"

    max_ops: int = 512
    max_inputs: int = 32

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            sizes = KernelSizes(self.max_ops, Bodies(scans_join=True, parts=True, settled=True))
            for kernel in [k for k in function.body.block.ops if isinstance(k, KernelOp)]:
                _join(kernel, sizes, self.max_inputs)


def _join(kernel: KernelOp, sizes: KernelSizes, max_inputs: int) -> None:
    """Let kernels that make what `kernel` reduces do that, one by one."""
    refused = set[SSAValue]()
    while (value := _next_of(kernel, sizes.bodies, refused)) is not None:
        producer = value.op
        assert isinstance(producer, KernelOp)
        merged: KernelOp | str = "one kernel would be too large"
        if len({*producer.operands, *kernel.operands}) <= max_inputs and not sizes.exceeded_by(
            producer, kernel
        ):
            if not may_rewrite(kernel, "reduced where its terms are made"):
                return
            merged = merge_matched(producer, kernel, sizes.bodies)
        if isinstance(merged, str):
            skip(kernel, f"not reduced where its terms are made: {merged}", value)
            refused.add(value)
            continue
        simplify_body(merged)
        sizes.bodies.changed(merged)
        kernel = merged


def _next_of(kernel: KernelOp, bodies: Bodies, refused: set[SSAValue]) -> OpResult | None:
    """What another kernel makes, if all that this one does is to reduce all of it."""
    contents = bodies.of(kernel)
    if not contents.folds or not contents.uniform or len(contents.reduced) < len(kernel.space):
        return None
    for value in kernel.operands:
        if isinstance(value, OpResult) and isinstance(value.op, KernelOp) and value not in refused:
            return value
    return None
