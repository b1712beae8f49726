"""Matrix products on tiles: a loop over a sum's axis around `tk.mma`, then the rest, reductions too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, UnitAttr, f32, i32
from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import dim
from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.contraction import Contraction
from tilewright.dialects.tk.descriptor import DESCRIPTOR
from tilewright.dialects.tk.domain import Reduction
from tilewright.dialects.tk.halve import HalveOp
from tilewright.dialects.tk.kernels import FuncOp
from tilewright.dialects.tk.loops import ForOp, YieldOp
from tilewright.dialects.tk.scope import shape_of_lanes
from tilewright.dialects.tk.share import SHARED
from tilewright.dialects.tk.tiles import MmaOp

from ...kernels.facts import Body
from ...kernels.running_sums import running_sums
from ..blocks import Blocks
from ..roles import matrix_products
from ..writer import Known, Scope
from .factors import factor_types, factor_within
from .lanes_needed import lanes_needed
from .tile_nest import TileAccumulators
from .tile_writer import TileWriter


class ProductWriter:
    """Writes one function that is a matrix product, or several of the same rows and columns."""

    def __init__(self, func: FuncOp, blocks: Blocks, writer: TileWriter, body: Body) -> None:
        assert blocks.product is not None
        self.products = matrix_products(func)
        self.precision = blocks.product
        self.blocks = blocks
        self.body = body
        self.described = [func.body.block.args[i] for i in blocks.descriptors]
        (self.row,), (self.column,) = self.products[0].rows, self.products[0].columns
        self.main = writer
        writer.frame = (self.row, self.column)
        writer.lanes = lanes_needed(body, writer.block, func.space)

    def write(self, scope: Scope) -> None:
        """The grid, the sums, one after the other, and what is done with them."""
        self.main.location = self.products[0].reduce.location
        for axis, _ in self.blocks.sizes[: self.blocks.grid]:
            loop = self.main.loop(scope, axis, ())
            loop.properties["parallel"] = UnitAttr()
            scope = scope.inner(loop.body.block)
        for total, products in running_sums(self.products).items():
            scope.env[total] = self._sum(scope, products)
        if self.blocks.halves:
            self._in_halves(scope, list(running_sums(self.products)))
            return
        tiles = TileAccumulators(self.main.plan, self.main, self.body)
        for op in self.body.closure(self.body.sinks(), Known(scope)):
            if isinstance(op, Reduction):
                tiles.reduce(scope, op)
            else:
                self.main.copy(scope, op)

    def _in_halves(self, scope: Scope, totals: Sequence[SSAValue]) -> None:
        """What is done with the sums, for one half of the columns after the other.

        For blocks of 256 columns:

            %l, %r = tk.halve %sum : vector<128x256xf32> -> vector<128x128xf32>, vector<128x128xf32>
            tk.for 1 = "d1" to "4096" step 128 once {...}          // with %l
            tk.for 1 = "d1 + 128" to "4096" step 128 once {...}    // with %r
        """
        width = self.main.block[self.column] // 2
        halved = [HalveOp.make(scope.env[total]) for total in totals]
        for op in halved:
            self.main.put(scope, op)
        sizes = tuple((a, width if a == self.column else n) for a, n in self.blocks.sizes)
        for i in range(2):
            writer = self.main.in_parts(replace(self.blocks, sizes=sizes))
            start = dim(self.column) + i * width
            loop = writer.loop(scope, self.column, bounds=(start, self.main.space[self.column]))
            loop.properties["once"] = UnitAttr()
            inner = scope.inner(loop.body.block)
            inner.env.update((total, op.results[i]) for total, op in zip(totals, halved, strict=True))
            for op in self.body.closure(self.body.sinks(), Known(inner)):
                writer.copy(inner, op)

    def _sum(self, scope: Scope, products: Sequence[Contraction]) -> SSAValue:
        """A loop along each axis that these sums, which go on from one another, are over."""
        total = self._nothing(scope, products[0].reduce)
        for over in dict.fromkeys(product.over for product in products):
            together = [product for product in products if product.over == over]
            self.main.location = together[0].reduce.location
            loop = self.main.loop(scope, *over, inits=(total,))
            self._step(scope.inner(loop.body.block), loop, together)
            total = loop.res[0]
        return total

    def _nothing(self, scope: Scope, reduce: ReduceOp) -> SSAValue:
        zero = self.main.constant(IntegerAttr(0, i32) if reduce.result.type == i32 else FloatAttr(0.0, f32))
        return self.main.stretch(scope, zero, self.main.shape(frozenset(self.main.frame)))

    def _step(self, scope: Scope, loop: ForOp, products: Sequence[Contraction]) -> None:
        """One block of sums over the same axis."""
        total: SSAValue = loop.body.block.args[0]
        (depth,) = products[0].over
        rows, columns = self.main.over((self.row, depth)), self.main.over((depth, self.column))
        of_rows, of_columns = scope.beside(), scope.beside()
        for product in products:
            left, right = factor_types(product.reduce, product.left, product.right)
            shared = SHARED in product.reduce.attributes
            a = factor_within(of_rows, rows, product.left, left, product.over, shared=shared)
            b = factor_within(of_columns, columns, product.right, right, product.over, shared=shared)
            self.main.location = product.product.location
            self._mark(scope, loop)
            total = self.main.put(scope, MmaOp.make(total, a, b, self.precision))
        self.main.put(scope, YieldOp.create(operands=[total]))

    def _mark(self, scope: Scope, loop: ForOp) -> None:
        """The loads of a step's blocks that are by tensor descriptor."""
        buffers = {self.main.value(scope, arg) for arg in self.described}
        for op in loop.body.block.ops:
            shape = shape_of_lanes(op.result.type) if isinstance(op, LoadOp) else ()
            if isinstance(op, LoadOp) and op.buffer in buffers and min(shape, default=1) > 1:
                op.attributes[DESCRIPTOR] = UnitAttr()
