"""Writes the ops of a kernel body as ops on tiles: what `schedule-gpu` decided, made explicit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, VectorType, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.index_expr import ZERO, Expr, dim
from tilewright.dialects.scalars import predicate_attr
from tilewright.dialects.tk.access import IndexOp, LoadOp, StoreOp
from tilewright.dialects.tk.arith import CmpIOp, vector_of
from tilewright.dialects.tk.attributes import segments
from tilewright.dialects.tk.calls import AssertOp
from tilewright.dialects.tk.compute import ActiveOp, RandomOp
from tilewright.dialects.tk.domain import Axes
from tilewright.dialects.tk.lanes import lanes_property
from tilewright.dialects.tk.loops import ForOp
from tilewright.dialects.tk.scope import shape_of_lanes
from tilewright.dialects.types import element_type

from ...kernels.combine import select
from ...kernels.facts import Body
from ..blocks import Blocks, covers, divides
from ..plan import Plan
from ..writer import Scope, Stretched, Writer


@lru_cache(maxsize=1024)
def tile_type(element: Attribute, shape: tuple[int, ...]) -> Attribute:
    """The (interned) type: a scalar where every size is 1."""
    return element if all(n == 1 for n in shape) else vector_of(element, *shape)


class TileWriter(Writer):
    """Puts ops into scopes, on tiles over the axes of `frame`."""

    def __init__(self, blocks: Blocks, space: Sequence[Expr], body: Body, axes: Sequence[int]) -> None:
        super().__init__(Plan(order=tuple(a for a, _ in blocks.sizes)), space)
        self.blocks = blocks
        self.block = dict(blocks.sizes)
        self.full = body
        """Which axes ops run over, those of the grid included."""
        self.lanes: Mapping[Operation, Axes] = body.runs
        """The axes that ops need lanes of: not those along which a whole block has one value."""
        self.frame = tuple(axes)
        """The axes of the dimensions of every tile here."""
        self.top_tiles: dict[Stretched, SSAValue] = {}
        self.grid = tuple(a for a, _ in blocks.sizes[: blocks.grid])
        self.masked = frozenset(a for a, n in blocks.sizes if not divides(n, space[a]))

    def over(self, axes: Sequence[int]) -> TileWriter:
        """A writer of tiles over other axes, with the same constants."""
        return self._like(self.blocks, axes)

    def in_parts(self, blocks: Blocks) -> TileWriter:
        """A writer of parts of the tiles here, of which some may be beyond the end where these hang over."""
        found = self._like(blocks, self.frame)
        found.masked |= self.masked
        return found

    def _like(self, blocks: Blocks, axes: Sequence[int]) -> TileWriter:
        found = TileWriter(blocks, self.space, self.full, axes)
        found.top, found.constants, found.top_tiles = self.top, self.constants, self.top_tiles
        found.lanes = self.lanes
        return found

    def loop(
        self,
        scope: Scope,
        axis: int,
        inits: Sequence[SSAValue] = (),
        bounds: tuple[Expr, Expr] | None = None,
    ) -> ForOp:
        """A loop over the blocks of an axis, put into place; `bounds` leaves out blocks."""
        first, end = bounds or (ZERO, self.space[axis])
        loop = ForOp.make(axis, first, end, self.block[axis], inits)
        if axis in self.masked:
            loop.properties["masked"] = UnitAttr()
        self.put_loop(scope, loop)
        return loop

    # Shapes

    def shape(self, axes: frozenset[int]) -> tuple[int, ...]:
        """The shape of a value that varies over `axes`."""
        return tuple(self.block[a] if a in axes else 1 for a in self.frame)

    def stretch(self, scope: Scope, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        """`value` as a tile of this shape; a scalar stays one where all sizes are 1."""
        if all(n == 1 for n in shape) or shape_of_lanes(value.type) == shape:
            return value
        type_ = tile_type(element_type(value.type), shape)
        key = (value, shape)
        found = scope.stretched.get(key) or self.top_tiles.get(key)
        if found is not None:
            return found
        op = vector.BroadcastOp.create(operands=[value], result_types=[type_])
        if isinstance(value.owner, arith.ConstantOp):
            op.location = value.owner.location
            self.top.append(op)
            self.top_tiles[key] = op.vector
        else:
            scope.stretched[key] = self.put(scope, op)
        return op.vector

    # Masks

    def active(self, scope: Scope, axes: frozenset[int] = frozenset()) -> SSAValue:
        """The mask of `axes`, of size 1 in other dimensions."""
        type_ = vector_of(i1, *self.shape(axes))
        return self.put(scope, ActiveOp.create(result_types=[type_], properties=lanes_property(self.frame)))

    def masked_out(self, scope: Scope, value: SSAValue, other: SSAValue, axes: frozenset[int]) -> SSAValue:
        """`value` where the lanes of `axes` are active, else `other`."""
        cut = axes & self.masked & frozenset(self.frame)
        cut = frozenset(a for a in cut if self.block[a] > 1)
        shape = shape_of_lanes(value.type)
        if not cut or not shape:
            return value
        mask = self.stretch(scope, self.active(scope, cut), shape)
        return select(mask, value, self.stretch(scope, other, shape), lambda op: self.put(scope, op))

    # Ops

    def copy(self, scope: Scope, op: Operation) -> None:
        """Write `op` on tiles of the axes that it runs over."""
        self.location = op.location
        shape = self.shape(self.lanes[op])
        if isinstance(op, StoreOp):
            self._store(scope, op, shape)
            return
        operands = [self.value(scope, v) for v in op.operands]
        if isinstance(op, AssertOp):
            self._assert(scope, op, operands[0])
            return
        kept = 1 if isinstance(op, LoadOp | RandomOp) else 0  # a buffer, a seed
        if isinstance(op, arith.SelectOp) and not shape_of_lanes(operands[0].type):
            kept = 1
        operands = [*operands[:kept], *(self.stretch(scope, v, shape) for v in operands[kept:])]
        scalar = all(n == 1 for n in shape)
        properties = {**op.properties}
        if isinstance(op, LoadOp | IndexOp) and not scalar:
            properties.update(lanes_property(self.frame))
        new = type(op).create(
            operands=operands,
            result_types=[tile_type(t, shape) for t in op.result_types],
            properties=properties,
            attributes=op.attributes,
        )
        self.put(scope, new)
        scope.env.update(zip(op.results, new.results, strict=True))

    def _store(self, scope: Scope, op: StoreOp, shape: tuple[int, ...]) -> None:
        def tile(value: SSAValue) -> SSAValue:
            return self.stretch(scope, self.value(scope, value), shape)

        value, buffer = tile(op.value), self.value(scope, op.buffer)
        dynamic = [tile(v) for v in op.dynamic]
        mask = self._once(scope, op, [] if op.mask is None else [tile(op.mask)], shape)
        properties = op.in_loops()[1]
        properties["operandSegmentSizes"] = segments(1, 1, len(dynamic), len(mask), 0)
        if any(n != 1 for n in shape):
            properties.update(lanes_property(self.frame))
        new = StoreOp.create(
            operands=[value, buffer, *dynamic, *mask], properties=properties, attributes=op.attributes
        )
        self.put(scope, new)

    def _once(
        self, scope: Scope, op: StoreOp, mask: list[SSAValue], shape: tuple[int, ...]
    ) -> list[SSAValue]:
        """A store that does not run over a grid axis is left to the first program along it."""
        for axis in self.grid:
            if axis in self.full.runs[op] or covers(self.block[axis], self.space[axis]):
                continue
            at = self.put(scope, IndexOp.make(dim(axis)))
            zero = self.constant(IntegerAttr(0, i64))
            first = self.put(
                scope,
                CmpIOp.create(
                    operands=[at, zero],
                    result_types=[i1],
                    properties={"predicate": predicate_attr(CmpIOp.name, "eq")},
                ),
            )
            if mask:
                first = self.stretch(scope, first, shape)
                both = arith.AndIOp.create(operands=[mask[0], first], result_types=[mask[0].type])
                first = self.put(scope, both)
            mask = [first]
        return mask

    def _assert(self, scope: Scope, op: AssertOp, condition: SSAValue) -> None:
        """A check of active lanes."""
        true = self.constant(IntegerAttr(1, i1))
        axes = self.full.domains[op.condition]
        if isinstance(condition.type, VectorType):
            condition = self.masked_out(scope, condition, true, axes)
        self.put(scope, AssertOp.make(condition, op.message.data))
