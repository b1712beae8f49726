"""The `recompute-products` pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.ir_access import defined_functions
from tilewright.dialects.tk.contraction import find_contraction
from tilewright.dialects.tk.kernels import KernelOp

from ..fusion.join import Frame, join
from ..fusion.merge import dependents, put_behind
from ..kernels.body import plain_axis, simplify_body
from ..kernels.chains import find_chain
from ..rewrite import may_rewrite, skip, take_results
from ..schedule.cost import estimate
from ..schedule.tiles.chain_blocks import DEEPEST
from .product_region import Region, find_region
from .row_sums import SumsOfRows, sum_rows_first, sums_of
from .whole_axes import join_axes, of_blocks


@dataclass(frozen=True)
class RecomputeProductsPass(ModulePass):
    """Compute products again in the products that read what is made of them, instead of writing it.

    Before (gradients of softmax(q k^T) v, with the log-sum-exp %l and the row sums %t):
        %s = tk.kernel [8, 9, 4] ins(%q, %k, %l) -> (tensor<8x9xbf16>) {... math.exp ...}
        %d = tk.kernel [8, 9, 5] ins(%g, %v, %s, %t) -> (tensor<8x9xbf16>) {... arith.mulf ...}
        %gv = tk.kernel [9, 5, 8] ins(%s, %g) -> (tensor<9x5xbf16>) {... tk.reduce add %0 over [2] ...}
        %gk = tk.kernel [9, 4, 8] ins(%d, %q) -> (tensor<9x4xbf16>) {... tk.reduce add %0 over [2] ...}
        %gq = tk.kernel [8, 4, 9] ins(%d, %k) -> (tensor<8x4xbf16>) {... tk.reduce add %0 over [2] ...}
    After:
        %gv, %gk = tk.kernel [8, 9, 4, 5, 5, 4] ins(%q, %k, %l, %g, %v, %t) -> (...) {
          ... tk.reduce add %2 over [2] ... tk.reduce add %9 over [3] ... tk.reduce add %17 over [0] ... }
        %gq = tk.kernel [8, 9, 4, 5, 4] ins(...) -> (...) {... tk.reduce add %16 over [1] ...}

    Nothing of rows and columns is written then: `schedule-gpu` gives a program of the one kernel some columns
    and it goes along the rows; one of the other has some rows (Dao, FlashAttention-2, 2023;
    `passes/kernels/chains.py`). What anybody else reads, the second one stores as it goes. All must become
    such chains, of which a program can hold what it has to, and which go no further than there are rows to
    fill a device; else all stays. What is added up over rows and columns, as the gradient of a factor of all
    scores, the second one adds up over columns, and another kernel these sums. Rows and columns that are
    walked block by block, for a table of what a mask lists, are one axis each before (`whole_axes.py`).
    """

    name = "recompute-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for kernel in [k for k in function.body.block.ops if isinstance(k, KernelOp)]:
                join_axes(kernel, of_blocks)
            order = {inner: number for number, inner in enumerate(function.body.block.ops)}
            for kernel in list(order):
                if isinstance(kernel, KernelOp) and kernel.parent is not None:
                    _try(kernel, order)


@dataclass(frozen=True)
class _Group:
    """Products that go along the same axis, what they need, and all as one kernel."""

    kernels: Sequence[KernelOp]
    kept: Sequence[OpResult]
    made: KernelOp


def _try(scores: KernelOp, order: dict[Operation, int]) -> None:
    """With sums over rows and columns of what `scores` makes as sums of rows, where that is of use."""
    sums = _sum_rows_first(scores)
    for made in sums:
        order[made.rows] = order[made.kernel]
    if (why := _recompute(scores, order)) is None:
        return
    for made in reversed(sums):
        made.undo()
    if why:
        skip(scores, f"not computed again: {why}")


def _sum_rows_first(scores: KernelOp) -> list[SumsOfRows]:
    product = find_contraction(scores.body.block)
    found = list[SumsOfRows]()
    if product is None:
        return found
    for value in scores.results:
        for reader in dict.fromkeys(use.operation for use in value.uses):
            if not isinstance(reader, KernelOp) or (sums := sums_of(reader)) is None or len(sums.over) < 2:
                continue
            frame = Frame(scores)
            if frame.place_reader(value, reader) is not None:
                continue
            columns = [v.index for v, e in frame.at[reader].items() if plain_axis(e) == max(product.columns)]
            if len(columns) == 1 and columns[0] in sums.over:
                found.append(sum_rows_first(reader, sums, columns[0]))
    return found


def _recompute(scores: KernelOp, order: dict[Operation, int]) -> str | None:
    """None if it was done; or why not, nothing if that goes without saying."""
    region = find_region(scores)
    if region is None:
        return ""
    if not region.last:
        return "no product reads all of what is made of it"
    if len(region.last) + len(region.products()) < 3:
        return "it is read by one product alone"
    groups = list[_Group]()
    why = _groups(region, order, groups)
    sunk = None if why is not None else _to_sink(groups, order)
    if isinstance(sunk, str):
        why = sunk
    if sunk is None or isinstance(sunk, str) or not may_rewrite(scores, "computed again"):
        for group in groups:
            group.made.erase()
        return why or ""
    _replace(region, groups, sunk, order)
    return None


def _groups(region: Region, order: dict[Operation, int], groups: list[_Group]) -> str | None:
    """A kernel for those that go along columns, and one for those along rows; or why there are none."""
    elsewhere = list(region.read_elsewhere)
    for along in (region.column, region.row):
        last = [kernel for kernel, axis in region.last.items() if axis == along]
        if not last:
            continue
        extra = [value.op for value in elsewhere]
        needed = region.needed_by([*last, *(k for k in extra if isinstance(k, KernelOp))])
        kernels = sorted(needed, key=order.__getitem__)
        kept = [r for k in kernels for r in k.results if k in region.last or r in elsewhere]
        made = join(kernels, kept, region.frame)
        if isinstance(made, str):
            return made
        simplify_body(made)
        groups.append(_Group(kernels, kept, made))
        if (why := _drawback(made)) is not None:
            return why
        elsewhere = []
    return None


def _drawback(made: KernelOp) -> str | None:
    chain = find_chain(made.body.block)
    if chain is None:
        return "together they are no chain that tiles can walk"
    if not chain.multiplies_halves:
        return "a library multiplies f32 as fast as it is read"
    sizes = [made.space[axis].constant for axis in chain.held]
    if any(size is None or not 2 <= size <= DEEPEST for size in sizes):
        return f"a program cannot hold axes that are symbolic, of one element, or of more than {DEEPEST}"
    others = [a for a in range(len(made.space)) if a != chain.along and a not in chain.held]
    if prod(estimate(made.space[a]) for a in others) < estimate(made.space[chain.along]):
        return "few programs would go a long way"
    return None


def _to_sink(groups: Sequence[_Group], order: dict[Operation, int]) -> list[Operation] | str:
    """What must move behind the new kernels, which stand where the last of the old ones did."""
    old = sorted({k for g in groups for k in g.kernels}, key=order.__getitem__)
    made = {r.op for g in groups for r in g.kept}
    moved = dependents(old[0], old[-1], made)
    if isinstance(moved, str):
        return moved
    sunk = [op for op in moved if op not in old]
    if any(v.owner in made or v.owner in sunk for g in groups for v in g.made.operands):
        return "another path leads from one to the other"
    return sunk


def _replace(
    region: Region, groups: Sequence[_Group], sunk: Sequence[Operation], order: dict[Operation, int]
) -> None:
    old = sorted({k for g in groups for k in g.kernels}, key=order.__getitem__)
    anchor = old[-1]
    for group in groups:
        Rewriter.insert_op(group.made, InsertPoint.before(anchor))
        take_results(group.made, group.kept)
    put_behind(sunk, anchor)
    for kernel in reversed(old):
        if kernel not in region.copied:
            Rewriter.erase_op(kernel)
