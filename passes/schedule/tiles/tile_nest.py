"""Loop nests of tiles: the grid, blocks that cover an axis, and loops over the blocks of the others."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, UnitAttr, i32, i64
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Expr, dim, product
from tilewright.dialects.tk.access import IndexOp, LoadOp
from tilewright.dialects.tk.compute import ArgReduceOp, ReduceOp, ScanOp
from tilewright.dialects.tk.domain import Along, Reduction
from tilewright.dialects.tk.moments import MomentsOp
from tilewright.dialects.tk.scope import shape_of_lanes
from tilewright.dialects.tk.sort import ArrangeOp, SortOp
from tilewright.dialects.tk.sumexp import SumExpOp
from tilewright.dialects.tk.tiles import CollapseOp, CumulateOp
from tilewright.dialects.types import element_type

from ...kernels.combine import (
    combine,
    compare,
    identities,
    last_in_order,
    last_position,
    linear,
    match_positions,
    select,
)
from ...kernels.facts import Body
from .. import exponentials
from ..accumulate import Accumulators
from ..blocks import Blocks, covers
from ..loops.loop_writer import LoopWriter
from ..loops.nest import NestBuilder
from ..moments import Moments
from ..work import Carry, Work
from ..writer import Scope
from .tile_writer import TileWriter, tile_type
from .zeros import is_zero_when_inactive


class TileAccumulators(Accumulators):
    """Carried tiles: each lane takes every so manyth element; the lanes are combined in the end."""

    writer: TileWriter

    def _full(self, op: Reduction | Along) -> tuple[int, ...]:
        """The shape of what is combined."""
        return self.writer.shape(self.writer.full.runs[op])

    def _nothing(self, scope: Scope, op: Reduction | ScanOp, shape: tuple[int, ...]) -> list[SSAValue]:
        shapes = self._shapes(op, shape)
        values = [self.writer.constant(value) for value in identities(op)]
        return [self.writer.stretch(scope, v, s) for v, s in zip(values, shapes, strict=True)]

    def _shapes(self, op: Reduction | ScanOp, shape: tuple[int, ...]) -> list[tuple[int, ...]]:
        """The shape of each value that is combined, in tiles of `shape`.

        How many numbers were met varies only with the mask, and with what the op is told.
        """
        shapes = [shape] * len(op.results)
        if isinstance(op, MomentsOp):
            w = self.writer
            varies = w.full.domains.get(op.count, frozenset()) | (w.full.over[op] & w.masked)
            counted = tuple(n if a in varies else 1 for a, n in zip(w.frame, shape, strict=False))
            shapes[2] = counted if shape else ()
        return shapes

    def start(self, scope: Scope, op: Reduction | ScanOp) -> tuple[SSAValue, ...]:
        """Identities; of a scan, along which one total is carried."""
        self.writer.location = op.location
        shape = self._full(op)
        if isinstance(op, ScanOp):
            shape = tuple(1 if a == op.along else n for a, n in zip(self.writer.frame, shape, strict=True))
        return tuple(self._nothing(scope, op, shape))

    def elements(self, scope: Scope, op: Reduction, *, whole: bool = False) -> list[SSAValue]:
        """What is combined here, identities in inactive lanes.

        Where this is the `whole` of a row, whose length is known, nobody asks which lanes count.
        """
        self.writer.location = op.location
        shape = self._full(op)
        operands = zip(op.operands, self._shapes(op, shape), strict=True)
        values = [self.writer.stretch(scope, self.writer.value(scope, v), s) for v, s in operands]
        over = self.writer.full.over[op]
        if isinstance(op, MomentsOp):
            return self._groups(scope, op, values, counted=not whole or self._count(op) is None)
        adds = isinstance(op, ReduceOp) and op.kind.data == "add"
        if adds and is_zero_when_inactive(op.operands[0], over, self.writer.full):
            return values
        nothing = self._nothing(scope, op, ())
        return [self.writer.masked_out(scope, v, n, over) for v, n in zip(values, nothing, strict=True)]

    def _groups(
        self, scope: Scope, op: MomentsOp, values: list[SSAValue], *, counted: bool
    ) -> list[SSAValue]:
        """Groups of no numbers in inactive lanes."""
        over = self.writer.full.over[op]
        nothing = self._nothing(scope, op, ())
        kept = [is_zero_when_inactive(v, over, self.writer.full) for v in op.operands]
        kept[1] = kept[1] or op.of_numbers
        kept[2] = kept[2] or not counted
        groups = zip(values, nothing, kept, strict=True)
        return [v if keep else self.writer.masked_out(scope, v, n, over) for v, n, keep in groups]

    def add(self, scope: Scope, op: Reduction | ScanOp, acc: Sequence[SSAValue]) -> tuple[SSAValue, ...]:
        assert not isinstance(op, ScanOp)
        return self.join(scope, op, acc, self.elements(scope, op))

    def finish(self, scope: Scope, carry: Carry) -> None:
        """Collapse the dimensions of reduced axes."""
        assert not isinstance(carry.op, ScanOp)
        scope.env.update(zip(carry.op.results, self.collapsed(scope, carry.op, carry.values), strict=True))

    def reduce(self, scope: Scope, op: Reduction) -> None:
        """The results of `op` over what a tile has."""
        found = self.collapsed(scope, op, self.elements(scope, op, whole=True), joined=False)
        scope.env.update(zip(op.results, found, strict=True))

    def collapsed(
        self, scope: Scope, op: Reduction, values: Sequence[SSAValue], *, joined: bool = True
    ) -> Sequence[SSAValue]:
        """One result per row, from a tile of partial ones."""
        self.writer.location = op.location
        shape = shape_of_lanes(values[0].type)
        over = self.writer.full.over[op]
        dims = [i for i, a in enumerate(self.writer.frame) if a in over and shape and shape[i] > 1]
        if isinstance(op, MomentsOp):
            return self._whole(scope, op, values, dims, joined)
        if not dims:
            return values
        if isinstance(op, SumExpOp):
            return exponentials.over_all(
                values,
                lambda kind, value: self._collapse(scope, kind, value, dims),
                lambda value: self.writer.stretch(scope, value, shape),
                self._emit(scope),
            )
        best = self._collapse(scope, op.kind.data, values[0], dims)
        if not isinstance(op, ArgReduceOp):
            return (best,)
        emit = self._emit(scope)
        spread = self.writer.stretch(scope, best, shape)
        last = self.writer.stretch(scope, self.writer.constant(last_position(op.index.type)), shape)
        matching = match_positions((values[0], values[1]), spread, last, emit)
        return best, self._collapse(scope, "min", matching, dims)

    def _whole(
        self, scope: Scope, op: MomentsOp, values: Sequence[SSAValue], dims: Sequence[int], joined: bool
    ) -> Sequence[SSAValue]:
        """The moments of a row, from those of the lanes."""
        shape = shape_of_lanes(values[0].type)

        def total(value: SSAValue) -> SSAValue:
            if value is values[2] and (known := self._count(op)) is not None:
                return known
            own = shape_of_lanes(value.type) or (1,) * len(shape)
            alike = prod(shape[i] for i in dims if own[i] == 1)
            if alike > 1:
                times = self.writer.constant(
                    FloatAttr(float(alike), cast(AnyFloat, element_type(value.type)))
                )
                times = self.writer.stretch(scope, times, own)
                value = self._emit(scope)(arith.MulfOp(value, times))
            left = [i for i in dims if own[i] > 1]
            return self._collapse(scope, "add", value, left) if left else value

        def held(value: SSAValue) -> SSAValue:
            if joined or self._count(op) is None:
                return value
            nothing = self.writer.constant(FloatAttr(0.0, cast(AnyFloat, element_type(value.type))))
            return self.writer.masked_out(scope, value, nothing, self.writer.full.over[op])

        return self.moments(scope, op).whole(values, total, joined=joined, held=held)

    def _count(self, op: MomentsOp) -> SSAValue | None:
        """How many numbers a row has, where that is known: every place of it counts once."""
        number = product(self.writer.space[a] for a in op.over).constant
        one = op.count.owner
        if number is None or not isinstance(one, arith.ConstantOp) or not op.of_numbers:
            return None
        return self.writer.constant(FloatAttr(float(number), cast(AnyFloat, op.count.type)))

    def moments(self, scope: Scope, op: MomentsOp) -> Moments:
        def spread(value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
            return self.writer.stretch(scope, value, shape)

        return Moments(self._emit(scope), self.writer.constant, spread, numbers=op.of_numbers)

    def _filled(self, scope: Scope, number: FloatAttr[AnyFloat], shape: tuple[int, ...]) -> SSAValue:
        return self.writer.stretch(scope, self.writer.constant(number), shape)

    def _collapse(self, scope: Scope, kind: str, value: SSAValue, dims: Sequence[int]) -> SSAValue:
        return self.writer.put(scope, CollapseOp.make(kind, value, dims))

    def scan(self, scope: Scope, op: ScanOp) -> None:
        """Running values of this block, on top of the total of the blocks before."""
        self.writer.location = op.location
        emit, kind = self._emit(scope), op.kind.data
        shape = self._full(op)
        value, *factors = (
            self.writer.stretch(scope, self.writer.value(scope, v), shape) for v in op.operands
        )
        at = self.writer.frame.index(op.along) if op.along in self.writer.frame else None
        running = value if at is None else emit(CumulateOp.make(kind, value, at, *factors))
        total = scope.running.get(op)
        if total is not None and factors:
            running = self._on_top(scope, op, total[0], running, factors[0])
        elif total is not None:
            running = combine(kind, self.writer.stretch(scope, total[0], shape), running, emit)
            part = value if at is None else emit(CollapseOp.make(kind, value, [at]))
            scope.running[op] = (combine(kind, total[0], part, emit),)
        scope.env[op.result] = running

    def _on_top(
        self, scope: Scope, op: ScanOp, total: SSAValue, running: SSAValue, factor: SSAValue
    ) -> SSAValue:
        """A linear recurrence goes on from `total`, which decays; what the last lane has is the next one."""
        emit, shape = self._emit(scope), self._full(op)
        if op.along not in self.writer.frame:
            running = linear(total, running, factor, emit)
            scope.running[op] = (running,)
            return running
        at = self.writer.frame.index(op.along)
        decay = emit(CumulateOp.make("mul", factor, at))
        running = linear(self.writer.stretch(scope, total, shape), running, decay, emit)
        scope.running[op] = (self._collapse(scope, "add", self._last(scope, op, running), [at]),)
        return running

    def _last(self, scope: Scope, op: ScanOp, running: SSAValue) -> SSAValue:
        """What the last lane along the axis has, and zeros."""
        emit, writer = self._emit(scope), self.writer
        size, lanes = writer.block[op.along], writer.shape(frozenset((op.along,)))
        lane = emit(IndexOp.make(dim(op.along) % size, tile_type(i64, lanes), writer.frame))
        end = writer.stretch(scope, writer.constant(IntegerAttr(size - 1, i64)), lanes)
        last = writer.stretch(scope, compare("eq", lane, end, emit), shape_of_lanes(running.type))
        return select(last, running, self._nothing(scope, op, self._full(op))[0], emit)

    def sort(self, scope: Scope, op: SortOp) -> None:
        """Whole rows: what is inactive comes last, behind what is equal to it."""
        self.writer.location = op.location
        if op.along not in self.writer.frame:  # of one element
            scope.env[op.values] = self.writer.value(scope, op.value)
            scope.env[op.positions] = self.writer.constant(IntegerAttr(0, i32))
            return
        value = self.writer.stretch(scope, self.writer.value(scope, op.value), self._full(op))
        last = self.writer.constant(last_in_order(op))
        value = self.writer.masked_out(scope, value, last, frozenset((op.along,)))
        at = self.writer.frame.index(op.along)
        found = ArrangeOp.make(value, at, descending=op.descending is not None)
        self.writer.put(scope, found)
        scope.env.update(zip(op.results, found.results, strict=True))


class TileLoops(LoopWriter):
    """One loop over the blocks of an axis."""

    nests: TileNest
    writer: TileWriter

    def write(self, scope: Scope, axis: int, rest: tuple[int, ...], work: Work) -> None:
        ops = self.nests.needed(scope, work)
        scans = [op for op in ops if isinstance(op, ScanOp) and op.along == axis]
        carries = [*work.carries, *(Carry(op, self.partial.start(scope, op)) for op in scans)]
        inits = [value for carry in carries for value in carry.values]
        loop = self.nests.tiles.loop(scope, axis, inits)
        inner = scope.inner(loop.body.block)
        args = iter(loop.body.block.args)
        running = [Carry(c.op, tuple(next(args) for _ in c.values)) for c in carries]
        count = len(work.carries)
        for op, carry in zip(scans, running[count:], strict=True):
            inner.running[op] = carry.values
        self.nests.nest(inner, rest, work.with_carries(running[:count]))
        for op, carry in zip(scans, running[count:], strict=True):
            carry.values = inner.running[op]
        self._close(loop, [value for carry in running for value in carry.values])
        results = iter(loop.res)
        for carry in carries:
            carry.values = tuple(next(results) for _ in carry.values)


class TileNest(NestBuilder):
    """Writes the loops of one function on tiles."""

    def __init__(self, space: Sequence[Expr], blocks: Blocks, writer: TileWriter, body: Body) -> None:
        super().__init__(space, writer.plan, writer, body)
        self.tiles = writer
        self.blocks = blocks
        self.sums = TileAccumulators(writer.plan, writer, body)
        self.partial = self.sums
        self.loops = TileLoops(self)
        self.sorted = None  # a tile holds whole rows

    def function(self, scope: Scope, work: Sequence[Work]) -> None:
        """The grid, then blocks that cover their axis, then loops around what `work` asks for."""
        grid = [a for a, _ in self.blocks.sizes[: self.blocks.grid]]
        held = held_axes(self.blocks, self.space)
        for axis in (*grid, *held):
            loop = self.tiles.loop(scope, axis)
            if axis in grid:
                loop.properties["parallel"] = UnitAttr()
            scope = scope.inner(loop.body.block)
        loops = tuple(a for a, _ in self.blocks.sizes if a not in grid and a not in held)
        for part in work:
            self.nest(scope, loops, part)

    def _leaf(self, scope: Scope, ops: list[Operation], work: Work) -> None:
        """Values, then stores; before lanes meet for the last time, also what can be stored by then.

        `y = f(x); z = scan(y)`: `y` need not stay in registers beside the scan, unless more is loaded for it.
        What is summed along a loop is added where its sum stands.
        """
        meet = max((n for n, op in enumerate(ops) if self._lanes_meet(op)), default=0)
        loads = max((n for n, op in enumerate(ops) if isinstance(op, LoadOp)), default=-1)
        early = {op for op in work.effects if op in ops[loads + 1 : meet]}
        if early and not (work.carries or work.grows):
            for op in ops[:meet]:
                if op.results or op in early:
                    self.write(scope, op)
            ops, work = ops[meet:], Work([op for op in work.effects if op not in early], [], work.keeps)
        elif work.carries:
            self._sum(scope, ops, work)
            ops, work = [], work.with_carries(())
        super()._leaf(scope, ops, work)

    def _sum(self, scope: Scope, ops: list[Operation], work: Work) -> None:
        """Values, and what loops carry of them, each where it stands."""
        carries: dict[Operation, Carry] = {carry.op: carry for carry in work.carries}
        late = {*work.effects, *(grow.op for grow in work.grows)}
        for op in ops:
            if (carry := carries.get(op)) is not None:
                carry.values = self.partial.add(scope, carry.op, carry.values)
            elif op not in late:
                self.write(scope, op)

    def _lanes_meet(self, op: Operation) -> bool:
        return isinstance(op, ScanOp | SortOp) or (
            isinstance(op, Reduction) and bool(self.tiles.full.over[op])
        )

    def write(self, scope: Scope, op: Operation) -> None:
        """One op on one tile."""
        if isinstance(op, ScanOp):
            self.sums.scan(scope, op)
        elif isinstance(op, SortOp):
            self.sums.sort(scope, op)
        elif isinstance(op, Reduction) and self.tiles.full.over[op]:
            self.sums.reduce(scope, op)
        else:
            super().write(scope, op)


def held_axes(blocks: Blocks, space: Sequence[Expr]) -> list[int]:
    """The axes beside the grid that one block covers."""
    return [a for a, n in blocks.sizes[blocks.grid :] if covers(n, space[a])]
