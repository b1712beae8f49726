"""Chained products on tiles: a loop over blocks of the chain (`chain_step.py`), so that no row is ever whole.

For blocks of 128 rows:

    tk.for 0 = "0" to "4096" step 128 parallel {        // the grid
      ...                                               // what is the same in each step: factors of rows, say
      %1 = tk.for 3 = ... step 64 iter(...) {...}       // along the chain, in one loop or two
      ...                                               // what is made of the results, and stores
    }
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import UnitAttr, f32
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.tiles import CollapseOp

from ...kernels.chains import Chain, Factors, Outer
from ...kernels.combine import identity
from ...kernels.listed import find_listing
from ..blocks import Blocks
from ..writer import Known, Scope
from .chain_loops import write_loops
from .chain_step import ChainStep
from .factors import factor, factor_type
from .list_walk import walk
from .tile_nest import held_axes
from .tile_writer import TileWriter


class ChainWriter:
    """Writes one function that is a chain of products."""

    def __init__(self, chain: Chain, blocks: Blocks, writer: TileWriter) -> None:
        self.chain = chain
        self.blocks = blocks
        self.body = writer.full
        self.row, self.along = chain.row, chain.along
        self.listing = find_listing(self.body.ops, chain.along)
        self.step = ChainStep(chain, blocks, writer)
        self.scores = writer

    def write(self, scope: Scope) -> None:
        """The grid, what is held, the loop along the chain, and what is done with its results."""
        for axis, _ in self.blocks.sizes[: self.blocks.grid]:
            loop = self.scores.loop(scope, axis)
            loop.properties["parallel"] = UnitAttr()
            scope = scope.inner(loop.body.block)
        for axis in self._held():
            scope = scope.inner(self.scores.loop(scope, axis).body.block)
        self.step.outside.update(scope.env)
        for op in self.chain.sums:
            scope.env[op.result] = self.step.outside[op.result] = self._sum_of_row(scope, op)
        lefts = [self._left(scope, f) for f in self.chain.inner]
        before = self._before(scope)
        starts = [self._start(scope, o) for o in self.chain.outer]
        made = self._along_chain(scope, before, lefts, starts)
        scope.env.update((o.reduce.result, v) for o, v in zip(self.chain.outer, made, strict=True))
        self._after(scope)

    def _held(self) -> list[int]:
        held = held_axes(self.blocks, self.scores.space)
        return [a for a in self.chain.held if a in held]

    def _sum_of_row(self, scope: Scope, op: ReduceOp) -> SSAValue:
        """The sum of what is held of each row."""
        writer = self.scores.over((self.row, *op.over))
        tile = factor(self.step.fresh(scope), writer, op.value, f32, frozenset(op.over))
        self.scores.location = op.location
        return self.scores.put(scope, CollapseOp.make("add", tile, [1]))

    def _left(self, scope: Scope, f: Factors) -> SSAValue:
        """The factor that does not change along the chain."""
        writer = self.scores.over((self.row, f.axis))
        type_ = factor_type(f.reduce, f.left, f.right)
        return factor(self.step.fresh(scope), writer, f.left, type_, frozenset((f.axis,)))

    def _before(self, scope: Scope) -> dict[SSAValue, SSAValue]:
        """What a step needs that is the same in each: one value per row."""
        changing = {r for r in (*self.chain.inner, *self.chain.outer) for r in r.reduce.results}
        first, walked = scope.beside(), {self.along, *self.chain.around}
        for op in self._needed(scope):
            if not walked.isdisjoint(self.body.runs[op]) or not changing.isdisjoint(op.operands):
                changing.update(op.results)
            else:
                self.scores.copy(first, op)
        return first.env

    def _needed(self, scope: Scope) -> list[Operation]:
        """What a step computes beside the products."""
        wanted = [o.factors.left if o.factors is not None else o.reduce.value for o in self.chain.outer]
        wanted += [o.shift.value for o in self.chain.outer if o.shift is not None]
        made = frozenset(f.reduce.result for f in self.chain.inner)
        made |= frozenset(o.reduce.result for o in self.chain.outer)
        if self.listing is not None:
            made |= {self.listing.reduce.result}
        return self.body.closure(_owners(v for v in wanted if v not in made), Known(scope, made))

    def _start(self, scope: Scope, outer: Outer) -> SSAValue:
        """Of nothing: a tile of identities."""
        self.scores.location = outer.reduce.location
        shape = (self.scores.block[self.row], 1)
        if outer.factors is not None:
            shape = (shape[0], self.scores.block[outer.factors.axis])
        nothing = self.scores.constant(identity(outer.reduce.kind.data, f32))
        return self.scores.stretch(scope, nothing, shape)

    def _along_chain(
        self,
        scope: Scope,
        before: dict[SSAValue, SSAValue],
        lefts: list[SSAValue],
        starts: list[SSAValue],
    ) -> Sequence[SSAValue]:
        """All steps, or those of a list."""
        if self.listing is None:
            inside = scope.beside()
            inside.env.update(before)
            return write_loops(self.step, inside, lefts, starts)
        assert not self.chain.around, "walk-lists leaves chains alone that go along several batches"
        loop, inner = walk(self.scores, scope, self.listing, self.along, starts)
        inner.env.update(before)
        self.step.write(inner, lefts, inner.block.args)
        return loop.res

    def _after(self, scope: Scope) -> None:
        """What is done with the results, on tiles of rows and the columns that each store has."""
        columns = [o.factors.axis for o in self.chain.outer if o.factors is not None]
        made = [o.reduce.result for o in self.chain.outer]
        for axis in dict.fromkeys(columns):
            sinks = [
                op
                for op in self.body.sinks()
                if axis in self.body.runs[op]
                or (axis == columns[0] and self.body.runs[op].isdisjoint((*columns, self.along)))
            ]
            inner, writer = self.step.fresh(scope), self.scores.over((self.row, axis))
            inner.env.update((value, scope.env[value]) for value in made)
            for op in self.body.closure(sinks, Known(inner)):
                writer.copy(inner, op)


def _owners(values: Iterable[SSAValue]) -> list[Operation]:
    return [v.owner for v in values if isinstance(v.owner, Operation)]
