"""Pass `reduce-small`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import ONE
from tilewright.dialects.index_expr.shapes import static_product
from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.kernels import KernelOp

from ..fusion.contents import Bodies
from ..fusion.match import Match
from ..fusion.merge_matched import merge_matched
from ..fusion.sizes import KernelSizes
from ..kernels.body import simplify_body
from ..rewrite import may_rewrite, skip
from .column_sums import summed_axes


@dataclass(frozen=True)
class ReduceSmallPass(ModulePass):
    """Reduce rows to fewer, or to one number, in the kernel that reduces each, where one program holds all.

    Before:
        %m = tk.kernel [8, 128] ins(%x : ...) -> (tensor<8xf32>) {... tk.reduce max %0 over [1] ...}
        %s = tk.kernel [8] ins(%m : ...) -> (tensor<f32>) {... tk.reduce add %0 over [0] ...}
    After:
        %s = tk.kernel [8, 128] ins(%x : ...) -> (tensor<f32>) {
          ... %1 = tk.reduce max %0 over [1] : f32 ... %2 = tk.reduce add %1 over [0] : f32 ...}

    So are losses, which are means over rows. Of more than `most` elements programs reduce a row each, and a
    second kernel what these make. For targets whose programs hold rows.
    """

    name = "reduce-small"

    most: int = 8192
    max_ops: int = 512
    max_inputs: int = 32

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            sizes = KernelSizes(self.max_ops, Bodies())
            for kernel in [k for k in function.body.block.ops if isinstance(k, KernelOp)]:
                size = static_product(kernel.space)
                if size is not None and size <= self.most and summed_axes(kernel):
                    self._join(kernel, sizes)

    def _join(self, kernel: KernelOp, sizes: KernelSizes) -> None:
        """Let the first kernel that makes rows of `kernel`, and takes it, reduce them."""
        for value in list(kernel.operands):
            if not isinstance(value, OpResult) or not isinstance(producer := value.op, KernelOp):
                continue
            merged = self._merged(producer, kernel, sizes)
            if isinstance(merged, KernelOp):
                simplify_body(merged)
                return sizes.bodies.changed(merged)
            if merged:
                skip(kernel, f"not reduced where each row is: {merged}", value)

    def _merged(self, producer: KernelOp, kernel: KernelOp, sizes: KernelSizes) -> KernelOp | str:
        """Both as one; or why not, which is nothing where no more rewrites are wanted."""
        if len({*producer.operands, *kernel.operands}) > self.max_inputs:
            return "one kernel would read too many tensors"
        if sizes.exceeded_by(producer, kernel):
            return f"one kernel would have more than {self.max_ops} ops"
        if not may_rewrite(kernel, "reduced where each row is"):
            return ""
        return merge_matched(producer, kernel, sizes.bodies, self._all_of_both)

    def _all_of_both(
        self, producer: KernelOp, consumer: KernelOp, bodies: Bodies, axes: dict[int, int]
    ) -> Match | str:
        """The producer's rows have all axes that the consumer does not read: one tile holds all elements."""
        of_p, of_c = bodies.of(producer), bodies.of(consumer)
        if not of_p.reduced or of_p.contraction is not None:
            return "no row is reduced there, or by a product"
        if of_p.scans or of_p.sorts or any(op.scatters for op in of_p.stores):
            return "it scans or scatters"
        own = [a for a in range(len(producer.space)) if a not in axes]
        if any(a not in of_p.reduced and producer.space[a] != ONE for a in own):
            return "one of its axes is not read"
        axes |= {a: len(consumer.space) + i for i, a in enumerate(own)}
        space = (*consumer.space, *(producer.space[a] for a in own))
        size = static_product(space)
        if size is None or size > self.most:
            return f"one program would hold {'an unknown number of' if size is None else size} elements"
        rows = [frozenset(axes[a] for a in over) for over in of_p.over]
        if any(not over.isdisjoint(of_c.reduced) for over in rows):
            return "both reduce, over the same axes"
        return Match(axes, space, of_c.reduced.union(*rows))
