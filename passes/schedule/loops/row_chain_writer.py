"""Chained products with a row in each lane: what `apply-schedule` writes where `schedule-cpu` chose so.

    tk.for 6 = "0" to "128" step 1 parallel {                        // heads, blocks of rows
      %q = tk.local "4096" : memref<4096xf32>                        // 64 of depth by 64 rows
      tk.turn ...                                                    // rows become lanes
      tk.for 8 = "0" to "(d6 mod 16)*64 + 64" step 64 {              // blocks of the chain
        ... scores of 4 elements of the chain by 4 vectors of rows, in registers, into scratch
        ... their maximum per row, so far; how much smaller that makes what was added up before
        ... exponentials in place of scores, and their sum
        ... 4 columns by 4 vectors of rows of the product with values, in registers, added to scratch
      }
      ... results
      tk.turn ...
    }

Elements of the chain, of depth and of columns are scalars for all lanes, so the block's ends and sizes need
no masks; what a whole block of rows cannot see is not walked (`chain_reach.py`, `listed.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, UnitAttr, f32, i1
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import ZERO, Expr, Var, as_expr, dim, gathered, minimum, product
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.attributes import map_attr
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.loops import UNEVEN, ForOp, TailOp

from ...kernels.chains import Outer, find_chain
from ...kernels.combine import identity
from ...kernels.facts import Body
from ...kernels.listed import find_listing
from ..plan import Plan
from ..writer import Known, Scope, Writer
from .row_chain import RowChain, chain_bounds
from .row_tiles import RowTiles
from .row_values import Values


class RowChainWriter:
    """Writes one function that is a chain of products."""

    def __init__(self, func: FuncOp, how: RowChain, writer: Writer, body: Body) -> None:
        chain = find_chain(func.body.block)
        assert chain is not None
        self.chain = chain
        self.how = how
        self.plan: Plan = writer.plan
        self.writer = writer
        self.body = body
        self.space = tuple(func.space)
        self.tiles = RowTiles(writer, body, chain, self.space)
        self.checks = [op for op in body.sinks() if chain.along in body.runs[op]]
        self.listing = find_listing(body.ops, chain.along)
        lists = () if self.listing is None else (self.listing.axis,)
        inside = {chain.row, chain.along, *chain.held, *lists}
        self.batches = [a for a in range(len(self.space)) if a not in inside]

    def write(self, scope: Scope) -> None:
        """Blocks of several vectors of rows, of one, and the lanes that are left."""
        size, start = self.space[self.chain.row], ZERO
        for rows in dict.fromkeys((self.how.rows, self.plan.lanes)):
            end = size - size % rows
            if (end - start).constant != 0:
                self._blocks(scope, start, end, rows)
            start = end
        if (size - start).constant != 0:
            self._rest(scope, start, size - start)

    # Rows

    def _blocks(self, scope: Scope, start: Expr, end: Expr, rows: int) -> None:
        """One parallel loop over batches and blocks of rows."""
        inner, block = self._parallel(scope, (end - start) // rows)
        first = start + block * rows
        lanes = ForOp.make(self.chain.row, 0, rows, rows)
        self.writer.put_loop(inner, lanes)
        self._rows(inner.inner(lanes.body.block), first, rows, as_expr(rows))

    def _rest(self, scope: Scope, start: Expr, count: Expr) -> None:
        inner, _ = self._parallel(scope, as_expr(1))
        tail = TailOp.make(self.chain.row, 0, count)
        self.writer.put_loop(inner, tail)
        inner = inner.inner(tail.body.block)
        inner.tail = True
        self._rows(inner, start, self.plan.lanes, count)

    def _parallel(self, scope: Scope, blocks: Expr) -> tuple[Scope, Expr]:
        """The loop around everything, and the number of the block of rows in it."""
        counts = [*(self.space[a] for a in self.batches), blocks]
        self.writer.location = self.chain.outer[0].reduce.location
        flat = self.tiles.fresh()
        loop = ForOp.make(flat, 0, product(counts), 1)
        if self.plan.parallel:
            loop.properties["parallel"] = UnitAttr()
            if self._is_uneven():
                loop.attributes[UNEVEN] = UnitAttr()
            if self.plan.worth is not None:
                loop.properties["worth"] = map_attr((self.plan.worth,))
        self.writer.put_loop(scope, loop)
        inner = scope.inner(loop.body.block)
        places: list[Expr] = []
        for i in range(len(counts)):
            place = dim(flat) // product(counts[i + 1 :])
            places.append(place % counts[i] if i else place)
        inner.axes |= {Var("d", a): place for a, place in zip(self.batches, places, strict=False)}
        return inner, places[-1]

    def _is_uneven(self) -> bool:
        """Whether rows differ in how far they go."""
        bounds = chain_bounds(self.chain, self.space, self.how.rows, self.how.step)
        return self.listing is not None or any(e.uses(Var("d", self.chain.row)) for e in bounds)

    def _rows(self, scope: Scope, first: Expr, rows: int, count: Expr) -> None:
        """All that is done for one block of rows, of which `count` are there."""
        tiles = self.tiles.at(first, rows, count)
        scope.axes[Var("d", self.chain.row)] = first + dim(self.chain.row)
        scope.vectors = True
        state = Values(tiles, scope, self.chain, self.how.step, self.checks)
        self._walk(scope, tiles, lambda inner, begin, size: self._step(inner, state, begin, size))
        self._after(scope, state)

    # Along the chain

    def _walk(self, scope: Scope, tiles: RowTiles, step: Callable[[Scope, Expr, Expr], None]) -> None:
        """Loops over blocks of the chain, those of a list if there is one."""
        along, size = self.how.step, self.space[self.chain.along]
        lower, upper = (ZERO, size)
        if not self.checks:
            bounds = chain_bounds(self.chain, self.space, tiles.rows, along)
            here = {**scope.axes, Var("d", self.chain.row): tiles.first}
            lower, upper = (e.substitute(here) for e in bounds)
        if self.listing is None:
            self._blocks_of_chain(scope, (lower, upper), (), step)
            return
        listing = self.listing
        outside = tiles.scalars(scope)
        count = tiles.index(outside, listing.count)
        loop = ForOp.make(listing.axis, 0, gathered(0), 1, (), [count])
        self.writer.put_loop(scope, loop)
        inner = scope.inner(loop.body.block)
        entry = tiles.index(tiles.scalars(inner), listing.entry)
        inner.env[listing.reduce.result] = self.writer.constant(IntegerAttr(1, i1))
        place = gathered(0) * listing.size
        ends = tiles.clipped(place, place + listing.size, lower, upper)
        self._blocks_of_chain(inner, ends, [entry], step)

    def _blocks_of_chain(
        self,
        scope: Scope,
        bounds: tuple[Expr, Expr],
        dynamic: Sequence[SSAValue],
        step: Callable[[Scope, Expr, Expr], None],
    ) -> None:
        axis, along, end = self.tiles.fresh(), self.how.step, self.space[self.chain.along]
        loop = ForOp.make(axis, *bounds, along, (), dynamic)
        self.writer.put_loop(scope, loop)
        whole = end.exact_div(along) is not None
        size = as_expr(along) if whole else minimum(along, end - dim(axis))
        step(scope.inner(loop.body.block), dim(axis), size)

    def _step(self, scope: Scope, state: Values, begin: Expr, size: Expr) -> None:
        """One block of the chain, from `begin` on."""
        state.begin, state.size = begin, size
        for f in self.chain.inner:
            state.multiply_inner(scope, f)
        peaks = [o for o in self.chain.outer if o.reduce.kind.data == "max"]
        if peaks:
            state.each_vector(scope, lambda inner, j: self._raise(inner, state, peaks, j))
        sums = [o for o in self.chain.outer if o.reduce.kind.data != "max"]
        state.each_vector(scope, lambda inner, j: self._add(inner, state, sums, j))
        for outer in sums:
            if outer.factors is not None:
                state.multiply_outer(scope, outer)

    def _raise(self, scope: Scope, state: Values, peaks: Sequence[Outer], j: Expr) -> None:
        """The maxima of one vector of rows with this block."""
        values = list(dict.fromkeys(o.reduce.value for o in peaks))
        made = [f.reduce.result for f in self.chain.inner]
        starts = [self.writer.widen(scope, self.writer.constant(identity("max", f32)))] * len(peaks)

        def one(inner: Scope, t: Expr, best: Sequence[SSAValue]) -> list[SSAValue]:
            for value in values:
                if value not in made:
                    state.tiles.write(inner, state.made[value], self._wide(inner, value), t, j)
            pairs = zip(peaks, best, strict=True)
            return [state.combined(inner, "max", old, self._wide(inner, o.reduce.value)) for o, old in pairs]

        found = state.each_element(scope, values, starts, one, j, made)
        for outer, best in zip(peaks, found, strict=True):
            old = state.tiles.read(scope, state.sums[outer], 0, j)
            new = state.combined(scope, "max", old, best)
            state.tiles.write(scope, state.sums[outer], new, 0, j)
            shifts = (o.shift for o in self.chain.outer if o.shift is not None)
            for shift in dict.fromkeys(s for s in shifts if s.peak is outer.reduce):
                inner = scope.beside()
                inner.env[outer.reduce.result] = new
                sinks = [shift.value.owner] if isinstance(shift.value.owner, Operation) else []
                for op in self.body.closure(sinks if shift.value not in inner.env else (), Known(inner)):
                    self.writer.copy(inner, op)
                less = state.emit(inner, arith.SubfOp, old, self._wide(inner, shift.value))
                scale = shift.decay(less, partial(self._number, inner), partial(state.emit, inner))
                state.tiles.write(inner, state.scales[shift], scale, 0, j)

    def _add(self, scope: Scope, state: Values, sums: Sequence[Outer], j: Expr) -> None:
        """What this block adds to the sums of one vector of rows; factors of products into scratch."""
        plain = [o for o in sums if o.factors is None]
        for outer in self.chain.outer:
            if outer not in sums:
                scope.env[outer.reduce.result] = state.tiles.read(scope, state.sums[outer], 0, j)
        zero = self.writer.constant(identity("add", f32))
        starts = [self.writer.widen(scope, zero)] * len(plain)

        def one(inner: Scope, t: Expr, totals: Sequence[SSAValue]) -> list[SSAValue]:
            for outer in sums:
                if outer.factors is not None:
                    value = self._wide(inner, outer.factors.left)
                    state.tiles.write(inner, state.factors[outer], value, t, j)
            pairs = zip(plain, totals, strict=True)
            return [state.combined(inner, "add", old, self._wide(inner, o.reduce.value)) for o, old in pairs]

        found = state.each_element(scope, state.wanted(), starts, one, j, state.made, self.checks)
        for outer, part in zip(plain, found, strict=True):
            old = state.tiles.read(scope, state.sums[outer], 0, j)
            if outer.shift is not None:
                scale = state.tiles.read(scope, state.scales[outer.shift], 0, j)
                old = state.emit(scope, arith.MulfOp, old, scale)
            state.tiles.write(scope, state.sums[outer], state.combined(scope, "add", old, part), 0, j)

    def _number(self, scope: Scope, value: float) -> SSAValue:
        return self.writer.widen(scope, self.writer.constant(FloatAttr(value, f32)))

    def _wide(self, scope: Scope, value: SSAValue) -> SSAValue:
        return self.writer.widen(scope, self.writer.value(scope, value))

    # Results

    def _after(self, scope: Scope, state: Values) -> None:
        """What is done with the results: for each column, then what has none."""
        columns = [o.factors.axis for o in self.chain.outer if o.factors is not None]
        sinks = [op for op in self.body.sinks() if op not in self.checks]
        for axis in dict.fromkeys(columns):
            mine = [op for op in sinks if axis in self.body.runs[op]]
            self._store(scope, state, mine, axis)
        others = [op for op in sinks if self.body.runs[op].isdisjoint(columns)]
        if others:
            self._store(scope, state, others, None)

    def _store(self, scope: Scope, state: Values, sinks: Sequence[Operation], axis: int | None) -> None:
        tiles = state.tiles
        turned = tiles.turned_stores(scope, sinks, axis) if axis is not None else {}
        inner = scope
        if axis is not None:
            loop = ForOp.make(axis, 0, self.space[axis], 1)
            self.writer.put_loop(scope, loop)
            inner = scope.inner(loop.body.block)

        def vector(at: Scope, j: Expr) -> None:
            for outer in self.chain.outer:
                if outer.factors is None or outer.factors.axis == axis:
                    column = ZERO if outer.factors is None or axis is None else dim(axis)
                    at.env[outer.reduce.result] = tiles.read(at, state.sums[outer], column, j)
            for op in self.body.closure(sinks, Known(at)):
                if isinstance(op, StoreOp) and op in turned and axis is not None:
                    value = self._wide(at, op.value)
                    tiles.write(at, turned[op], value, dim(axis), j)
                else:
                    self.writer.copy(at, op)

        state.each_vector(inner, vector)
        if axis is not None:
            tiles.turn_stores(scope, turned, axis)
