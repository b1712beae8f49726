"""The `chain-products` pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.contraction import find_contraction
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.linalg import MatmulOp

from ..fusion.join import Frame, join
from ..fusion.merge import put_behind, users_to_sink
from ..kernels.body import combined_axes, remember_axes, simplify_body, split_axis
from ..kernels.chains import find_chain
from ..rewrite import may_rewrite, skip, take_results
from ..schedule.tiles.chain_blocks import DEEPEST
from .chain_calls import chain_calls
from .chain_form import put_in_chain_form


@dataclass(frozen=True)
class ChainProductsPass(ModulePass):
    """Make one kernel of a product, a softmax of it, and the product that reads this.

    Before:
        %s = tk.kernel [8, 9, 4] ins(%q, %k) -> (tensor<8x9xf32>) {... %4 = tk.reduce add %3 over [2] ...}
        %w = tk.kernel [8, 9] ins(%s) -> (tensor<8x9xbf16>) {
          %1 = tk.reduce max %0 over [1] : f32
          %3 = math.exp %2 : f32                // of %0 - %1
          %4 = tk.reduce add %3 over [1] : f32
          %5 = arith.divf %3, %4 : f32 ...
        %o = tk.kernel [8, 4, 9] ins(%w, %v) -> (tensor<8x4xbf16>) {... %6 = tk.reduce add %5 over [2] ...}
    After:
        %o = tk.kernel [8, 4, 9, 4] ins(%q, %k, %v) -> (tensor<8x4xbf16>) {
          %4 = tk.reduce add %3 over [3] : f32                     // a score
          %6 = tk.reduce max %4 over [2] : f32
          %9 = math.exp %8 : f32                                   // of %4 - %6, or 0 where all are hidden
          %10 = tk.reduce add %9 over [2] : f32
          %13 = tk.reduce add %12 over [2] {tk.factors = bf16} : f32   // of %9 times a value
          %14 = arith.divf %13, %10 : f32 ...

    Scores are never written: `schedule-gpu` gives each program some rows, and it goes along the columns
    (`passes/kernels/chains.py`). Nobody else may read what vanishes, and the result must be such a chain,
    of which a program can hold what it has to: else all stays as it was. With `calls` the products are also
    such as stand for calls of a library, `tw.matmul`.
    """

    name = "chain-products"

    calls: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for inner in list(function.body.block.ops):
                if isinstance(inner, KernelOp):
                    _chain(inner)
                elif self.calls and isinstance(inner, MatmulOp):
                    chain_calls(inner, _chain)


def _chain(last: KernelOp, why_not: Callable[[KernelOp], str | None] = lambda _: None) -> bool:
    """Whether `last` is part of a chain now."""
    links = _links(last)
    if links is None:
        return False
    weights, scores = links
    if any(use.operation is not weights for use in scores.results[0].uses):
        return _declined(last, "its scores have other readers")
    read = [r for r in weights.results if any(use.operation is last for use in r.uses)]
    if len(read) != 1 or any(use.operation is not last for use in read[0].uses):
        return _declined(last, "its weights have other readers")
    sunk = users_to_sink(weights, last)
    if isinstance(sunk, str):
        return _declined(last, sunk)
    kept = (*(r for r in weights.results if r is not read[0]), *last.results)
    restore = remember_axes(last)
    made = _joined((scores, weights, last), read[0], kept)
    if isinstance(made, str):
        restore()
        return _declined(last, made)
    simplify_body(made)  # equal values are one, by which the form is known
    why = put_in_chain_form(made)
    simplify_body(made)
    why = why or _drawback(made) or why_not(made)
    if why is not None or not may_rewrite(last, "chained"):
        made.erase()
        restore()
        return why is not None and _declined(last, why)
    Rewriter.insert_op(made, InsertPoint.before(last))
    take_results(made, kept)
    for op in (last, weights, scores):
        Rewriter.erase_op(op)
    put_behind(sunk, made)
    return True


def _joined(
    kernels: tuple[KernelOp, KernelOp, KernelOp], read: OpResult, kept: Sequence[OpResult]
) -> KernelOp | str:
    """Scores, weights and the last product as one, or why they cannot be.

    Only if it must be, an axis of the last is split that the others see divided: heads in a batch.
    """
    scores, weights, last = kernels
    while True:
        frame = Frame(last)
        why = frame.place_producer(read, last) or frame.place_producer(scores.results[0], weights)
        if why is not None:
            return why
        made = join(kernels, kept, frame)
        if not isinstance(made, str) or not any(split_axis(last, *divided) for divided in frame.divided()):
            return made


def _declined(last: KernelOp, why: str) -> bool:
    skip(last, f"not chained: {why}")
    return False


def _links(last: KernelOp) -> tuple[KernelOp, KernelOp] | None:
    """The kernels of weights and scores that a product reads, if it reads such."""
    if find_contraction(last.body.block) is None:
        return None
    for weights in (v.owner for v in last.operands):
        if not isinstance(weights, KernelOp) or not any(map(combined_axes, weights.body.block.ops)):
            continue
        for scores in (v.owner for v in weights.operands):
            if (
                isinstance(scores, KernelOp)
                and len(scores.results) == 1
                and find_contraction(scores.body.block)
            ):
                return weights, scores
    return None


def _drawback(made: KernelOp) -> str | None:
    chain = find_chain(made.body.block)
    if chain is None:
        return "together they are no chain that tiles can walk"
    sizes = [made.space[axis].constant for axis in chain.held]
    if any(size is None or not 2 <= size <= DEEPEST for size in sizes):
        return f"a program cannot hold axes that are symbolic, of one element, or of more than {DEEPEST}"
    return None
