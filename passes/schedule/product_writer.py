"""Matrix products on tiles: a loop over the sum's axis around `tk.mma`, the epilogue behind it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, UnitAttr, f32
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.tk.contraction import FACTORS
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.loops import ForOp, YieldOp
from tilewright.dialects.tk.scope import shape_of_lanes
from tilewright.dialects.tk.tiles import MmaOp
from tilewright.dialects.types import element_type, is_half

from .blocks import Blocks
from .body import Body
from .roles import matrix_product
from .tile_writer import TileWriter, tile_type
from .writer import Known, Scope
from .zeros import is_zero_when_inactive


class ProductWriter:
    """Writes one function that is a matrix product."""

    def __init__(self, func: FuncOp, blocks: Blocks, writer: TileWriter, body: Body) -> None:
        product = matrix_product(func)
        assert product is not None
        assert blocks.product is not None
        self.product = product
        self.precision = blocks.product
        self.space = func.space
        self.blocks = blocks
        self.body = body
        (row,), (column,), (self.depth,) = product.rows, product.columns, product.over
        self.main = writer
        writer.frame = (row, column)
        self.left = self._writer((row, self.depth))
        self.right = self._writer((self.depth, column))

    def _writer(self, frame: tuple[int, int]) -> TileWriter:
        """A writer of tiles over other axes, with the same constants."""
        found = TileWriter(self.blocks, self.space, self.body, frame)
        found.top, found.constants, found.top_tiles = (
            self.main.top, self.main.constants, self.main.top_tiles
        )  # fmt: skip
        return found

    def write(self, scope: Scope) -> None:
        """The grid, the sum, and what is done with it."""
        reduce = self.product.reduce
        self.main.location = reduce.location
        for axis, _ in self.blocks.sizes[: self.blocks.grid]:
            loop = self._loop(scope, axis, ())
            loop.properties["parallel"] = UnitAttr()
            scope = scope.inner(loop.body.block)
        zero = self.main.constant(FloatAttr(0.0, f32))
        start = self.main.stretch(scope, zero, self.main.shape(frozenset(self.main.frame)))
        loop = self._loop(scope, self.depth, (start,))
        self._step(scope.inner(loop.body.block), loop)
        scope.env[reduce.result] = loop.res[0]
        for op in self.body.closure(self.body.sinks(), Known(scope)):
            self.main.copy(scope, op)

    def _loop(self, scope: Scope, axis: int, inits: Sequence[SSAValue]) -> ForOp:
        loop = ForOp.make(axis, 0, self.space[axis], self.main.block[axis], inits)
        if axis in self.main.masked:
            loop.properties["masked"] = UnitAttr()
        self.main.put_loop(scope, loop)
        return loop

    def _step(self, scope: Scope, loop: ForOp) -> None:
        """One block of the sum."""
        common = self._factor_type()
        a = self._factor(scope, self.left, _unwidened(self.product.left, common), common)
        b = self._factor(scope, self.right, _unwidened(self.product.right, common), common)
        self.main.location = self.product.product.location
        total = self.main.put(scope, MmaOp.make(loop.body.block.args[0], a, b, self.precision))
        self.main.put(scope, YieldOp.create(operands=[total]))

    def _factor_type(self) -> Attribute:
        """The half type that the program multiplies, where it shows or is noted; else f32."""
        types = {_narrow_type(self.product.left), _narrow_type(self.product.right)}
        if len(types) == 1 and (found := types.pop()) is not None:
            return found
        return self.product.reduce.attributes.get(FACTORS, f32)

    def _factor(self, scope: Scope, writer: TileWriter, old: SSAValue, type_: Attribute) -> SSAValue:
        """One factor as a tile, zero beyond the end of the sum, in the type of the matrix unit."""
        inner = scope.beside()
        inner.depth = scope.depth
        owner = old.owner
        assert isinstance(owner, Operation)
        for op in self.body.closure([owner], Known(inner)):
            writer.copy(inner, op)
        shape = writer.shape(frozenset(writer.frame))
        value = writer.stretch(inner, writer.value(inner, old), shape)
        over = frozenset((self.depth,))
        if not is_zero_when_inactive(old, over, self.body):
            zero = writer.constant(FloatAttr(0.0, element_type(value.type)))  # pyright: ignore
            value = writer.masked_out(inner, value, zero, over)
        if element_type(value.type) == type_:
            return value
        narrow = tile_type(type_, shape_of_lanes(value.type))
        cast = arith.TruncFOp if is_half(type_) else arith.ExtFOp
        return writer.put(inner, cast.create(operands=[value], result_types=[narrow]))


def _narrow_type(value: SSAValue) -> Attribute | None:
    """The half type that `value` is widened from."""
    op = value.owner
    return op.input.type if isinstance(op, arith.ExtFOp) and is_half(op.input.type) else None


def _unwidened(value: SSAValue, type_: Attribute) -> SSAValue:
    """What `value` is widened from, if that has this type."""
    op = value.owner
    return op.input if isinstance(op, arith.ExtFOp) and op.input.type == type_ else value
