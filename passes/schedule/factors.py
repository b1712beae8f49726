"""The factors of matrix products on tiles: zero beyond the end of the sum, in the type of the matrix unit."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.contraction import FACTORS
from tilewright.dialects.tk.domain import Axes
from tilewright.dialects.tk.scope import shape_of_lanes
from tilewright.dialects.types import element_type, is_half

from .tile_writer import TileWriter, tile_type
from .writer import Known, Scope
from .zeros import is_zero_when_inactive


def factor_type(reduce: ReduceOp, left: SSAValue, right: SSAValue) -> Attribute:
    """The half type that the program multiplies, where it shows or is noted; else f32."""
    types = {_narrow_type(left), _narrow_type(right)}
    if len(types) == 1 and (found := types.pop()) is not None:
        return found
    return reduce.attributes.get(FACTORS, f32)


def factor(scope: Scope, writer: TileWriter, old: SSAValue, type_: Attribute, over: Axes) -> SSAValue:
    """`old` as a tile of `writer`, zero beyond the end of `over`; takes what `scope` knows."""
    old = _unwidened(old, type_)
    inner = scope.beside()
    owner = old.owner
    assert isinstance(owner, Operation)
    if old not in inner.env:
        for op in writer.full.closure([owner], Known(inner)):
            writer.copy(inner, op)
    shape = writer.shape(frozenset(writer.frame))
    value = writer.stretch(inner, writer.value(inner, old), shape)
    if over and not is_zero_when_inactive(old, over, writer.full):
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
