"""What follows a register tile's sums, where memory runs along the tile's rows: by way of scratch.

    %s = tk.local "224" : memref<224xf32>
    tk.for 2 = "0" to "32" step 32 { ... tk.store %sum, %s[d2 + d6*32 + d7] lanes 2 ... }
    tk.turn %s[d8 + d9*32] into %o[d0*56 + d9 + d8*3136] over 8 = "0" count "32", 9 = "0" count "14"

A row of the tile is a vector of columns, which would be scattered. Loads are turned before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import Expr, Var, as_expr, dim
from tilewright.dialects.tk.access import LoadOp, LocalOp, StoreOp
from tilewright.dialects.tk.turn import Range, TurnOp
from tilewright.dialects.types import element_type, flat_memref

from ..writer import Scope, Writer, vector_type
from .tile import Tile
from .turned import turns

_LEAST_ROWS = 4
"""Of fewer rows, lanes are written one by one as fast."""


@dataclass
class TurnedTile:
    """Scratch for the accesses of one tile of `rows` that turn, around the loop over its columns."""

    tile: Tile
    rows: int
    writer: Writer
    fresh: Callable[[], int]
    locals: dict[Operation, SSAValue] = field(default_factory=dict[Operation, SSAValue])

    def before(self, scope: Scope, first: Expr, ops: Iterable[Operation]) -> None:
        """Fill the scratch of loads among `ops`; make that of stores."""
        if self.rows < _LEAST_ROWS:
            return
        for op in ops:
            if not isinstance(op, LoadOp | StoreOp) or not turns(op, self.tile.row, self.tile.column):
                continue
            self.writer.location = op.location
            size = as_expr(self.rows * self.width)
            local = LocalOp.make(size, flat_memref(element_type(op.buffer.type), size))
            self.locals[op] = self.writer.put(scope, local)
            if isinstance(op, LoadOp):
                memory, place, (row, column) = self._places(scope, first, op)
                buffer = scope.env[op.buffer]
                self.writer.put(scope, TurnOp.make(buffer, memory, self.locals[op], place, (row, column)))

    def after(self, scope: Scope, first: Expr) -> None:
        """Empty the scratch of stores."""
        for op, local in self.locals.items():
            if isinstance(op, StoreOp):
                self.writer.location = op.location
                memory, place, (row, column) = self._places(scope, first, op)
                buffer = scope.env[op.buffer]
                self.writer.put(scope, TurnOp.make(local, place, buffer, memory, (column, row)))

    def load(self, scope: Scope, place: Expr) -> None:
        """Have the loads read their scratch, a vector of columns at `place`."""
        for op, local in self.locals.items():
            if isinstance(op, LoadOp):
                self.writer.location = op.location
                wide = vector_type(element_type(op.buffer.type), self.tile.lanes)
                new = LoadOp.make(local, (place,), result_type=wide, lanes=self.tile.column)
                scope.env[op.result] = self.writer.put(scope, new)

    def store(self, scope: Scope, op: StoreOp, place: Expr) -> None:
        """Write what `op` stores into its scratch."""
        self.writer.location = op.location
        value = self.writer.widen(scope, self.writer.value(scope, op.value))
        self.writer.put(scope, StoreOp.make(value, self.locals[op], (place,), lanes=self.tile.column))

    @property
    def width(self) -> int:
        return self.tile.vectors * self.tile.lanes

    def _places(
        self, scope: Scope, first: Expr, op: LoadOp | StoreOp
    ) -> tuple[Expr, Expr, tuple[Range, Range]]:
        """Subscripts of memory and of scratch, over rows and columns of the tile."""
        row, column = self.fresh(), self.fresh()
        here = {
            **scope.axes,
            Var("d", self.tile.row): scope.axes[Var("d", self.tile.row)] + dim(row),
            Var("d", self.tile.column): first + dim(column),
        }
        (memory,) = (e.substitute(here) for e in op.map.exprs)
        ranges = (row, as_expr(0), as_expr(self.rows)), (column, as_expr(0), as_expr(self.width))
        return memory, dim(row) * self.width + dim(column), ranges
