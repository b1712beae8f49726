"""Pass `split-head-dims`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.index_expr import Bounds, Expr, Var, as_expr, dim
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.attributes import axes_attr, map_attr
from tilewright.dialects.tk.domain import exprs_of, reduced_axes
from tilewright.dialects.tk.kernels import FuncOp

from ..kernels.chains import Chain, find_chain
from ..rewrite import carry_location, may_rewrite, skip
from ..schedule.blocks import power_of_two
from ..schedule.tiles.chain_blocks import DEEPEST, LEAST
from ..schedule.tiles.limits import Units

_WORTH = 0.75
"""Of the elements of one tile that parts may have at most."""
_OF_REGISTERS = 128
"""Elements of the largest tile that is cut where matrix units of 32 lanes take factors from registers: of
more, programs have few rows, which warps would hold twice, for parts of different layouts."""
_OF_FLOATS, _KEPT = 32, 128
"""Elements of a part that threads multiply one by one, holding a row and a column of it, where rows that stay
the same in each step have more than the other: else all parts of them would be kept in registers."""


@dataclass(frozen=True)
class SplitHeadDimsPass(ModulePass):
    """Cut what a program holds of each row, such as heads of 80 elements, into parts of powers of two.

    Before, of scores, where tiles would have 128 elements of axis 2:
        tk.func @attention [512, 64, 80, 512] (...) {
          %0 = tk.load %q[d0*80 + d2] : memref<40960xbf16> -> bf16
          %1 = tk.load %k[d3*80 + d2] : memref<40960xbf16> -> bf16
          ...
          %5 = tk.reduce add %4 over [2] {tk.factors = bf16} : f32
    After, with tiles of 64 and of 16:
        tk.func @attention [512, 64, 64, 512, 16] (...) {
          %0 = tk.load %q[d0*80 + d2] : memref<40960xbf16> -> bf16
          %1 = tk.load %q[d0*80 + d4 + 64] : memref<40960xbf16> -> bf16
          ...
          %8 = tk.reduce add %6 over [2] {tk.factors = bf16} : f32
          %9 = tk.reduce add %7 over [4] {tk.factors = bf16} : f32
          %10 = arith.addf %8, %9 : f32

    What a chain of products sums over is summed in parts, of which one goes on from the other; columns of
    its results are results of their own. Tiles have sides of powers of two: where a head has another
    size, matrix units multiply zeros, which registers and shared memory hold. It is cut in two where the
    tiles of both have at most three quarters of the elements, and where it has more than 128 only if
    registers need not hold all of a row (`units` of more than a warp, or warps of 64 `lanes`). In f32
    without matrix units a thread holds all of a row and of a column that it multiplies: heads of
    gradients are cut into parts of 32, where rows are too long to stay in registers. Nothing is cut where
    `tf32` rounds factors of f32. Runs before `schedule-gpu`.
    """

    name = "split-head-dims"

    tf32: bool = False
    lanes: int = 32
    units: Units = "warp"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and func.scheduled is None:
                chain = find_chain(func.body.block)
                if chain is not None:
                    self._split(func, chain)

    def _split(self, func: FuncOp, chain: Chain) -> None:
        floats = not chain.multiplies_halves
        if floats and self.tf32:
            return skip(func, "parts of rounded factors take more registers than zeros do")
        largest = _OF_REGISTERS if self.units == "warp" and self.lanes == 32 else DEEPEST
        alone = floats and self.lanes == 32
        most = _OF_FLOATS if alone and _stays(func, chain) > _KEPT else DEEPEST
        waiting = list(chain.held)
        if all(_first_part(func.space[axis], most, largest) is None for axis in waiting):
            return skip(func, "its heads fill tiles, or are too large")
        if not may_rewrite(func, "heads were cut into parts that fill tiles"):
            return None
        for axis in waiting:  # it grows: what is left of a head may be cut again
            if (first := _first_part(func.space[axis], most, largest)) is not None:
                waiting.append(len(func.space))
                _split_axis(func, axis, first)
        return None


def _stays(func: FuncOp, chain: Chain) -> int:
    """Elements of each row that all steps of a gradient multiply; 0 where products share a factor."""
    sources = [_source(value) for f in chain.inner for value in (f.left, f.right)]
    if len(chain.scores) == 1 or len({*sources}) < len(sources):
        return 0
    return sum(func.space[f.axis].constant or 0 for f in chain.inner)


def _source(factor: SSAValue) -> SSAValue:
    """The buffer of a factor that is loaded, else itself."""
    while isinstance(factor.owner, arith.ExtFOp):
        factor = factor.owner.input
    return factor.owner.buffer if isinstance(factor.owner, LoadOp) else factor


def _first_part(size: Expr, most: int, largest: int) -> int | None:
    """The elements of the first part, a power of two; None where an axis stays whole."""
    whole = size.constant
    if whole is None or whole > DEEPEST:
        return None
    tile = power_of_two(max(LEAST, whole))
    if tile > most:
        return most
    first = tile // 2
    fits = first + power_of_two(max(LEAST, whole - first)) <= _WORTH * tile
    return first if tile <= largest and fits else None


def _split_axis(func: FuncOp, axis: int, first: int) -> None:
    """Let `axis` have its `first` elements, and a new one the others."""
    new = len(func.space)
    space = [*func.space, func.space[axis] - first]
    space[axis] = as_expr(first)
    func.properties["sizes"] = map_attr(space)
    old, bounds, place = Var("d", axis), Bounds(tuple(space)), dim(new) + first
    others: dict[SSAValue, SSAValue] = {}
    for op in list(func.body.block.ops):
        exprs, summed = exprs_of(op), axis in reduced_axes(op)
        if not summed and others.keys().isdisjoint(op.operands) and not any(e.uses(old) for e in exprs):
            continue
        copy = op.clone({**others})
        carry_location(op, (copy,))
        Rewriter.insert_op(copy, InsertPoint.after(op))
        if exprs:
            op.properties["map"] = map_attr([bounds.simplify(e) for e in exprs])
            copy.properties["map"] = map_attr([bounds.simplify(e.substitute({old: place})) for e in exprs])
        if summed:
            copy.properties["axes"] = axes_attr(new)
            _add(op, copy)
        else:
            others.update(zip(op.results, copy.results, strict=True))


def _add(op: Operation, copy: Operation) -> None:
    """What read the sum that `op` makes reads that of both."""
    readers = list(op.results[0].uses)
    added = arith.AddfOp(op.results[0], copy.results[0])
    carry_location(op, (added,))
    Rewriter.insert_op(added, InsertPoint.after(copy))
    for use in readers:
        use.operation.operands[use.index] = added.result
