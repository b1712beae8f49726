"""Writes the ops of a kernel body into a scheduled one, as scalars or as vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, LocationAttr, VectorType, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilewright.dialects.index_expr import Expr, Var, as_expr, dim, linearize, row_major_strides
from tilewright.dialects.tk.access import IndexOp, LoadOp, StoreOp
from tilewright.dialects.tk.arith import vector_of
from tilewright.dialects.tk.attributes import int64, map_attr
from tilewright.dialects.tk.compute import ActiveOp
from tilewright.dialects.tk.scope import lanes_of

from .plan import KEEP, SCALAR, Plan


@lru_cache(maxsize=256)
def vector_type(element: Attribute, lanes: int) -> VectorType[Attribute]:
    """The (interned) vector type."""
    return vector_of(element, lanes)


Stretched = tuple[SSAValue, tuple[int, ...]]
"""A value and the shape of the tile that it fills."""


@dataclass
class Scope:
    """What is known at one place of the new body."""

    block: Block
    env: dict[SSAValue, SSAValue]
    """New values of old ones."""
    axes: dict[Var, Expr] = field(default_factory=dict[Var, Expr])
    """What an axis stands for, where it is not bound as such."""
    kept: dict[SSAValue, tuple[SSAValue, tuple[int, ...]]] = field(
        default_factory=dict[SSAValue, tuple[SSAValue, tuple[int, ...]]]
    )
    """Scratch that holds a value, by the axes of its elements."""
    spread: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Vectors of scalars."""
    bounds: dict[int, tuple[Expr, Expr]] = field(default_factory=dict[int, tuple[Expr, Expr]])
    """Start and extent of an axis inside of a tile."""
    running: dict[Operation, tuple[SSAValue, ...]] = field(
        default_factory=dict[Operation, tuple[SSAValue, ...]]
    )
    """The state of each scan."""
    turned: dict[Operation, tuple[SSAValue, tuple[int, ...]]] = field(
        default_factory=dict[Operation, tuple[SSAValue, tuple[int, ...]]]
    )
    """Stores that write to scratch here, which is turned into their buffers afterwards."""
    vectors: bool = False
    """Whether the vector axis is bound here."""
    tail: bool = False
    """Whether some lanes are inactive."""
    depth: int = 0
    stretched: dict[Stretched, SSAValue] = field(default_factory=dict[Stretched, SSAValue])
    """Tiles of smaller tiles and of scalars."""

    def inner(self, block: Block) -> Scope:
        """The scope of a region in this one."""
        return Scope(
            block, dict(self.env), dict(self.axes), dict(self.kept), dict(self.spread), dict(self.bounds),
            dict(self.running), dict(self.turned), self.vectors, self.tail, self.depth + 1,
            dict(self.stretched),
        )  # fmt: skip

    def beside(self) -> Scope:
        """The scope of another copy of the same region."""
        scope = self.inner(self.block)
        scope.depth = self.depth
        return scope

    def knowing(self, env: Mapping[SSAValue, SSAValue]) -> Scope:
        """A scope at the same place that knows nothing but these values."""
        return Scope(self.block, dict(env), depth=self.depth)


