"""Pass `schedule-cpu`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tk.compute import ArgReduceOp, ReduceOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.moments import MomentsOp
from tilewright.dialects.tk.sumexp import SumExpOp

from ..kernels.chains import Chain
from ..kernels.facts import Body
from ..rewrite import may_rewrite, skip
from .collisions import is_independent, mark_stores
from .cost import Costs, computes_wide, estimate, scanned_axis, sorted_axes
from .loops.kept import mark_kept
from .loops.row_chain import NAME as CHAIN
from .loops.row_chain import RowChain, choose_chain
from .loops.tile import NAME as TILE
from .loops.tile import Tile, choose_tile
from .loops.tiling import with_array_sums, with_columns, with_parts, with_rows_of_scans, with_square_tiles
from .plan import Plan

_WORTH_CYCLES = 40_000
"""Less work than this is done before other threads have woken up."""
_ENOUGH_TASKS = 64


@dataclass(frozen=True)
class ScheduleCpuPass(ModulePass):
    """Decide the loops of each `tk.func` for a CPU, and write the plan into its attributes.

    Before:
        tk.func @sum [4096, 768] (%x: memref<3145728xf32>, %o: memref<4096xf32>) {
          %0 = tk.load %x[d0*768 + d1] : memref<3145728xf32> -> f32
          %1 = tk.reduce add %0 over [1] : f32
          tk.store %1, %o[d0] : f32, memref<4096xf32>
        }
    After:
        tk.func @sum ... attributes {tk.order = array<i64: 0, 1>, tk.vector = array<i64: 1, 16>,
            tk.parallel = array<i64: 1>, tk.unroll = array<i64: 4>} {...}

    Lanes go along the axis that costs least: contiguous accesses are cheap, strided ones
    are not. Reduced axes are innermost. Leading axes run in parallel if that is worth it
    (`tk.worth` decides at run time for symbolic sizes) and no two iterations store to one place.
    Matrix products get register tiles (`tk.tile`), chained products blocks of rows, one in each lane, that go
    along the chain as far as any of them sees (`tk.chain`: rows, and elements of the chain per block).
    """

    name = "schedule-cpu"

    vector_bits: int = 512

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, FuncOp) and func.scheduled is None and may_rewrite(func, "given a schedule"):
                _Scheduler(func, self.vector_bits).decide()


class _Scheduler:
    def __init__(self, func: FuncOp, vector_bits: int) -> None:
        self.func = func
        self.chain = choose_chain(func, vector_bits)
        self.tile = choose_tile(func, vector_bits)
        self.space = func.space
        self.body = Body.of(func.body.block)
        lanes = max(1, vector_bits // (64 if computes_wide(self.body, self.space) else 32))
        self.costs = Costs(self.body, self.space, lanes, scanned_axis(self.body, self.space, lanes))
        self.lanes = lanes
        self.sorted = sorted_axes(self.body)
        self.free = {a for a in range(len(self.space)) if is_independent(self.body, self.space, a)}

    def decide(self) -> None:
        if self.chain is not None:
            self._decide_chain(*self.chain)
        elif self.tile is not None:
            self._decide_tiles(self.tile)
        else:
            self._decide_loops()

    def _decide_chain(self, chain: Chain, how: RowChain) -> None:
        """Chained products: batches and blocks of rows form one parallel loop."""
        self._decide_blocks(chain.row, self.lanes)
        self.func.attributes[CHAIN] = how.attribute()

    def _decide_tiles(self, tile: Tile) -> None:
        """A matrix product: panels and row tiles form one parallel loop."""
        self._decide_blocks(tile.column, tile.lanes)
        self.func.attributes[TILE] = tile.attribute()

    def _decide_blocks(self, vector: int, lanes: int) -> None:
        """One parallel loop, if there is enough work for it, and lanes along `vector`."""
        worth = self.costs.work(vector) - _WORTH_CYCLES * self.lanes
        parallel = worth.constant is None or worth.constant > 0
        plan = Plan(
            order=tuple(range(len(self.space))),
            vector=vector,
            lanes=lanes,
            parallel=int(parallel),
            worth=worth if parallel and worth.constant is None else None,
        )
        self.func.attributes.update(plan.attributes())

    def _decide_loops(self) -> None:
        vector = self._vector()
        order = self.costs.order(vector)
        enough, worth = self._worth(vector)
        parallel = self._leading(order, vector) if enough else 0
        if parallel and (wide := self._vector_first(order, vector)) is not None:
            order, parallel = wide, 1
        plan = Plan(
            order=order,
            vector=vector,
            lanes=self.lanes if vector is not None else 1,
            parallel=parallel,
            worth=worth,
            unroll=self._unroll(order, vector),
        )
        if not self.sorted:
            plan = self._tiled(plan, parts=enough and not parallel)
        if enough and not plan.parallel:
            skip(self.func, f"not parallel: axis {[*order, None][0]} is reduced or not independent")
        self.func.attributes.update(plan.attributes())
        mark_stores(self.body, vector, parallel=bool(plan.parallel))
        if not plan.arrays:
            mark_kept(self.func, self.body, self.costs.inner, self.costs)

    def _tiled(self, plan: Plan, *, parts: bool) -> Plan:
        """With what is done tile by tile; rows that are sorted are whole."""
        plan = with_square_tiles(plan, self.body, self.space, self.lanes)
        plan = with_rows_of_scans(plan, self.body, self.space, self.costs.scanned)
        plan = with_array_sums(plan, self.body, self.space, self.lanes)
        plan = with_columns(plan, self.body, self.space, self.lanes)
        return with_parts(plan, self.body, self.space, self.lanes) if parts else plan

    def _vector(self) -> int | None:
        """The cheapest axis for lanes, None if scalars are cheaper still."""
        best, best_cost = None, self.costs.total(None)
        for axis in reversed(range(len(self.space))):
            if axis not in self.free:
                skip(self.func, f"axis {axis} gets no lanes: its iterations depend on each other")
                continue
            if self.sorted and axis not in self.sorted:
                skip(self.func, f"axis {axis} gets no lanes: one row after the other is sorted")
                continue
            cost = self.costs.total(axis)
            if cost < best_cost:
                best, best_cost = axis, cost
        if best is None and self.space:
            skip(self.func, "no axis gets lanes: scalars are cheaper")
        return best

    def _worth(self, vector: int | None) -> tuple[bool, Expr | None]:
        """Whether running in parallel may be worth it; where that shows at run time, from when on."""
        work = self.costs.work(vector) - _WORTH_CYCLES * self.lanes
        if work.constant is None:
            return True, work
        return work.constant > 0, None

    def _leading(self, order: tuple[int, ...], vector: int | None) -> int:
        """How many leading axes form the parallel loop."""
        count, tasks = 0, 1
        for axis in order:
            fits = axis in self.free and axis not in self.costs.inner and (axis != vector or not count)
            if not fits or tasks >= _ENOUGH_TASKS:
                break
            count += 1
            tasks *= estimate(self.space[axis])
            if axis == vector:
                break
        return count

    def _vector_first(self, order: tuple[int, ...], vector: int | None) -> tuple[int, ...] | None:
        """Run along the vector axis in parallel where the axes outside of it are tiny."""
        if vector is None or vector in self.costs.inner or vector in self.costs.scans or order[0] == vector:
            return None
        outside = order[: order.index(vector)]
        if self.costs.trips(outside) >= 8 or estimate(self.space[vector]) < 16 * self.lanes:
            return None
        return (vector, *(a for a in order if a != vector))

    def _unroll(self, order: tuple[int, ...], vector: int | None) -> int:
        """Accumulators per innermost reduction loop: enough to hide the latency of an add."""
        reductions = [op for op in self.body.ops if isinstance(op, ReduceOp)]
        if not reductions or any(isinstance(op, ArgReduceOp | MomentsOp | SumExpOp) for op in self.body.ops):
            return 1
        size = self.space[order[-1]].constant
        weight = sum(order[-1] in self.body.runs[op] for op in self.body.ops)
        copies = 4 if weight <= 12 else 2 if weight <= 30 else 1
        step = self.lanes if order[-1] == vector else 1
        while size is not None and copies > 1 and size < 2 * step * copies:
            copies //= 2
        return copies
