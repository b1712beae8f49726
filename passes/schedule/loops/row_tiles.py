"""Scratch of chained products with a row in each lane: element `i` of row `l` is at `i*rows + l`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace

from xdsl.dialects.builtin import IndexType, f32
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.index_expr import ZERO, Expr, Var, as_expr, dim, maximum, minimum
from tilewright.dialects.tk.access import LoadOp, LocalOp, StoreOp
from tilewright.dialects.tk.arith import IndexCastOp
from tilewright.dialects.tk.loops import ForOp
from tilewright.dialects.tk.turn import Range, TurnOp
from tilewright.dialects.types import element_type, flat_memref

from ...kernels.chains import Chain, Factors
from ...kernels.facts import Body
from ..cost import turns
from ..writer import Known, Scope, Writer, vector_type


class RowTiles:
    """Reads and writes scratch of one block of rows."""

    first: Expr
    """The first row."""
    rows: int
    count: Expr
    """How many of them there are."""

    def __init__(self, writer: Writer, body: Body, chain: Chain, space: Sequence[Expr]) -> None:
        self.writer = writer
        self.body = body
        self.row, self.along = chain.row, chain.along
        self.space = space
        self.lanes = writer.plan.lanes
        self._axes = [len(space)]

    def at(self, first: Expr, rows: int, count: Expr) -> RowTiles:
        """The same for these rows."""
        tiles = copy(self)
        tiles.first, tiles.rows, tiles.count = first, rows, count
        return tiles

    def fresh(self) -> int:
        """An axis that nothing has yet."""
        self._axes.append(self._axes[-1] + 1)
        return self._axes[-2]

    # Scratch

    def local(self, scope: Scope, elements: Expr | int, element: Attribute = f32) -> SSAValue:
        """Scratch of so many elements."""
        size = as_expr(elements)
        return self.writer.put(scope, LocalOp.make(size, flat_memref(element, size)))

    def read(self, scope: Scope, local: SSAValue, index: Expr | int, j: Expr | int) -> SSAValue:
        """A vector of element `index`, from row `j` of the block on."""
        wide = vector_type(element_type(local.type), self.lanes)
        load = LoadOp.make(local, (self._place(index, j),), result_type=wide, lanes=self.row)
        return self.writer.put(scope, load)

    def write(self, scope: Scope, local: SSAValue, value: SSAValue, index: Expr | int, j: Expr | int) -> None:
        """The same the other way round."""
        self.writer.put(scope, StoreOp.make(value, local, (self._place(index, j),), lanes=self.row))

    def _place(self, index: Expr | int, j: Expr | int) -> Expr:
        return as_expr(index) * self.rows + dim(self.row) + j

    def vectors(self) -> range:
        """Where in the block its vectors begin."""
        return range(0, self.rows, self.lanes)

    # Memory

    def fill_left(self, scope: Scope, f: Factors) -> SSAValue:
        """The factor of `f` that is the same all along the chain."""
        size = self.space[f.axis]
        assert isinstance(f.left.owner, Operation)
        ops = self.body.closure([f.left.owner], Known(scope))
        turned = {op: self._turn_load(scope, op, f.axis) for op in ops if turns(op, f.axis, self.row)}
        if f.left.type == f32 and isinstance(f.left.owner, LoadOp) and f.left.owner in turned:
            return turned[f.left.owner]
        self.writer.location = f.left.owner.location
        made = self.local(scope, size * self.rows)
        loop = ForOp.make(f.axis, 0, size, 1)
        self.writer.put_loop(scope, loop)
        for j in self.vectors():
            inner = scope.inner(loop.body.block)
            inner.axes[Var("d", self.row)] = self.first + dim(self.row) + j
            for op, local in turned.items():
                inner.env[op.results[0]] = self.read(inner, local, dim(f.axis), j)
            for op in self.body.closure([f.left.owner], Known(inner)):
                self.writer.copy(inner, op)
            value = self.writer.widen(inner, self.writer.value(inner, f.left))
            self.write(inner, made, value, dim(f.axis), j)
        return made

    def _turn_load(self, scope: Scope, op: Operation, axis: int) -> SSAValue:
        assert isinstance(op, LoadOp)
        self.writer.location = op.location
        local = self.local(scope, self.space[axis] * self.rows, element_type(op.buffer.type))
        memory, place, ranges = self._places(scope, op, axis)
        self.writer.put(scope, TurnOp.make(scope.env[op.buffer], memory, local, place, ranges))
        return local

    def turned_stores(self, scope: Scope, ops: Iterable[Operation], axis: int) -> dict[Operation, SSAValue]:
        """Scratch for those of `ops` that store along `axis`."""
        found: dict[Operation, SSAValue] = {}
        for op in ops:
            if isinstance(op, StoreOp) and turns(op, axis, self.row):
                self.writer.location = op.location
                found[op] = self.local(scope, self.space[axis] * self.rows, element_type(op.buffer.type))
        return found

    def turn_stores(self, scope: Scope, turned: dict[Operation, SSAValue], axis: int) -> None:
        """Empty the scratch of stores."""
        for op, local in turned.items():
            assert isinstance(op, StoreOp)
            self.writer.location = op.location
            memory, place, (column, row) = self._places(scope, op, axis)
            self.writer.put(scope, TurnOp.make(local, place, scope.env[op.buffer], memory, (row, column)))

    def _places(
        self, scope: Scope, op: LoadOp | StoreOp, axis: int
    ) -> tuple[Expr, Expr, tuple[Range, Range]]:
        """Subscripts of memory and of scratch, over `axis` and rows."""
        column, row = self.fresh(), self.fresh()
        here = {
            **scope.axes,
            Var("d", self.row): self.first + dim(row),
            Var("d", axis): dim(column),
        }
        (memory,) = (e.substitute(here) for e in op.map.exprs)
        ranges = (column, ZERO, self.space[axis]), (row, ZERO, self.count)
        return memory, dim(column) * self.rows + dim(row), ranges

    def stage(
        self, scope: Scope, value: SSAValue, axis: int, begin: Expr, size: Expr, into: SSAValue
    ) -> None:
        """Write `value` at `size` elements of the chain by all of `axis`, lanes along that, into scratch."""
        assert isinstance(value.owner, Operation)
        self.writer.location = value.owner.location
        element = ForOp.make(self.fresh(), 0, size, 1)
        self.writer.put_loop(scope, element)
        outer = scope.inner(element.body.block)
        t, extent = dim(element.axis.value.data), self.space[axis]
        outer.axes[Var("d", self.along)] = begin + t
        done = ZERO
        for lanes in (self.lanes, 1):
            end = extent - extent % lanes
            if (end - done).constant == 0:
                continue
            writer = self._along(axis if lanes > 1 else None)
            loop = ForOp.make(axis, done, end, lanes)
            self.writer.put_loop(outer, loop)
            inner = outer.inner(loop.body.block)
            inner.vectors = lanes > 1
            for op in self.body.closure([value.owner], Known(inner)):
                writer.copy(inner, op)
            made, place = writer.value(inner, value), t * extent + dim(axis)
            if lanes > 1:
                made = writer.widen(inner, made)
            writer.put(inner, StoreOp.make(made, into, (place,), lanes=axis if lanes > 1 else None))
            done = end

    def _along(self, axis: int | None) -> Writer:
        """A writer whose lanes go along another axis, or none."""
        plan = replace(self.writer.plan, vector=axis, lanes=self.lanes if axis is not None else 1)
        writer = Writer(plan, self.space)
        writer.constants, writer.top = self.writer.constants, self.writer.top
        if axis is not None:
            writer.top_spread = self.writer.top_spread
        writer.location = self.writer.location
        return writer

    # Scalars

    def scalars(self, scope: Scope) -> Scope:
        """A scope at the same place in which rows are the first one."""
        found = scope.beside()
        found.vectors = False
        found.axes[Var("d", self.row)] = self.first
        return found

    def index(self, scope: Scope, value: SSAValue) -> SSAValue:
        """`value` as an index."""
        assert isinstance(value.owner, Operation)
        for op in self.body.closure((value.owner,), Known(scope)):
            self.writer.copy(scope, op)
        cast = IndexCastOp.create(operands=[scope.env[value]], result_types=[IndexType()])
        return self.writer.put(scope, cast)

    def clipped(self, first: Expr, end: Expr, lower: Expr, upper: Expr) -> tuple[Expr, Expr]:
        """From `first` to `end`, but not before `lower` nor beyond `upper`."""
        return first if lower == ZERO else maximum(first, lower), minimum(end, upper)
