"""Products of packed groups of halves: which they are, and their register tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import ZERO, Var, as_expr, dim
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.contraction import Contraction
from tilewright.dialects.tk.dot import DotOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.types import element_type

from ...kernels.facts import Body
from ..writer import Scope, Writer, vector_type

if TYPE_CHECKING:
    from .tile import Tile


def group_axis(func: FuncOp, c: Contraction) -> int | None:
    """The innermost reduced axis, where the right operand has its elements side by side.

    Before scheduling: `right = extf(load %b[... + d2*2 + d4])` over columns d2 and a group
    of two, d4.
    """
    load = _half_load(c.right)
    if load is None:
        return None
    for axis in sorted(c.over, reverse=True):
        step = _step(load, axis)
        size = func.space[axis].constant
        if step == 1 and size == 2 and any(_step(load, column) == size for column in c.columns):
            return axis
    return None


def _half_load(value: SSAValue) -> LoadOp | None:
    """The load of bf16 that `value` extends, if it reads a flat buffer without a mask."""
    if not isinstance(value.owner, arith.ExtFOp):
        return None
    load = value.owner.input.owner
    if not isinstance(load, LoadOp) or not isinstance(load.result.type, BFloat16Type):
        return None
    return load if load.mask is None and not load.dynamic and len(load.subscripts) == 1 else None


def _step(load: LoadOp, axis: int) -> int | None:
    step = load.subscripts[0].coefficient(Var("d", axis))
    return None if step is None else step.constant


class GroupOperands:
    """Multiplies the operands of a register tile whose products come in groups along an axis."""

    def __init__(self, contraction: Contraction, tile: Tile, writer: Writer, body: Body) -> None:
        assert tile.group is not None
        c = contraction
        swapped = tile.row in body.domains[c.right]
        self.left, self.right = (c.right, c.left) if swapped else (c.left, c.right)
        self.tile = tile
        self.axis = Var("d", tile.group)
        self.size = writer.space[tile.group].constant or 1
        self.writer = writer
        self.body = body
        self.location = c.reduce.location

    def multiply(self, scope: Scope, rows: int, acc: Sequence[SSAValue]) -> list[SSAValue]:
        """One step of the sum for every element of the tile: a `tk.dot` each."""
        tile = self.tile
        columns = [self._columns(_along(scope, tile.column, j * tile.lanes)) for j in range(tile.vectors)]
        made: list[SSAValue] = []
        for i in range(rows):
            row = self._row(_along(scope, tile.row, i))
            for column in columns:
                self.writer.location = self.location
                made.append(self.writer.put(scope, DotOp.make(acc[len(made)], column, row)))
        return made

    def _columns(self, scope: Scope) -> SSAValue:
        """The groups of one vector of columns, at the place of `scope`."""
        load = _half_load(self.right)
        assert load is not None
        return self._load(scope, load, self.tile.lanes * self.size, self.tile.column)

    def _row(self, scope: Scope) -> Sequence[SSAValue]:
        """The group that a row multiplies every column with: one load, or several values."""
        load = _half_load(self.left)
        if load is not None and _step(load, self.axis.index) == 1:
            return [self._load(scope, load, self.size, None)]
        return [self._element(scope, g) for g in range(self.size)]

    def _load(self, scope: Scope, load: LoadOp, count: int, lanes: int | None) -> SSAValue:
        (place,) = (e.substitute({**scope.axes, self.axis: ZERO}) for e in load.subscripts)
        buffer = self.writer.value(scope, load.buffer)
        wide = vector_type(load.result.type, count)
        self.writer.location = load.location
        new = LoadOp.make(buffer, (place,), result_type=wide, lanes=lanes, group=self.size)
        return self.writer.put(scope, new)

    def _element(self, scope: Scope, number: int) -> SSAValue:
        """Element `number` of the group of a row, in the type of the right operand."""
        copy = scope.beside()
        copy.axes[self.axis] = as_expr(number)
        half = element_type(self._half(self.right).type)
        value = self._half(self.left)
        owner = value.owner
        assert isinstance(owner, Operation)
        for op in self.body.closure([owner], copy.env):
            self.writer.copy(copy, op)
        new = self.writer.value(copy, value)
        if new.type == half:
            return new
        return self.writer.put(copy, arith.TruncFOp.create(operands=[new], result_types=[half]))

    def _half(self, value: SSAValue) -> SSAValue:
        """What `value` was before it was widened; the value itself where it was not."""
        extended = value.owner
        if isinstance(extended, arith.ExtFOp) and isinstance(extended.input.type, BFloat16Type):
            return extended.input
        return value


def _along(scope: Scope, axis: int, offset: int) -> Scope:
    """A copy of `scope`, `offset` further along `axis`."""
    copy = scope.beside()
    var = Var("d", axis)
    copy.axes[var] = copy.axes.get(var, dim(axis)) + offset
    return copy
