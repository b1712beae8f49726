"""The factors of matrix products on tiles: zero beyond the end of the sum, in the type of the matrix unit."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i8
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.arith import TruncIOp
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.contraction import FACTORS
from tilewright.dialects.tk.domain import Axes
from tilewright.dialects.tk.scope import shape_of_lanes
from tilewright.dialects.tk.share import ShareOp
from tilewright.dialects.types import element_type, is_float8, is_half

from ...kernels.combine import identity
from ...kernels.facts import Body
from ..cost import EXPENSIVE, op_cost
from ..writer import Known, Scope
from .tile_writer import TileWriter, tile_type
from .zeros import is_zero_when_inactive


def factor_types(reduce: ReduceOp, left: SSAValue, right: SSAValue) -> tuple[Attribute, Attribute]:
    """As `factor_type` for a product by itself, whose factors may be 8-bit floats, of two kinds."""
    kinds = tuple(t for t in map(_narrow_type, (left, right)) if t is not None and is_float8(t))
    if len(kinds) == 2:
        return kinds
    common = factor_type(reduce, left, right)
    return common, common


def factor_type(reduce: ReduceOp, left: SSAValue, right: SSAValue) -> Attribute:
    """The half type, or i8, that the program multiplies, where it shows or is noted; else f32."""
    types = {_narrow_type(left), _narrow_type(right)}
    if len(types) == 1 and (found := types.pop()) is not None and not is_float8(found):
        return found
    return reduce.attributes.get(FACTORS, f32)


def is_loaded(value: SSAValue, type_: Attribute) -> bool:
    """Whether `value`, as a factor of that type, is what memory holds."""
    return isinstance(_unwidened(value, type_).owner, LoadOp)


def costs_much(body: Body, factor: SSAValue, axes: Axes) -> bool:
    """Whether as much as a costly function is computed for each element of a tile of `axes`."""
    owner = factor.owner
    assert isinstance(owner, Operation)
    return sum(op_cost(op) for op in body.closure([owner], ()) if axes <= body.runs[op]) >= EXPENSIVE


def factor(
    scope: Scope, writer: TileWriter, old: SSAValue, type_: Attribute, over: Axes, *, shared: bool = False
) -> SSAValue:
    """`old` as a tile of `writer`, zero beyond the end of `over`; takes what `scope` knows."""
    return factor_within(scope.beside(), writer, old, type_, over, shared=shared)


def factor_within(
    inner: Scope, writer: TileWriter, old: SSAValue, type_: Attribute, over: Axes, *, shared: bool = False
) -> SSAValue:
    """As `factor`, in a scope that all tiles of `writer` have, so that what factors share is there once.

    If it costs much and may be `shared`, the threads of a program compute it together.
    """
    old = _unwidened(old, type_)
    owner = old.owner
    assert isinstance(owner, Operation)
    if old not in inner.env:
        for op in writer.full.closure([owner], Known(inner)):
            writer.copy(inner, op)
    shape = writer.shape(frozenset(writer.frame))
    value = writer.stretch(inner, writer.value(inner, old), shape)
    if over and not is_zero_when_inactive(old, over, writer.full):
        zero = writer.constant(identity("add", value.type))
        value = writer.masked_out(inner, value, zero, over)
    if element_type(value.type) != type_:
        value = _narrowed(inner, writer, value, type_)
    if shared and costs_much(writer.full, old, frozenset(writer.frame)):
        value = writer.put(inner, ShareOp.make(value))
    return value


def _narrowed(scope: Scope, writer: TileWriter, value: SSAValue, type_: Attribute) -> SSAValue:
    narrow = tile_type(type_, shape_of_lanes(value.type))
    narrowing = TruncIOp if type_ == i8 else arith.TruncFOp if is_half(type_) else arith.ExtFOp
    return writer.put(scope, narrowing.create(operands=[value], result_types=[narrow]))


def _narrow_type(value: SSAValue) -> Attribute | None:
    """The type of at most 16 bits that `value` is widened from."""
    op = value.owner
    if not isinstance(op, arith.ExtFOp | arith.ExtSIOp):
        return None
    type_ = op.input.type
    return type_ if type_ == i8 or is_half(type_) or is_float8(type_) else None


def _unwidened(value: SSAValue, type_: Attribute) -> SSAValue:
    """What `value` is widened from, if that has this type."""
    op = value.owner
    return op.input if isinstance(op, arith.ExtFOp | arith.ExtSIOp) and op.input.type == type_ else value
