"""Writes the loops of a matrix product: panels, register tiles, the sum, then the rest of the body."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Expr, Var, as_expr, dim, product
from tilewright.dialects.tk.access import LoadOp, LocalOp, StoreOp
from tilewright.dialects.tk.attributes import map_attr
from tilewright.dialects.tk.contraction import Contraction, find_contraction
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.loops import ForOp, YieldOp
from tilewright.dialects.types import flat_memref

from .body import Body
from .combine import combine, identity
from .plan import Plan
from .tile import Tile
from .writer import Scope, Writer, vector_type


class ContractionWriter:
    """Loops for one function: panel (parallel), rows of tiles, sum, epilogue.

    The tile's sums stay in registers over the whole reduced axes. They then go through a
    small scratch, from which the rest of the body reads them vector by vector, so that
    code for it is written once, whatever the tile.
    """

    def __init__(self, func: FuncOp, tile: Tile, plan: Plan, writer: Writer, body: Body) -> None:
        found = find_contraction(func.body.block)
        assert found is not None
        self.contraction: Contraction = found
        self.tile = tile
        self.plan = plan
        self.writer = writer
        self.body = body
        self.space = func.space
        self.over = tuple(sorted(found.over))
        fixed = {tile.row, tile.column, *self.over}
        self.outer = tuple(a for a in plan.order if a not in fixed)
        self._next_axis = len(self.space)
        if tile.column in self._left_axes():  # the tile was chosen with the operands swapped
            self.left, self.right = found.right, found.left
        else:
            self.left, self.right = found.left, found.right

    def _left_axes(self) -> frozenset[int]:
        return self.body.domains[self.contraction.left]

    def write(self, scope: Scope) -> None:
        """All loops of the function."""
        size = self.space[self.tile.row]
        start: Expr = as_expr(0)
        for rows in self._row_counts():
            end = size - size % rows
            if (end - start).constant != 0:
                self._panels(scope, rows, start, end)
            start = end

    def _row_counts(self) -> list[int]:
        """Tile heights: the full one, then smaller ones for the rows that are left."""
        size = self.space[self.tile.row].constant
        counts = [self.tile.rows, *(n for n in (4, 2, 1) if n < self.tile.rows)]
        if size is None:
            counts = [n for n in counts if n != 2]
        # `size % n` must be what is left after the larger ones, so each divides the one before
        kept: list[int] = []
        for n in counts:
            if not kept or kept[-1] % n == 0:
                kept.append(n)
        return kept

    def _panels(self, scope: Scope, rows: int, start: Expr, end: Expr) -> None:
        """One loop over the outer axes, panels of columns and tiles of rows from `start` to `end`."""
        tile = self.tile
        width = tile.vectors * tile.lanes
        columns = self.space[tile.column] // width
        tiles = (end - start) // rows
        counts = [*(self.space[a] for a in self.outer), columns, tiles]
        flat = self._fresh()
        loop = ForOp.make(flat, 0, product(counts), 1)
        if self.plan.parallel:
            loop.properties["parallel"] = UnitAttr()
            if self.plan.worth is not None:
                loop.properties["worth"] = map_attr((self.plan.worth,))
        self.writer.location = self.contraction.reduce.location
        self.writer.put_loop(scope, loop)
        inner = scope.inner(loop.body.block)
        values = [dim(flat) // product(counts[i + 1 :]) for i in range(len(counts))]
        places = [v % n if i else v for i, (v, n) in enumerate(zip(values, counts, strict=True))]
        for axis, place in zip(self.outer, places, strict=False):
            inner.axes[Var("d", axis)] = place
        inner.axes[Var("d", tile.row)] = start + places[-1] * rows
        self._panel(inner, rows, places[-2] * width, width)

    def _panel(self, scope: Scope, rows: int, first: Expr, width: int) -> None:
        """The one step of a loop that binds the lanes, counted from the panel's first column."""
        column = ForOp.make(self.tile.column, 0, width, width)
        self.writer.put_loop(scope, column)
        inner = scope.inner(column.body.block)
        inner.axes[Var("d", self.tile.column)] = first + dim(self.tile.column)
        inner.vectors = True
        sums = self._sums(inner, rows)
        self._epilogue(inner, rows, sums, width)

    # The sum

    def _sums(self, scope: Scope, rows: int) -> list[SSAValue]:
        zero = self.writer.constant(identity("add", self.contraction.reduce.result.type))
        start = self.writer.widen(scope, zero)
        acc = [start] * (rows * self.tile.vectors)
        return self._sum_loops(scope, self.over, rows, acc)

    def _sum_loops(
        self, scope: Scope, over: Sequence[int], rows: int, acc: Sequence[SSAValue]
    ) -> list[SSAValue]:
        if not over:
            return self._multiply(scope, rows, acc)
        loop = ForOp.make(over[0], 0, self.space[over[0]], 1, acc)
        self.writer.put_loop(scope, loop)
        inner = scope.inner(loop.body.block)
        values = self._sum_loops(inner, over[1:], rows, list(loop.body.block.args))
        end = YieldOp.create(operands=values)
        end.location = loop.location
        loop.body.block.add_op(end)
        return list(loop.res)

    def _multiply(self, scope: Scope, rows: int, acc: Sequence[SSAValue]) -> list[SSAValue]:
        """One step of the sum for every element of the tile."""
        tile = self.tile
        right = [self._value(scope, self.right, tile.column, j * tile.lanes) for j in range(tile.vectors)]
        made: list[SSAValue] = []
        for i in range(rows):
            left = self._value(scope, self.left, tile.row, i)
            for j in range(tile.vectors):
                self.writer.location = self.contraction.product.location
                mul = type(self.contraction.product).create(
                    operands=[left, right[j]], result_types=[right[j].type]
                )
                term = self.writer.put(scope, mul)
                self.writer.location = self.contraction.reduce.location
                made.append(combine("add", acc[len(made)], term, lambda op: self.writer.put(scope, op)))
        return made

    def _value(self, scope: Scope, value: SSAValue, axis: int, offset: int) -> SSAValue:
        """An operand of the product as a vector, `offset` further along `axis`."""
        copy = scope.beside()
        var = Var("d", axis)
        copy.axes[var] = copy.axes.get(var, dim(axis)) + offset
        owner = value.owner
        assert isinstance(owner, Operation)
        for op in self.body.closure([owner], copy.env):
            self.writer.copy(copy, op)
        self.writer.location = owner.location
        return self.writer.widen(copy, self.writer.value(copy, value))

    # What follows the sum

    def _epilogue(self, scope: Scope, rows: int, sums: Sequence[SSAValue], width: int) -> None:
        tile = self.tile
        result = self.contraction.reduce.result
        type_ = flat_memref(result.type, rows * width)
        local = LocalOp.make(as_expr(rows * width), type_)
        scratch = self.writer.put(scope, local)
        column = Var("d", tile.column)
        base = dim(tile.column)
        for n, value in enumerate(sums):
            i, j = divmod(n, tile.vectors)
            place = base + i * width + j * tile.lanes
            self.writer.put(scope, StoreOp.make(value, scratch, (place,), lanes=tile.column))
        row, step = self._fresh(), self._fresh()
        outer = ForOp.make(row, 0, rows, 1)
        self.writer.put_loop(scope, outer)
        at_row = scope.inner(outer.body.block)
        start = at_row.axes.get(Var("d", tile.row), dim(tile.row))
        at_row.axes[Var("d", tile.row)] = start + dim(row)
        loop = ForOp.make(step, 0, width, tile.lanes)
        self.writer.put_loop(at_row, loop)
        inner = at_row.inner(loop.body.block)
        inner.axes[column] = inner.axes[column] + dim(step)
        place = base + dim(row) * width + dim(step)
        wide = vector_type(result.type, tile.lanes)
        load = LoadOp.make(scratch, (place,), result_type=wide, lanes=tile.column)
        inner.env[result] = self.writer.put(inner, load)
        for op in self.body.closure(self.body.sinks(), inner.env):
            self.writer.copy(inner, op)

    def _fresh(self) -> int:
        self._next_axis += 1
        return self._next_axis - 1
