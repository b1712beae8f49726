"""Matrix products on tiles: a loop over the sum's axis around `tk.mma`, then the rest, reductions too."""

from __future__ import annotations

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, UnitAttr, f32, i32

from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.descriptor import DESCRIPTOR
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.loops import ForOp, YieldOp
from tilewright.dialects.tk.scope import shape_of_lanes
from tilewright.dialects.tk.share import SHARED
from tilewright.dialects.tk.tiles import MmaOp

from ...kernels.facts import Body, Reduction
from ..blocks import Blocks
from ..roles import matrix_product
from ..writer import Known, Scope
from .factors import factor, factor_types
from .tile_nest import TileAccumulators
from .tile_writer import TileWriter


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
        self.described = [func.body.block.args[i] for i in blocks.descriptors]
        (row,), (column,), (self.depth,) = product.rows, product.columns, product.over
        self.main = writer
        writer.frame = (row, column)
        self.left = writer.over((row, self.depth))
        self.right = writer.over((self.depth, column))

    def write(self, scope: Scope) -> None:
        """The grid, the sum, and what is done with it."""
        reduce = self.product.reduce
        self.main.location = reduce.location
        for axis, _ in self.blocks.sizes[: self.blocks.grid]:
            loop = self.main.loop(scope, axis, ())
            loop.properties["parallel"] = UnitAttr()
            scope = scope.inner(loop.body.block)
        zero = self.main.constant(IntegerAttr(0, i32) if reduce.result.type == i32 else FloatAttr(0.0, f32))
        start = self.main.stretch(scope, zero, self.main.shape(frozenset(self.main.frame)))
        loop = self.main.loop(scope, self.depth, (start,))
        self._step(scope.inner(loop.body.block), loop)
        scope.env[reduce.result] = loop.res[0]
        tiles = TileAccumulators(self.main.plan, self.main, self.body)
        for op in self.body.closure(self.body.sinks(), Known(scope)):
            if isinstance(op, Reduction):
                tiles.reduce(scope, op)
            else:
                self.main.copy(scope, op)

    def _step(self, scope: Scope, loop: ForOp) -> None:
        """One block of the sum."""
        left, right = factor_types(self.product.reduce, self.product.left, self.product.right)
        over = frozenset((self.depth,))
        shared = SHARED in self.product.reduce.attributes
        a = factor(scope, self.left, self.product.left, left, over, shared=shared)
        b = factor(scope, self.right, self.product.right, right, over, shared=shared)
        self.main.location = self.product.product.location
        self._mark(scope, loop)
        total = self.main.put(scope, MmaOp.make(loop.body.block.args[0], a, b, self.precision))
        self.main.put(scope, YieldOp.create(operands=[total]))

    def _mark(self, scope: Scope, loop: ForOp) -> None:
        """The loads of a step's blocks that are by tensor descriptor."""
        buffers = {self.main.value(scope, arg) for arg in self.described}
        for op in loop.body.block.ops:
            shape = shape_of_lanes(op.result.type) if isinstance(op, LoadOp) else ()
            if isinstance(op, LoadOp) and op.buffer in buffers and min(shape, default=1) > 1:
                op.attributes[DESCRIPTOR] = UnitAttr()
