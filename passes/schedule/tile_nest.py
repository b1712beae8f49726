"""Loop nests of tiles: the grid, blocks that cover an axis, and loops over the blocks of the others."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tk.compute import ArgReduceOp, ScanOp
from tilewright.dialects.tk.scope import shape_of_lanes
from tilewright.dialects.tk.tiles import CollapseOp, CumulateOp

from .accumulate import Accumulators
from .blocks import Blocks, covers
from .body import Body, Reduction
from .combine import LAST, combine, combine_positions, identity, match_positions
from .loop_writer import LoopWriter
from .nest import NestBuilder
from .tile_writer import TileWriter
from .work import Carry, Work
from .writer import Scope
from .zeros import is_zero_when_inactive


class TileAccumulators(Accumulators):
    """Carried tiles: each lane takes every so manyth element; the lanes are combined in the end."""

    writer: TileWriter

    def _full(self, op: Reduction | ScanOp) -> tuple[int, ...]:
        """The shape of what is combined."""
        return self.writer.shape(self.writer.full.runs[op])

    def _nothing(self, scope: Scope, op: Reduction | ScanOp, shape: tuple[int, ...]) -> list[SSAValue]:
        values = [self.writer.constant(identity(op.kind.data, op.operands[0].type))]
        if isinstance(op, ArgReduceOp):
            values.append(self.writer.constant(IntegerAttr(LAST, i64)))
        return [self.writer.stretch(scope, value, shape) for value in values]

    def start(self, scope: Scope, op: Reduction | ScanOp) -> tuple[SSAValue, ...]:
        """Identities; of a scan, along which one total is carried."""
        self.writer.location = op.location
        shape = self._full(op)
        if isinstance(op, ScanOp):
            shape = tuple(1 if a == op.along else n for a, n in zip(self.writer.frame, shape, strict=True))
        return tuple(self._nothing(scope, op, shape))

    def elements(self, scope: Scope, op: Reduction) -> list[SSAValue]:
        """What is combined here, identities in inactive lanes."""
        self.writer.location = op.location
        shape = self._full(op)
        values = [self.writer.stretch(scope, self.writer.value(scope, v), shape) for v in op.operands]
        over = self.writer.full.over[op]
        if op.kind.data == "add" and is_zero_when_inactive(op.operands[0], over, self.writer.full):
            return values
        nothing = self._nothing(scope, op, ())
        return [self.writer.masked_out(scope, v, n, over) for v, n in zip(values, nothing, strict=True)]

    def add(self, scope: Scope, op: Reduction | ScanOp, acc: Sequence[SSAValue]) -> tuple[SSAValue, ...]:
        assert not isinstance(op, ScanOp)
        return self.join(scope, op, acc, self.elements(scope, op))

    def join(
        self, scope: Scope, op: Reduction | ScanOp, acc: Sequence[SSAValue], new: Sequence[SSAValue]
    ) -> tuple[SSAValue, ...]:
        self.writer.location = op.location
        if isinstance(op, ArgReduceOp):
            return combine_positions(op.kind.data, (acc[0], acc[1]), (new[0], new[1]), self._emit(scope))
        return (combine(op.kind.data, acc[0], new[0], self._emit(scope)),)

    def finish(self, scope: Scope, carry: Carry) -> None:
        """Collapse the dimensions of reduced axes."""
        assert not isinstance(carry.op, ScanOp)
        scope.env.update(zip(carry.op.results, self.collapsed(scope, carry.op, carry.values), strict=True))

    def collapsed(self, scope: Scope, op: Reduction, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """One result per row, from a tile of partial ones."""
        self.writer.location = op.location
        shape = shape_of_lanes(values[0].type)
        over = self.writer.full.over[op]
        dims = [i for i, a in enumerate(self.writer.frame) if a in over and shape and shape[i] > 1]
        if not dims:
            return values
        best = self._collapse(scope, op.kind.data, values[0], dims)
        if not isinstance(op, ArgReduceOp):
            return (best,)
        emit = self._emit(scope)
        spread = self.writer.stretch(scope, best, shape)
        last = self.writer.stretch(scope, self.writer.constant(IntegerAttr(LAST, i64)), shape)
        matching = match_positions((values[0], values[1]), spread, last, emit)
        return best, self._collapse(scope, "min", matching, dims)

    def _collapse(self, scope: Scope, kind: str, value: SSAValue, dims: Sequence[int]) -> SSAValue:
        return self.writer.put(scope, CollapseOp.make(kind, value, dims))

    def scan(self, scope: Scope, op: ScanOp) -> None:
        """Running values of this block, on top of the total of the blocks before."""
        self.writer.location = op.location
        emit, kind = self._emit(scope), op.kind.data
        shape = self._full(op)
        value = self.writer.stretch(scope, self.writer.value(scope, op.value), shape)
        dim = self.writer.frame.index(op.along) if op.along in self.writer.frame else None
        running = value if dim is None else emit(CumulateOp.make(kind, value, dim))
        total = scope.running.get(op)
        if total is not None:
            running = combine(kind, self.writer.stretch(scope, total[0], shape), running, emit)
            part = value if dim is None else emit(CollapseOp.make(kind, value, [dim]))
            scope.running[op] = (combine(kind, total[0], part, emit),)
        scope.env[op.result] = running


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

    def write(self, scope: Scope, op: Operation) -> None:
        """One op on one tile."""
        if isinstance(op, ScanOp):
            self.sums.scan(scope, op)
        elif isinstance(op, Reduction) and self.tiles.full.over[op]:
            found = self.sums.collapsed(scope, op, self.sums.elements(scope, op))
            scope.env.update(zip(op.results, found, strict=True))
        else:
            super().write(scope, op)


def held_axes(blocks: Blocks, space: Sequence[Expr]) -> list[int]:
    """The axes beside the grid that one block covers."""
    return [a for a, n in blocks.sizes[blocks.grid :] if covers(n, space[a])]
