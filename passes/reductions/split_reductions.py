"""Pass `split-reductions`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.contraction import find_contraction
from tilewright.dialects.tk.domain import Reduction
from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.facts import Body
from ..kernels.one_axis import join_adjacent
from ..rewrite import may_rewrite, skip
from .cut_levels import cut
from .parts_of_sums import Split, first_reductions, split_of
from .split_kernels import put_in_place, split


@dataclass(frozen=True)
class SplitReductionsPass(ModulePass):
    """Reduce long rows in two kernels, where there are too few rows to keep a GPU busy.

    Before:
        %r = tk.kernel [1048576] ins(%x : tensor<1048576xf32>) -> (tensor<f32>) {
          %0 = tk.load %a[d0] : tensor<1048576xf32> -> f32
          %1 = tk.reduce add %0 over [0] : f32
          tk.store %1, %o[] : f32, tensor<f32>
        }
    After:
        %p = tk.kernel [256, 4096] ins(%x : tensor<1048576xf32>) -> (tensor<256xf32>) {
          %0 = tk.load %a[d0*4096 + d1] : tensor<1048576xf32> -> f32
          %1 = tk.reduce add %0 over [1] : f32
          tk.store %1, %o[d0] : f32, tensor<256xf32>
        }
        %r = tk.kernel [256] ins(%p : tensor<256xf32>) -> (tensor<f32>) {
          %0 = tk.load %a[d0] : tensor<256xf32> -> f32
          %1 = tk.reduce add %0 over [0] : f32
          tk.store %1, %o[] : f32, tensor<f32>
        }

    What meets a result of a long reduction again (a variance, a normalisation) is cut off as a kernel of
    its own first; what is stored of the result alone stays with it. What else is stored along the reduced
    axes, the first kernel stores. The sum of a matrix product is split likewise ("split-k"). All in a fixed
    order, so that results repeat; parts of unequal length are masked. Reduced axes that are adjacent
    dimensions everywhere become one before, so that parts are of contiguous elements.
    """

    name = "split-reductions"

    programs: int = 256

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for kernel in [k for k in function.body.block.ops if isinstance(k, KernelOp)]:
                _split(kernel, self.programs)


def _split(kernel: KernelOp, programs: int) -> None:
    if not any(isinstance(op, Reduction) for op in kernel.body.block.ops):
        return
    body = Body.of(kernel.body.block)
    if isinstance(early := first_reductions(kernel, body, programs), tuple):
        if may_rewrite(kernel, "it was cut behind its first reductions"):
            first, second, results = cut(kernel, body, early)
            for part in put_in_place(kernel, first, second, results):
                _split(part, programs)
        return
    plan = early if isinstance(early, str) else split_of(kernel, body, programs)
    if isinstance(plan, str):
        return skip(kernel, f"not split: {plan}")
    if may_rewrite(kernel, "its reductions were split"):
        if _joins_adjacent(kernel, plan):
            body = Body.of(kernel.body.block)
            plan = split_of(kernel, body, programs)
            assert not isinstance(plan, str), "it has as many rows, and as many elements of each"
        split(kernel, body, plan)


def _joins_adjacent(kernel: KernelOp, plan: Split) -> bool:
    """Make reduced axes one that are adjacent; tiles of products walk each as it is."""
    if not plan.others or find_contraction(kernel.body.block) is not None:
        return False
    return join_adjacent(kernel, (plan.axis, *plan.others))
