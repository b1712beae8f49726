"""Pass `reduce-online`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tilewright.dialects.ir_access import ops_within
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.kernels import FuncOp, KernelOp
from tilewright.dialects.tk.sumexp import SumExpOp

from ..kernels.chains import find_chain
from ..kernels.facts import Body
from ..kernels.scalar_builder import InsertingBuilder
from ..kernels.sums_below import SumBelow, maximum_of, sum_below
from ..rewrite import may_rewrite, skip
from ..schedule.tiles.row_blocks import rows_stay
from .parts_of_sums import first_reductions


@dataclass(frozen=True)
class ReduceOnlinePass(ModulePass):
    """Find the maximum of a row and the sum of exponentials below it in one pass over the row, not in two.

    Before:
        %1 = tk.reduce max %0 over [1] : f32
        %2 = arith.subf %0, %1 : f32
        %3 = math.exp %2 : f32
        %4 = tk.reduce add %3 over [1] : f32
    After:
        %m, %s = tk.sumexp %0, %one over [1] : f32
        %2 = arith.subf %0, %m : f32
        %3 = math.exp %2 : f32
        %5 = arith.subf %m, %m : f32
        %6 = math.exp %5 : f32
        %4 = arith.mulf %s, %6 : f32

    Online softmax: softmax, its logarithm, log-sum-exp and cross entropy read long rows once less. What is
    subtracted may be the maximum, or 0 in its place where that is infinite; the factor of the
    sum is 1 but where it is infinite. Done only where a row would be read again: where a reduction of a
    `tk.kernel` is going to be split among `programs`, and where a program of a `tk.func` has no room for
    its rows. A program that holds its rows takes fewer exponentials in two passes over registers.
    `lanes` is how many threads a warp has.
    """

    name = "reduce-online"

    programs: int = 256
    lanes: int = 32

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in [k for k in ops_within(op) if isinstance(k, KernelOp | FuncOp)]:
            if found := _sums(kernel):
                if find_chain(kernel.body.block) is not None:
                    skip(kernel, "its rows are those of a chain of products")
                elif self._reads_once(kernel):
                    skip(kernel, "what it reduces stays with one program")
                else:
                    for maximum, sums in found.items():
                        _join(maximum, sums)

    def _reads_once(self, kernel: KernelOp | FuncOp) -> bool:
        if isinstance(kernel, FuncOp):
            return rows_stay(kernel, self.lanes)
        return not isinstance(first_reductions(kernel, Body.of(kernel.body.block), self.programs), tuple)


def _sums(kernel: KernelOp | FuncOp) -> dict[ReduceOp, list[SumBelow]]:
    """The sums of exponentials below each maximum."""
    found: dict[ReduceOp, list[SumBelow]] = {}
    for op in kernel.body.block.ops:
        if (sums := sum_below(op)) is None or (maximum := maximum_of(sums.shift)) is None:
            continue
        if maximum.value is sums.value and set(maximum.over) == set(sums.total.over):
            found.setdefault(maximum, []).append(sums)
    return found


def _join(old: ReduceOp, sums: Sequence[SumBelow]) -> None:
    """One op in the place of a maximum and of all sums below it."""
    if not may_rewrite(old, "what is summed below it is summed while it is found"):
        return
    before = InsertingBuilder(old)
    one = before.constant(1.0, old.value.type)
    maximum, total = before.add(SumExpOp.make((old.value, one), old.over)).results
    old.result.replace_all_uses_with(maximum)
    for found in sums:
        after = InsertingBuilder(found.total)
        shift = maximum if found.shift is old.result else found.shift
        factor = after.op(math.ExpOp, after.op(arith.SubfOp, maximum, shift))
        found.total.result.replace_all_uses_with(after.op(arith.MulfOp, total, factor))
    for op in (*(found.total for found in sums), old):
        Rewriter.erase_op(op)
