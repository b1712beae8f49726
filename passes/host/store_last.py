"""store-last: what an argument is changed to is stored by the loops that read its old value last."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilewright.dialects.ir_access import defined_functions, ops_of
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.domain import REDUCTIONS
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.aten import WriteOp

from ..kernels.body import loads_of, store_to
from ..memory.views import behind
from ..rewrite import may_rewrite, skip
from .stored_last import Loops


@dataclass(frozen=True)
class StoreLastPass(ModulePass):
    """Let a kernel that changes an argument, and reads it behind a reduction, store it after that.

    Before (`r += x; y = softmax(r)`, say):
        %h, %y = tk.kernel [8, 64] ins(%r, %x) {
          %2 = arith.addf %0, %1 : f32             // of what is loaded
          tk.store %2, %p[d0, d1] : f32, tensor<8x64xf32>
          %3 = tk.reduce max %2 over [1] : f32
          ...                                      // %2 is read again, behind the maximum and the sum %5
          tk.store %6, %q[d0, d1] : f32, tensor<8x64xf32>
        }
        tw.write %h into %r : tensor<8x64xf32>
    After:
          tk.store %6, %q[d0, d1] : f32, tensor<8x64xf32>
          tk.store %2, %p[d0, d1] after (%5) : f32, tensor<8x64xf32>

    A store stands in the first loop that can do it. Where later ones of the same rows load the old value
    again, `bufferize` must not store to the argument itself: the kernel would store elsewhere, and a second
    one copy that. Left alone is what is read at indices, and what does not vary along what is reduced.
    """

    name = "store-last"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            reduces = cache(_reduces)  # of many arguments, which one kernel changes
            for write in [step for step in ops_of(function.body.block) if isinstance(step, WriteOp)]:
                kernel = behind(write.value)[0].owner
                if isinstance(kernel, KernelOp) and reduces(kernel):
                    _wait(write, kernel)


def _reduces(kernel: KernelOp) -> bool:
    return any(type(op) in REDUCTIONS for op in ops_of(kernel.body.block))


def _wait(write: WriteOp, kernel: KernelOp) -> None:
    pairs = zip(kernel.operands, kernel.sources, strict=True)
    sources = [source for operand, source in pairs if behind(operand)[0] is write.argument]
    if not sources:
        return None
    store = store_to(kernel.destinations[kernel.results.index(behind(write.value)[0])])
    if store is None or store.scatters:
        return skip(write, "what it changes is stored to several times, or in part")
    reads = [use.operation for source in sources for use in source.uses]
    loads = [load for source in sources for load in loads_of(source) if not load.dynamic]
    if len(loads) != len(reads):
        return skip(write, "what it changes is read at indices")
    return store_after(kernel, store, loads)


def store_after(kernel: KernelOp, store: StoreOp, loads: list[LoadOp]) -> None:
    """Let `store` wait for the reductions of `kernel` behind which `loads` are read, if it can."""
    body = kernel.body.block
    awaited = Loops(tuple(ops_of(body)), kernel.space, once=True).awaited(store, loads)
    if awaited is None:
        skip(store, "no loop stores each element once, behind all that is reduced")
    elif awaited and may_rewrite(store, "made to wait for what is reduced"):
        waits = StoreOp.make(store.value, store.buffer, store.subscripts, over=store.over, after=awaited)
        waits.location = store.location
        body.add_op(waits)
        body.erase_op(store)
