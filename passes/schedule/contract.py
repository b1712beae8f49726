"""Writes the loops of a matrix product: panels, register tiles, the sum, then the rest of the body."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Expr, Var, as_expr, dim, product
from tilewright.dialects.tk.access import LoadOp, LocalOp, StoreOp
from tilewright.dialects.tk.attributes import map_attr
from tilewright.dialects.tk.contraction import Contraction, find_contraction, find_matrix_vector
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.loops import ForOp, YieldOp
from tilewright.dialects.types import flat_memref

from .body import Body
from .combine import combine, identity
from .dot import GroupOperands
from .plan import Plan
from .tile import Tile, row_counts
from .writer import Scope, Writer, vector_type

_LARGE = 1 << 17
"""Elements of a right operand that does not stay in the nearest caches."""


class ContractionWriter:
    """Loops for one function: panel (parallel), rows of tiles, sum, epilogue.

    The tile's sums stay in registers over the whole reduced axes. They then go through a
    small scratch, from which the rest of the body reads them vector by vector, so that
    code for it is written once, whatever the tile.
    """

    def __init__(self, func: FuncOp, tile: Tile, plan: Plan, writer: Writer, body: Body) -> None:
        block = func.body.block
        found = find_contraction(block, shared_columns=True) or find_matrix_vector(block)
        assert found is not None
        self.contraction: Contraction = found
        self.tile = tile
        self.plan = plan
        self.writer = writer
        self.body = body
        self.space = (*func.space, as_expr(1))[: max(len(func.space), tile.row + 1)]
        self.over = tuple(sorted(found.over - {tile.group}))
        self._next_axis = len(self.space)
        domains = body.domains
        if tile.row in domains[found.right]:  # the tile was chosen with the operands swapped
            self.left, self.right = found.right, found.left
        else:
            self.left, self.right = found.left, found.right
        self.outer = self._outer_axes(domains[self.left], domains[self.right])
        self.shares_column = tile.column in domains[self.left]

    def _outer_axes(self, left: frozenset[int], right: frozenset[int]) -> tuple[int, ...]:
        """Axes outside of a tile, and that of columns: a large right operand is walked only once."""
        tile = self.tile
        axes = [a for a in self.plan.order if a != tile.row and a not in self.contraction.over]
        walked = [self.space[a].constant for a in right]
        large = None in walked or prod(n for n in walked if n) > _LARGE

        def place(axis: int) -> tuple[int, bool]:
            only_left = axis not in right
            both = axis in left and axis in right and axis != tile.column
            return (0 if both else 1 if only_left != large else 2, axis == tile.column)

        return tuple(sorted(axes, key=place))

    def write(self, scope: Scope) -> None:
        """All loops of the function."""
        size = self.space[self.tile.row]
        start: Expr = as_expr(0)
        for rows in row_counts(size.constant, self.tile.rows):
            end = size - size % rows
            if (end - start).constant != 0:
                self._panels(scope, rows, start, end)
            start = end

    def _panels(self, scope: Scope, rows: int, start: Expr, end: Expr) -> None:
        """One loop over the outer axes, panels of columns and tiles of rows from `start` to `end`."""
        tile = self.tile
        width = tile.vectors * tile.lanes
        tiles = (end - start) // rows
        sizes = {a: self.space[a] for a in self.outer} | {tile.column: self.space[tile.column] // width}
        counts = [*(sizes[a] for a in self.outer), tiles]
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
        self._panel(inner, rows, inner.axes[Var("d", tile.column)] * width, width)

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
        if tile.group is not None:
            operands = GroupOperands(self.contraction, tile, self.writer, self.body)
            return operands.multiply(scope, rows, acc)
        right = [self._value(scope, self.right, 0, j) for j in range(tile.vectors)]
        made: list[SSAValue] = []
        for i in range(rows):
            left = self._value(scope, self.left, i, 0)
            for j in range(tile.vectors):
                if j and self.shares_column:
                    left = self._value(scope, self.left, i, j)
                self.writer.location = self.contraction.product.location
                mul = type(self.contraction.product).create(
                    operands=[left, right[j]], result_types=[right[j].type]
                )
                term = self.writer.put(scope, mul)
                self.writer.location = self.contraction.reduce.location
                made.append(combine("add", acc[len(made)], term, lambda op: self.writer.put(scope, op)))
        return made

    def _value(self, scope: Scope, value: SSAValue, row: int, vector: int) -> SSAValue:
        """An operand of the product as a vector: that of a row and a vector of the tile."""
        copy = scope.beside()
        for axis, offset in ((self.tile.row, row), (self.tile.column, vector * self.tile.lanes)):
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
