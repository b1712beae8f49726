"""Writes the loops of a matrix product: panels, register tiles, the sum, then the rest of the body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Expr, Var, as_expr, dim, is_nonnegative, minimum, product
from tilewright.dialects.tk.access import LoadOp, LocalOp, StoreOp
from tilewright.dialects.tk.attributes import map_attr
from tilewright.dialects.tk.contraction import Contraction, find_contraction, find_matrix_vector
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.loops import ForOp, YieldOp
from tilewright.dialects.types import flat_memref

from ...kernels.combine import combine, identity
from ...kernels.facts import Body
from ..plan import Plan
from ..writer import Scope, Writer, vector_type
from .dot import GroupOperands
from .tile import Tile, row_counts
from .turned_tiles import TurnedTile

_LARGE = 1 << 16
"""Elements of a right operand from which on it does not stay in the nearest caches."""


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
        self.outer = self._loop_axes(domains[self.left], domains[self.right])
        self.shares_column = tile.column in domains[self.left]

    def _loop_axes(self, left: frozenset[int], right: frozenset[int]) -> tuple[int, ...]:
        """The axes around a tile, outermost first; `row` and `column` count tiles.

        A small right operand stays in cache and is walked again for every tile of rows, a
        large one is walked once. Shared columns come first: what the rows of an image have in
        common then stays in cache.
        """
        tile = self.tile
        sizes = [self.space[a].constant for a in right]
        large = None in sizes or prod(n for n in sizes if n) > _LARGE

        def place(axis: int) -> tuple[int, bool]:
            if axis in left and axis in right:
                return 0, False
            return 1 if (axis in right) == large else 2, axis in (tile.row, tile.column)

        axes = dict.fromkeys((*self.plan.order, tile.row))
        return tuple(sorted((a for a in axes if a not in self.contraction.over), key=place))

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
        """One loop over tiles, those of rows from `start` to `end`."""
        tile = self.tile
        width = tile.vectors * tile.lanes
        sizes = {a: self.space[a] for a in self.outer}
        sizes[tile.column] = sizes[tile.column] // width
        sizes[tile.row] = (end - start) // rows
        counts = [sizes[a] for a in self.outer]
        flat = self._fresh()
        loop = ForOp.make(flat, 0, product(counts), 1)
        if self.plan.parallel:
            loop.properties["parallel"] = UnitAttr()
            if self.plan.worth is not None:
                loop.properties["worth"] = map_attr((self.plan.worth,))
        self.writer.location = self.contraction.reduce.location
        self.writer.put_loop(scope, loop)
        inner = scope.inner(loop.body.block)
        for i, axis in enumerate(self.outer):
            place = dim(flat) // product(counts[i + 1 :])
            inner.axes[Var("d", axis)] = place % counts[i] if i else place
        row, column = Var("d", tile.row), Var("d", tile.column)
        inner.axes[row] = start + inner.axes[row] * rows
        self._panel(inner, rows, inner.axes[column] * width, width)

    def _panel(self, scope: Scope, rows: int, first: Expr, width: int) -> None:
        """The one step of a loop that binds the lanes, counted from the panel's first column."""
        turned = TurnedTile(self.tile, rows, self.writer, self._fresh)
        known = {**scope.env, self.contraction.reduce.result: self.contraction.reduce.result}
        turned.before(scope, first, self.body.closure(self.body.sinks(), known))
        column = ForOp.make(self.tile.column, 0, width, width)
        self.writer.put_loop(scope, column)
        inner = scope.inner(column.body.block)
        inner.axes[Var("d", self.tile.column)] = first + dim(self.tile.column)
        inner.vectors = True
        type_ = flat_memref(self.contraction.reduce.result.type, rows * width)
        scratch = self.writer.put(inner, LocalOp.make(as_expr(rows * width), type_))
        self._accumulate(inner, rows, scratch, width)
        self._epilogue(inner, rows, scratch, turned)
        turned.after(scope, first)

    # The sum

    def _sums(
        self, scope: Scope, over: Sequence[int], bounds: Mapping[int, tuple[Expr, Expr]], rows: int
    ) -> list[SSAValue]:
        """The sums of a tile over `over`, in registers."""
        zero = self.writer.constant(identity("add", self.contraction.reduce.result.type))
        start = self.writer.widen(scope, zero)
        acc = [start] * (rows * self.tile.vectors)
        return self._sum_loops(scope, over, bounds, rows, acc)

    def _sum_loops(
        self,
        scope: Scope,
        over: Sequence[int],
        bounds: Mapping[int, tuple[Expr, Expr]],
        rows: int,
        acc: Sequence[SSAValue],
    ) -> list[SSAValue]:
        if not over:
            return self._multiply(scope, rows, acc)
        lower, upper = bounds.get(over[0], (as_expr(0), self.space[over[0]]))
        loop = ForOp.make(over[0], lower, upper, 1, acc)
        self.writer.put_loop(scope, loop)
        inner = scope.inner(loop.body.block)
        values = self._sum_loops(inner, over[1:], bounds, rows, list(loop.body.block.args))
        end = YieldOp.create(operands=values)
        end.location = loop.location
        loop.body.block.add_op(end)
        return list(loop.res)

    def _accumulate(self, scope: Scope, rows: int, scratch: SSAValue, width: int) -> None:
        """The tile's sums into scratch; long sums in blocks, so that rounding errors do not pile up."""
        outer, inner = _split(self.over, self.space)
        block = _block(self.space[inner[0]]) if len(inner) == 1 else None
        if not outer and block is None:
            self._store_sums(scope, scratch, width, self._sums(scope, inner, {}, rows), add=False)
            return
        zero = self.writer.constant(identity("add", self.contraction.reduce.result.type))
        nothing = [self.writer.widen(scope, zero)] * (rows * self.tile.vectors)
        self._store_sums(scope, scratch, width, nothing, add=False)
        for axis in outer:
            scope = self._open(scope, ForOp.make(axis, 0, self.space[axis], 1))
        bounds: dict[int, tuple[Expr, Expr]] = {}
        if block is not None:
            start, size = self._fresh(), self.space[inner[0]]
            scope = self._open(scope, ForOp.make(start, 0, size, block))
            end = dim(start) + block
            bounds[inner[0]] = (dim(start), end if size.exact_div(block) else minimum(end, size))
        self._store_sums(scope, scratch, width, self._sums(scope, inner, bounds, rows), add=True)

    def _open(self, scope: Scope, loop: ForOp) -> Scope:
        self.writer.put_loop(scope, loop)
        return scope.inner(loop.body.block)

    def _store_sums(
        self, scope: Scope, scratch: SSAValue, width: int, sums: Sequence[SSAValue], *, add: bool
    ) -> None:
        column = self.tile.column
        for n, value in enumerate(sums):
            i, j = divmod(n, self.tile.vectors)
            place = (dim(column) + i * width + j * self.tile.lanes,)
            if add:
                old = self.writer.put(
                    scope, LoadOp.make(scratch, place, result_type=value.type, lanes=column)
                )
                value = combine("add", old, value, lambda op: self.writer.put(scope, op))
            self.writer.put(scope, StoreOp.make(value, scratch, place, lanes=column))

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

    def _epilogue(self, scope: Scope, rows: int, scratch: SSAValue, turned: TurnedTile) -> None:
        tile, width = self.tile, turned.width
        result = self.contraction.reduce.result
        column = Var("d", tile.column)
        base = dim(tile.column)
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
        turned.load(inner, place)
        for op in self.body.closure(self.body.sinks(), inner.env):
            if isinstance(op, StoreOp) and op in turned.locals:
                turned.store(inner, op, place)
            else:
                self.writer.copy(inner, op)

    def _fresh(self) -> int:
        self._next_axis += 1
        return self._next_axis - 1


CHAIN = 512
"""Products that one accumulator takes: f32 sums of 2048 have twice the error of eager's blocked ones."""


def _split(over: tuple[int, ...], space: Sequence[Expr]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Reduced axes outside of a block of about CHAIN products, and those inside."""
    total, first = as_expr(1), len(over)
    while first > 0:
        total = total * space[over[first - 1]]
        if first < len(over) and not is_nonnegative(CHAIN - total):
            break
        first -= 1
    return over[:first], over[first:]


def _block(size: Expr) -> int | None:
    """Steps per block of an axis longer than CHAIN; a divisor of its size where one is near."""
    if size.constant is None:
        return CHAIN
    if size.constant <= CHAIN:
        return None
    divisors = (n for n in range(CHAIN, CHAIN // 4, -1) if size.constant % n == 0)
    return next(divisors, CHAIN)
