"""bufferize: tensors become buffers, kernels become functions that the host plan launches."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from tilewright.dialects.ir_access import defined_functions

from ..rewrite import may_rewrite
from .bufferize_function import Bufferizer
from .outline import Names


@dataclass(frozen=True)
class BufferizePass(ModulePass):
    """Give every tensor of `@main` a place in memory and turn what computes it into a plan.

    Before:
        func.func @main(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
          %t = tw.transpose %x by [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
          %r = tk.kernel [3, 2] ins(%t : tensor<3x2xf32>) -> (tensor<3x2xf32>) {
          ^bb0(%a: tensor<3x2xf32>, %o: tensor<3x2xf32>):
            %0 = tk.load %a[d0, d1] : tensor<3x2xf32> -> f32
            %1 = math.exp %0 : f32
            tk.store %1, %o[d0, d1] : f32, tensor<3x2xf32>
          }
          func.return %r : tensor<3x2xf32>
        }
    After:
        func.func @main(%x: memref<6xf32> {th.sizes = "2, 3", th.strides = "3, 1"}) -> memref<6xf32> {
          %r = th.empty sizes "3, 2" strides "2, 1" : memref<6xf32>
          th.launch @exp(%x) into(%r) : (memref<6xf32>) into(memref<6xf32>)
          func.return %r : memref<6xf32>
        }
        tk.func @exp [3, 2] (%a: memref<6xf32>, %o: memref<6xf32>) {
          %0 = tk.load %a[d1*3 + d0] : memref<6xf32> -> f32
          %1 = math.exp %0 : f32
          tk.store %1, %o[d0*2 + d1] : f32, memref<6xf32>
        }

    Views are arithmetic on subscripts; a reshape that no strides can express is copied.
    Results are computed straight into the tensors to return, operands of `tw.concat` into
    their slice, and `tw.write` into its argument where nothing reads the old value later.
    Other ops become ATen calls (`library_calls.py`). Raises NotBufferizable for the rest.
    `once` is for targets that load what a row has in common once, before the loop along the row.
    """

    name = "bufferize"

    once: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not may_rewrite(op, "every function was bufferized"):
            return
        symbols = (inner.properties.get("sym_name") for inner in op.ops)
        names = Names({symbol.data: 1 for symbol in symbols if isinstance(symbol, StringAttr)})
        for function in list(defined_functions(op)):
            kernels = Bufferizer(function, names, once=self.once).run()
            op.body.block.add_ops(kernels)