class Writer:
    """Puts ops into scopes; constants go to the top of the function."""

    def __init__(self, plan: Plan, space: Sequence[Expr]) -> None:
        self.plan = plan
        self.space = space
        self.location: LocationAttr | None = None
        self.constants: dict[Attribute, SSAValue] = {}
        self.top: list[Operation] = []
        self.top_spread: dict[SSAValue, SSAValue] = {}
        self._axis = Var("d", plan.vector) if plan.vector is not None else None

    def without_lanes(self) -> Writer:
        """A writer for loops of scalars in the same function."""
        scalar = Writer(replace(self.plan, vector=None, lanes=1), self.space)
        scalar.constants, scalar.top = self.constants, self.top
        return scalar

    def put(self, scope: Scope, op: Operation) -> SSAValue:
        """Append `op`; gives its result, if it has one."""
        if self.location is not None:
            op.location = self.location
        scope.block.add_op(op)
        return op.results[0] if op.results else op.operands[0]

    def put_loop(self, scope: Scope, op: Operation) -> None:
        """Append a loop."""
        if self.location is not None:
            op.location = self.location
        scope.block.add_op(op)

    def constant(self, value: FloatAttr[AnyFloat] | IntegerAttr[IntegerType]) -> SSAValue:
        """A constant at the top of the function, one per value."""
        if value not in self.constants:
            op = arith.ConstantOp.create(result_types=[value.type], properties={"value": value})
            if self.location is not None:
                op.location = self.location
            self.top.append(op)
            self.constants[value] = op.result
        return self.constants[value]

    def widen(self, scope: Scope, value: SSAValue) -> SSAValue:
        """A vector of `value`, unless it is one."""
        if isinstance(value.type, VectorType):
            return value
        found = scope.spread.get(value) or self.top_spread.get(value)
        if found is not None:
            return found
        op = vector.BroadcastOp.create(
            operands=[value], result_types=[vector_type(value.type, self.plan.lanes)]
        )
        if isinstance(value.owner, arith.ConstantOp):
            op.location = value.owner.location
            self.top.append(op)
            self.top_spread[value] = op.vector
        else:
            scope.spread[value] = self.put(scope, op)
        return op.vector

    def value(self, scope: Scope, old: SSAValue) -> SSAValue:
        """What stands for `old` here; reads it from scratch where it was kept."""
        if (new := scope.env.get(old)) is None:
            local, axes = scope.kept[old]
            new = self.read_local(scope, local, axes, old.type)
            scope.env[old] = new
        return new

    def extents(self, scope: Scope, axes: Sequence[int]) -> list[Expr]:
        """How much scratch takes along each axis: that of a tile, if one is bound."""
        tiles = dict(self.plan.tiles)
        return [as_expr(tiles[a]) if a in scope.bounds and a in tiles else self.space[a] for a in axes]

    def place(self, scope: Scope, axes: tuple[int, ...]) -> Expr:
        """Where scratch holds the element of the bound axes."""
        strides = row_major_strides(self.extents(scope, axes))
        inside = [dim(a) - scope.bounds[a][0] if a in scope.bounds else dim(a) for a in axes]
        return linearize(inside, strides).substitute(scope.axes)

    def _varies(self, scope: Scope, exprs: Sequence[Expr]) -> bool:
        """Whether lanes differ in these expressions."""
        return scope.vectors and self._axis is not None and any(e.uses(self._axis) for e in exprs)

    def _load(self, scope: Scope, buffer: SSAValue, exprs: Sequence[Expr], type_: Attribute) -> LoadOp:
        if not self._varies(scope, exprs):
            return LoadOp.make(buffer, exprs, result_type=type_)
        wide = vector_type(type_, self.plan.lanes)
        return LoadOp.make(buffer, exprs, result_type=wide, lanes=self.plan.vector)

    def keep(self, scope: Scope, old: SSAValue, local: SSAValue, axes: tuple[int, ...]) -> None:
        """Write a value to its scratch."""
        self.write_local(scope, local, axes, self.value(scope, old))

    def write_local(self, scope: Scope, local: SSAValue, axes: tuple[int, ...], value: SSAValue) -> None:
        """Write to the element of scratch that belongs to the bound axes."""
        place, lanes = self.place(scope, axes), None
        if self._varies(scope, (place,)):
            value, lanes = self.widen(scope, value), self.plan.vector
        self.put(scope, StoreOp.make(value, local, (place,), lanes=lanes))

    def read_local(self, scope: Scope, local: SSAValue, axes: tuple[int, ...], type_: Attribute) -> SSAValue:
        """Read the element of scratch that belongs to the bound axes."""
        return self.put(scope, self._load(scope, local, (self.place(scope, axes),), type_))

    def copy(self, scope: Scope, op: Operation) -> None:
        """Write `op` with the operands of this scope; on vectors if an operand is one."""
        self.location = op.location
        old, properties = op.in_loops() if isinstance(op, StoreOp) else (op.operands, op.properties)
        operands = [self.value(scope, v) for v in old]
        exprs: tuple[Expr, ...] = ()
        if isinstance(op, LoadOp | StoreOp | IndexOp):
            exprs = tuple(e.substitute(scope.axes) for e in op.map.exprs)
        wide = self._varies(scope, exprs) or any(isinstance(v.type, VectorType) for v in operands)
        if wide:
            operands = self._widened(scope, op, operands)
        if exprs:
            properties = {**properties, "map": map_attr(exprs)}
            if wide:
                properties["lanes"] = int64(self.plan.vector or 0)
        new = type(op).create(
            operands=operands,
            result_types=[vector_type(t, self.plan.lanes) if wide else t for t in op.result_types],
            properties=properties,
            attributes={k: v for k, v in op.attributes.items() if k not in (KEEP, SCALAR)},
        )
        self.put(scope, new)
        scope.env.update(zip(op.results, new.results, strict=True))

    def _widened(self, scope: Scope, op: Operation, operands: list[SSAValue]) -> list[SSAValue]:
        """Operands for the vector form: buffers, gather indices and masks may stay scalar."""
        if isinstance(op, LoadOp):
            first = 1 + len(op.dynamic) + (op.mask is not None)
            return [*operands[:first], *(self.widen(scope, v) for v in operands[first:])]
        if isinstance(op, StoreOp):
            return [self.widen(scope, operands[0]), *operands[1:]]
        if isinstance(op, arith.SelectOp) and lanes_of(operands[0].type) is None:
            return [operands[0], *(self.widen(scope, v) for v in operands[1:])]
        return [self.widen(scope, v) for v in operands]

    def active(self, scope: Scope) -> SSAValue:
        """The mask of the enclosing tail."""
        return self.put(scope, ActiveOp.create(result_types=[vector_type(i1, self.plan.lanes)]))


class Known:
    """The values that need not be computed again in a scope, `made` among them."""

    def __init__(self, scope: Scope, made: frozenset[SSAValue] = frozenset()) -> None:
        self.scope = scope
        self.made = made

    def __contains__(self, value: object) -> bool:
        return value in self.scope.env or value in self.scope.kept or value in self.made

    def after(self, *groups: Sequence[Operation]) -> Known:
        """What is known once these ops have run, too."""
        return Known(self.scope, self.made.union(r for ops in groups for op in ops for r in op.results))
