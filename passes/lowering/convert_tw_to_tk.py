"""convert-tw-to-tk: every computing tensor op becomes a kernel of its own."""

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tw.attention import AttentionOp

from ..kernels.naming import name_after
from ..rewrite import may_rewrite, take_results
from .literal_operands import is_data, keep_as_data
from .lower_attention import attention_kernel, fills_lanes
from .lower_concat import concat_becomes_kernel, lower_concat
from .lower_products import Products, lower_matmul, products_of
from .lower_scatter import SCATTERS, combines_at_once, lower_scatter, scatter_becomes_kernel
from .lowerings import Lowering, lowering_of


@dataclass(frozen=True)
class ConvertTwToTkPass(ModulePass):
    """Turn elementwise, reduction, creation, padding and gather ops into `tk.kernel`.

    Before:
        %r = tw.exp %x : tensor<8x4xf32>
    After:
        %r = tk.kernel [8, 4] ins(%x : tensor<8x4xf32>) -> (tensor<8x4xf32>) {
        ^bb0(%a: tensor<8x4xf32>, %o: tensor<8x4xf32>):
          %0 = tk.load %a[d0, d1] : tensor<8x4xf32> -> f32
          %1 = math.exp %0 : f32
          tk.store %1, %o[d0, d1] : f32, tensor<8x4xf32>
        }

    Views (reshape, transpose, ...) and library ops (matmul, ...) stay; with `products=vectors` products of
    a matrix and a vector become kernels (of f32 and f64: sums like others, which fuse), with `products=half`
    also products of bf16 and f16, and of such as were widened, with `products=all` those of f32 as well.
    Attention becomes one with either of the latter, its forward pass also with `attention=rows`, where rows
    fill the lanes of a CPU. With `concats` a concatenation becomes a kernel, too, in which each element reads
    the one piece that it lies in: `fuse` then computes the pieces there. One stays of which a sum or a
    library call writes a piece in place, unless that is little of what only kernels compute with.
    Without, every piece is written into its part of the result by what computes it. With `scatters=all`
    scatters become kernels that copy the target and then write in order, so that sums do not depend on
    threads; with `scatters=any` those do that threads of a GPU can do at once, in any order, unless results
    shall be `deterministic`: what adds, or takes extremes, in memory, and what replaces; sums of halves where
    devices add these (`halves`). Short literals
    that only functions of libraries read become `tw.constant`: data, which no launch fills.
    """

    name = "convert-tw-to-tk"

    products: Products = "none"
    concats: bool = False
    scatters: Literal["none", "any", "all"] = "none"
    attention: Literal["none", "rows"] = "none"
    deterministic: bool = False
    halves: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            block = function.body.block
            ops = list(block.ops)
            products = products_of(ops, self.products)
            for inner in ops:
                if is_data(inner):
                    keep_as_data(inner)
                    continue
                lower = self._own(inner, products.get(inner)) or lowering_of(inner)
                if lower is None or not may_rewrite(inner, "made a kernel"):
                    continue
                kernel = lower(inner)
                block.insert_op_before(kernel, inner)
                take_results(kernel, inner.results)
                name_after(kernel, inner)
                kernel.attributes.update(inner.attributes)  # such as `tw.strides`
                block.erase_op(inner)

    def _own(self, op: Operation, factors: Attribute | None) -> Lowering | None:
        """How an op becomes a kernel that not every target wants to be one."""
        if factors is not None:
            return lambda product: lower_matmul(product, factors)
        if self.concats and concat_becomes_kernel(op):
            return lower_concat
        if self._scatters(op) and scatter_becomes_kernel(op):
            return lambda scatter: lower_scatter(scatter, at_once=self.scatters == "any")
        by_rows = self.attention == "rows" and isinstance(op, AttentionOp) and fills_lanes(op)
        return attention_kernel(op) if by_rows or self.products in ("half", "all") else None

    def _scatters(self, op: Operation) -> bool:
        """Whether `op` is a scatter of a kind that becomes kernels here."""
        if self.scatters == "any":
            return not self.deterministic and isinstance(op, SCATTERS) and combines_at_once(op, self.halves)
        return self.scatters == "all"
