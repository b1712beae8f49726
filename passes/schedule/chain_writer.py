"""Chained products on tiles: what a block of the chain adds is added at once, no row is ever whole.

A sum of `exp(x - m) * y`, with `m` the maximum of all `x`, is kept for the maximum so far, and multiplied
by `exp(old m - new m)` when a block raises that ("online softmax").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, UnitAttr, f32
from xdsl.ir import Attribute, Operation, Region, SSAValue

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.domain import Axes
from tilewright.dialects.tk.loops import YieldOp
from tilewright.dialects.tk.scope import shape_of_lanes
from tilewright.dialects.tk.share import SHARED
from tilewright.dialects.tk.tiles import CollapseOp, MmaOp

from ..fusion.body import erase_unread
from .blocks import Blocks
from .body import Body
from .chain_reach import Condition, clear_steps, reach, split_at
from .chains import Chain, Factors, Outer, Shift, find_chain
from .combine import combine, identity
from .factors import factor, factor_type
from .lanes_needed import lanes_needed
from .list_walk import walk
from .listed import find_listing
from .tile_nest import held_axes
from .tile_writer import TileWriter
from .writer import Known, Scope
from .zeros import is_zero_when_inactive

_NO_FLAGS = arith.FastMathFlagsAttr("none")


class ChainWriter:
    """Writes one function that is a chain of products."""

    def __init__(self, chain: Chain, blocks: Blocks, writer: TileWriter) -> None:
        assert blocks.product is not None
        self.chain = chain
        self.blocks = blocks
        self.precision = blocks.product
        self.body = writer.full
        self.row, self.along = chain.row, chain.along
        self.checks = [op for op in self.body.sinks() if self.along in self.body.runs[op]]
        self.listing = find_listing(self.body.ops, chain.along)
        self.scores = writer
        writer.lanes = lanes_needed(self.body, writer.block)
        writer.frame = (self.row, self.along)

    def write(self, scope: Scope) -> None:
        """The grid, what is held, the loop along the chain, and what is done with its results."""
        for axis, _ in self.blocks.sizes[: self.blocks.grid]:
            loop = self.scores.loop(scope, axis)
            loop.properties["parallel"] = UnitAttr()
            scope = scope.inner(loop.body.block)
        for axis in self._held():
            scope = scope.inner(self.scores.loop(scope, axis).body.block)
        self.base = scope.beside()
        for op in self.chain.sums:
            scope.env[op.result] = self.base.env[op.result] = self._sum_of_row(scope, op)
        lefts = [self._left(scope, f) for f in self.chain.inner]
        before = self._before(scope)
        starts = [self._start(scope, o) for o in self.chain.outer]
        if self.listing is not None:
            loop, inner = walk(self.scores, scope, self.listing, self.along, starts)
            inner.env.update(before)
            self._step(inner, lefts, inner.block.args)
            made: Sequence[SSAValue] = loop.res
        else:
            made = self._loops(scope, before, lefts, starts)
        scope.env.update((o.reduce.result, v) for o, v in zip(self.chain.outer, made, strict=True))
        self._after(scope)

    def _loops(
        self,
        scope: Scope,
        before: dict[SSAValue, SSAValue],
        lefts: list[SSAValue],
        carried: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """The loop along the chain; those of its steps of which a mask hides nothing have one without it."""
        space = self.scores.space
        bounds = None if self.checks else reach(self.chain, self.blocks, space)
        clear = None if self.checks else clear_steps(self.chain, self.blocks, space)
        if bounds is None or clear is None:
            return self._loop(scope, before, lefts, carried, bounds)
        new = dict[SSAValue, SSAValue]()
        if (cleared := self._without(clear.conditions, new)) is None:
            return self._loop(scope, before, lefts, carried, bounds)
        known = Scope(scope.block, {new[v]: to for v, to in {**scope.env, **before}.items() if v in new})
        known.depth = scope.depth
        first, end = bounds
        middle = split_at(clear.at, bounds, space)
        pieces = [(first, middle), (middle, end)]
        for piece, is_clear in zip(pieces, (clear.first, not clear.first), strict=True):
            if is_clear:
                carried = cleared._loop(known, {}, lefts, carried, piece)
            else:
                carried = self._loop(scope, before, lefts, carried, piece)
        return carried

    def _loop(
        self,
        scope: Scope,
        before: dict[SSAValue, SSAValue],
        lefts: list[SSAValue],
        carried: Sequence[SSAValue],
        bounds: tuple[Expr, Expr] | None,
    ) -> Sequence[SSAValue]:
        loop = self.scores.loop(scope, self.along, carried, bounds)
        inner = scope.inner(loop.body.block)
        inner.env.update(before)
        self._step(inner, lefts, inner.block.args)
        return loop.res

    def _without(self, conditions: Sequence[Condition], new: dict[SSAValue, SSAValue]) -> ChainWriter | None:
        """A writer of the same steps where these conditions hold; `new` gets its values of those of this one.

        None where they are no chain then: where a condition alone tells rows from each other.
        """
        block = self.body.ops[0].parent_block()
        assert block is not None
        region = block.parent
        assert region is not None
        copy = Region()
        region.clone_into(copy, value_mapper=new)
        for condition, wanted in conditions:
            for use in list(new[condition].uses):
                if isinstance(op := use.operation, arith.SelectOp) and use.index == 0:
                    op.result.replace_all_uses_with(op.lhs if wanted else op.rhs)
        erase_unread(copy.block)
        chain = find_chain(copy.block)
        old = self.chain
        if chain is None or (chain.row, chain.along, chain.held) != (old.row, old.along, old.held):
            return None
        if [o.reduce for o in chain.outer] != [new[o.reduce.result].owner for o in old.outer]:
            return None
        writer = self.scores.over(self.scores.frame)
        writer.full = Body.of(copy.block)
        cleared = ChainWriter(chain, self.blocks, writer)
        cleared.base = self.base.beside()
        cleared.base.env = {new[v]: to for v, to in self.base.env.items() if v in new}
        return cleared

    def _held(self) -> list[int]:
        held = held_axes(self.blocks, self.scores.space)
        return [a for a in self.chain.held if a in held]

    def _fresh(self, scope: Scope) -> Scope:
        """A scope at the same place that knows of no tiles: those of other axes have other shapes."""
        found = Scope(scope.block, dict(self.base.env))
        found.depth = scope.depth
        return found

    def _left(self, scope: Scope, f: Factors) -> SSAValue:
        """The factor that does not change along the chain."""
        writer = self.scores.over((self.row, f.axis))
        type_ = factor_type(f.reduce, f.left, f.right)
        return factor(self._fresh(scope), writer, f.left, type_, frozenset((f.axis,)))

    def _sum_of_row(self, scope: Scope, op: ReduceOp) -> SSAValue:
        """The sum of what is held of each row."""
        writer = self.scores.over((self.row, *op.over))
        tile = factor(self._fresh(scope), writer, op.value, f32, frozenset(op.over))
        self.scores.location = op.location
        return self.scores.put(scope, CollapseOp.make("add", tile, [1]))

    def _needed(self, scope: Scope) -> list[Operation]:
        """What a step computes beside the products."""
        wanted = [o.factors.left if o.factors is not None else o.reduce.value for o in self.chain.outer]
        wanted += [o.shift.value for o in self.chain.outer if o.shift is not None]
        made = frozenset(f.reduce.result for f in self.chain.inner)
        made |= frozenset(o.reduce.result for o in self.chain.outer)
        if self.listing is not None:
            made |= {self.listing.reduce.result}
        return self.body.closure(_owners(v for v in wanted if v not in made), Known(scope, made))

    def _before(self, scope: Scope) -> dict[SSAValue, SSAValue]:
        """What a step needs that is the same in each: one value per row."""
        changing = {r for r in (*self.chain.inner, *self.chain.outer) for r in r.reduce.results}
        first = scope.beside()
        for op in self._needed(scope):
            if self.along in self.body.runs[op] or not changing.isdisjoint(op.operands):
                changing.update(op.results)
            else:
                self.scores.copy(first, op)
        return first.env

    def _start(self, scope: Scope, outer: Outer) -> SSAValue:
        """Of nothing: a tile of identities."""
        self.scores.location = outer.reduce.location
        shape = (self.scores.block[self.row], 1)
        if outer.factors is not None:
            shape = (shape[0], self.scores.block[outer.factors.axis])
        nothing = self.scores.constant(identity(outer.reduce.kind.data, f32))
        return self.scores.stretch(scope, nothing, shape)

    def _step(self, scope: Scope, lefts: list[SSAValue], carried: Iterable[SSAValue]) -> None:
        """One block of the chain: products, maxima, then sums of what depends on these."""
        for f, left in zip(self.chain.inner, lefts, strict=True):
            scope.env[f.reduce.result] = self._inner(scope, f, left)
        old = dict(zip(self.chain.outer, carried, strict=True))
        new: dict[Outer, SSAValue] = {}
        for outer in self.chain.outer:
            if outer.reduce.kind.data == "max":
                new[outer] = scope.env[outer.reduce.result] = self._raise(scope, outer, old[outer])
        peaks = {outer.reduce: value for outer, value in old.items() if outer in new}
        scales: dict[Shift, SSAValue] = {}
        for outer in self.chain.outer:
            if outer in new:
                continue
            value = old[outer]
            if outer.shift is not None:
                if outer.shift not in scales:
                    scales[outer.shift] = self._scale(scope, outer.shift, peaks[outer.shift.peak])
                scale = self.scores.stretch(scope, scales[outer.shift], shape_of_lanes(value.type))
                value = self._emit(scope, arith.MulfOp, value, scale)
            new[outer] = self._add(scope, outer, value)
        for op in self.body.closure(self.checks, Known(scope)):
            self.scores.copy(scope, op)
        self.scores.put(scope, YieldOp.create(operands=[new[outer] for outer in self.chain.outer]))

    def _inner(self, scope: Scope, f: Factors, left: SSAValue) -> SSAValue:
        """A product of its own."""
        right = self.scores.over((f.axis, self.along))
        type_ = factor_type(f.reduce, f.left, f.right)
        factor_ = self._right(scope, f, right, type_, frozenset((f.axis,)))
        self.scores.location = f.reduce.location
        zero = self.scores.constant(FloatAttr(0.0, f32))
        shape = (self.scores.block[self.row], self.scores.block[self.along])
        start = self.scores.stretch(scope, zero, shape)
        return self.scores.put(scope, MmaOp.make(start, left, factor_, self.precision))

    def _right(self, scope: Scope, f: Factors, writer: TileWriter, type_: Attribute, over: Axes) -> SSAValue:
        """The factor that each step has another block of."""
        return factor(self._fresh(scope), writer, f.right, type_, over, shared=SHARED in f.reduce.attributes)

    def _compute(self, scope: Scope, value: SSAValue) -> SSAValue:
        """`value` as a tile of rows and the chain."""
        if value not in scope.env:
            for op in self.body.closure(_owners((value,)), Known(scope)):
                self.scores.copy(scope, op)
        return scope.env[value]

    def _raise(self, scope: Scope, outer: Outer, old: SSAValue) -> SSAValue:
        """The maximum with this block; what hangs over counts as -inf from here on."""
        value = outer.reduce.value
        tile = self._whole(scope, self._compute(scope, value))
        self.scores.location = outer.reduce.location
        nothing = self.scores.constant(identity("max", f32))
        tile = self.scores.masked_out(scope, tile, nothing, frozenset((self.along,)))
        scope.env[value] = tile
        best = self.scores.put(scope, CollapseOp.make("max", tile, [1]))
        return combine("max", old, best, lambda op: self.scores.put(scope, op))

    def _scale(self, scope: Scope, shift: Shift, old: SSAValue) -> SSAValue:
        """What sums for the old maximum are multiplied with: 0 where there was none."""
        difference = self._emit(scope, arith.SubfOp, old, self._compute(scope, shift.value))

        def constant(rate: float) -> SSAValue:
            value = self.scores.constant(FloatAttr(rate, f32))
            return self.scores.stretch(scope, value, shape_of_lanes(difference.type))

        return shift.decay(difference, constant, partial(self._emit, scope))

    def _add(self, scope: Scope, outer: Outer, total: SSAValue) -> SSAValue:
        """`total` and what this block adds."""
        over, value = frozenset((self.along,)), outer.reduce.value
        if (f := outer.factors) is not None:
            type_ = factor_type(outer.reduce, f.left, f.right)
            self._compute(scope, f.left)
            cut = frozenset[int]() if self._vanishes(outer, f.left) else over
            left = factor(scope, self.scores, f.left, type_, cut)
            right = self._right(scope, f, self.scores.over((self.along, f.axis)), type_, over)
            self.scores.location = outer.reduce.location
            return self.scores.put(scope, MmaOp.make(total, left, right, self.precision))
        tile = self._whole(scope, self._compute(scope, value))
        self.scores.location = outer.reduce.location
        if not self._vanishes(outer, value):
            tile = self.scores.masked_out(scope, tile, self.scores.constant(FloatAttr(0.0, f32)), over)
        part = self.scores.put(scope, CollapseOp.make("add", tile, [1]))
        return combine("add", total, part, lambda op: self.scores.put(scope, op))

    def _vanishes(self, outer: Outer, value: SSAValue) -> bool:
        """Whether `value` is zero beyond the end of the chain: there, exponents are -inf."""
        exponential = outer.shift is not None and isinstance(value.owner, math.ExpOp | math.Exp2Op)
        return exponential or is_zero_when_inactive(value, frozenset((self.along,)), self.body)

    def _whole(self, scope: Scope, tile: SSAValue) -> SSAValue:
        shape = (self.scores.block[self.row], self.scores.block[self.along])
        return self.scores.stretch(scope, tile, shape)

    def _emit(self, scope: Scope, op: type[Operation], *operands: SSAValue) -> SSAValue:
        return self.scores.put(
            scope,
            op.create(operands=operands, result_types=[operands[0].type], properties={"fastmath": _NO_FLAGS}),
        )

    def _after(self, scope: Scope) -> None:
        """What is done with the results, on tiles of rows and the columns that each store has."""
        columns = [o.factors.axis for o in self.chain.outer if o.factors is not None]
        made = frozenset(o.reduce.result for o in self.chain.outer)
        known: dict[SSAValue, SSAValue] = {v: scope.env[v] for v in made}
        for axis in dict.fromkeys(columns):
            sinks = [
                op
                for op in self.body.sinks()
                if axis in self.body.runs[op]
                or (axis == columns[0] and self.body.runs[op].isdisjoint((*columns, self.along)))
            ]
            inner, writer = self._fresh(scope), self.scores.over((self.row, axis))
            inner.env.update(known)
            for op in self.body.closure(sinks, Known(inner)):
                writer.copy(inner, op)


def _owners(values: Iterable[SSAValue]) -> list[Operation]:
    return [v.owner for v in values if isinstance(v.owner, Operation)]
