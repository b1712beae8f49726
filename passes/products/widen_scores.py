"""widen-scores: what exponentials of kept sums are made of is not rounded in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.arith import ROUNDED
from tilewright.dialects.tk.contraction import FACTORS
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.view import BroadcastOp, ReshapeOp, TransposeOp
from tilewright.dialects.types import element_type_of, is_half, sizes_of, tensor_type

from ..kernels.body import loads_of, store_to
from ..rewrite import may_rewrite, skip


@dataclass(frozen=True)
class WidenScoresPass(ModulePass):
    """Store a product as f32 where exponentials of it are divided by sums that are given.

    Before (%m and %l: the maximum and the sum of each row, arguments of the function):
        %s = tk.kernel [8, 9, 4] ins(%q, %k) -> (tensor<8x9xbf16>) {
          %4 = tk.reduce add %3 over [2] ... %5 = arith.truncf %4 : f32 to bf16; tk.store %5, %o[d0, d1] ...}
        %p = tk.kernel [8, 9] ins(%s, %m, %l) -> (tensor<8x9xbf16>) {
          %1 = tk.load %a[d0, d1] : tensor<8x9xbf16> -> bf16; %2 = arith.extf %1 : bf16 to f32 ...
          %4 = arith.subf %2, %3; %5 = math.exp %4; %7 = arith.divf %5, %6 ...}
    After:
        %s = tk.kernel [8, 9, 4] ins(%q, %k) -> (tensor<8x9xf32>) {... tk.store %4, %o[d0, d1] ...}
        %p = tk.kernel [8, 9] ins(%s, %m, %l) -> (tensor<8x9xbf16>) {
          %2 = tk.load %a[d0, d1] : tensor<8x9xf32> -> f32 ...}

    The forward pass took %m and %l of what it neither wrote nor rounded (`chain-products`). In bf16 a score
    of 16 is off by up to 1/32, and its exponential by as much of itself: rows of such weights do not add up
    to one, nor what a softmax leaves of a gradient to zero. Errors of whoever adds it up (the gradient of a
    factor of all scores) are then two to four times those of weights whose sum was taken of themselves.
    So such scores cost two bytes more where they are written, and where they are read. Runs behind
    `recompute-products`, which leaves nothing in memory where it can. Left alone: what anything but a kernel
    reads, and what the program itself rounds, which the forward pass does, too.
    """

    name = "widen-scores"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for inner in function.body.block.ops:
                if isinstance(inner, KernelOp) and any(
                    FACTORS in made.attributes for made in inner.body.block.ops
                ):
                    for value in list(inner.results):
                        _widen(inner, value)


def _widen(kernel: KernelOp, value: OpResult) -> None:
    if not is_half(element_type_of(value)):
        return None
    readers = {use.operation: use.index for use in value.uses}
    kernels = [(op, op.sources[i]) for op, i in readers.items() if isinstance(op, KernelOp)]
    if not any(_makes_weights(*reader) for reader in kernels):
        return None
    store = store_to(kernel.destinations[value.index])
    loads = [load for _, source in kernels for load in loads_of(source)]
    if len(kernels) < value.uses.get_length():
        return skip(kernel, "its scores stay rounded: not only kernels read them", value)
    if store is None or any(load.mask is not None for load in loads):
        return skip(kernel, "its scores stay rounded: not all of them are stored, or read", value)
    if not _is_free(store.value.owner, arith.TruncFOp) or not all(
        _is_free(use.operation, arith.ExtFOp) for load in loads for use in load.result.uses
    ):
        return skip(kernel, "its scores stay rounded: the program asks for that", value)
    if may_rewrite(kernel, "its scores are stored as f32"):
        _store_wide(value, store, loads)
    return None


def _makes_weights(kernel: KernelOp, source: SSAValue) -> bool:
    """Whether `kernel` takes exponentials of what it reads of `source` minus something that is given."""
    given = {s for s, value in zip(kernel.sources, kernel.operands, strict=True) if _is_given(value)}
    of_source, of_given = set[SSAValue](), set[SSAValue]()
    for op in kernel.body.block.ops:
        if isinstance(op, math.ExpOp | math.Exp2Op) and isinstance(less := op.operand.owner, arith.SubfOp):
            if less.lhs in of_source and less.rhs in of_given and less.rhs not in of_source:
                return True
        for found, buffers in ((of_source, {source}), (of_given, given)):
            if op.operands[0] in buffers if isinstance(op, LoadOp) else any(v in found for v in op.operands):
                found.update(op.results)
    return False


def _is_given(value: SSAValue) -> bool:
    """Whether it is an argument of the function, of f32: seen in whatever shape."""
    while isinstance(value.owner, BroadcastOp | ReshapeOp | TransposeOp):
        value = value.owner.source
    return isinstance(value, BlockArgument) and element_type_of(value) == f32


def _is_free(op: Operation | Block, kind: type[Operation]) -> bool:
    """Whether it is a conversion that the program does not ask for."""
    return isinstance(op, kind) and ROUNDED not in op.attributes


def _store_wide(value: OpResult, store: StoreOp, loads: Sequence[LoadOp]) -> None:
    """Let the result be of f32, and everybody read it as that."""
    rounded = store.value.owner
    assert isinstance(rounded, arith.TruncFOp)
    store.operands[0] = rounded.input
    wide = tensor_type(f32, sizes_of(value))
    for tensor in dict.fromkeys((value, store.buffer, *(load.buffer for load in loads))):
        Rewriter.replace_value_with_new_type(tensor, wide)
    for load in loads:
        number = Rewriter.replace_value_with_new_type(load.result, f32)
        for op in [use.operation for use in number.uses]:
            op.results[0].replace_all_uses_with(number)
            Rewriter.erase_op(op)
    if rounded.result.first_use is None:
        Rewriter.erase_op(rounded)
