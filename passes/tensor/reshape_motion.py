"""Reshapes that cancel across elementwise ops."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.index_expr import Expr
from tilewright.dialects.tw.base import Elementwise
from tilewright.dialects.tw.creation import FullOp
from tilewright.dialects.tw.view import BroadcastOp, ReshapeOp
from tilewright.dialects.types import element_type_of, sizes_of, tensor_type

from ..driver import Rewrite
from ..rewrite import skip
from .reshaped_broadcasts import broadcast_into, broadcast_reshaped

_MAX_OPS = 64
"""How far above a reshape to look; keeps the whole pass linear."""


def reshape_above_elementwise(op: Operation, rw: Rewrite) -> SSAValue | None:
    """Compute in the shape of the result, where every leaf is at hand in that shape."""
    assert isinstance(op, ReshapeOp)
    owner = op.source.owner
    if isinstance(owner, Block) or not owner.has_trait(Elementwise):
        return None
    sizes = sizes_of(op.result)
    members: dict[Operation, None] = {}
    cancelled, why = _collect(op.source, sizes, members)
    if why is None and not cancelled:
        why = "no operand of the elementwise ops is a reshape from the same shape"
    if why is None and any(
        use.operation is not op and use.operation not in members
        for member in members
        for use in member.results[0].uses
    ):
        why = "an elementwise op before it has other users"
    if why is not None:
        return skip(op, why)
    return _rebuild(op, sizes, members, rw)


def _collect(
    value: SSAValue, sizes: tuple[Expr, ...], members: dict[Operation, None]
) -> tuple[bool, str | None]:
    """Put the elementwise ops behind `value` into `members`, operands first.

    Gives whether a reshape cancels, and why the shape cannot change if so.
    """
    owner = value.owner
    if isinstance(owner, Block) or not owner.has_trait(Elementwise):
        if isinstance(owner, ReshapeOp) and sizes_of(owner.source) == sizes:
            return True, None
        free = isinstance(owner, FullOp) or (
            isinstance(owner, BroadcastOp) and broadcast_into(owner, sizes) is not None
        )
        return False, None if free else "an operand of the elementwise ops would need a new reshape"
    if owner in members:
        return False, None
    if len(members) >= _MAX_OPS:
        return False, f"more than {_MAX_OPS} elementwise ops lie before it"
    members[owner] = None
    cancelled = False
    for operand in owner.operands:
        found, why = _collect(operand, sizes, members)
        if why is not None:
            return False, why
        cancelled = cancelled or found
    del members[owner]
    members[owner] = None  # after its operands
    return cancelled, None


def _rebuild(op: ReshapeOp, sizes: tuple[Expr, ...], members: dict[Operation, None], rw: Rewrite) -> SSAValue:
    moved: dict[SSAValue, SSAValue] = {}
    for member in members:
        for operand in member.operands:
            if operand not in moved:
                moved[operand] = _in_shape(operand, sizes, rw)
        new = member.create(
            operands=[moved[operand] for operand in member.operands],
            result_types=[tensor_type(element_type_of(member.results[0]), sizes)],
            properties=member.properties,
        )
        moved[member.results[0]] = rw.value(new, like=member)
    return moved[op.source]


def _in_shape(value: SSAValue, sizes: tuple[Expr, ...], rw: Rewrite) -> SSAValue:
    owner = value.owner
    if isinstance(owner, ReshapeOp) and sizes_of(owner.source) == sizes:
        return owner.source
    if isinstance(owner, BroadcastOp) and (new := broadcast_reshaped(owner, sizes, rw)) is not None:
        return new
    assert isinstance(owner, FullOp)
    result = tensor_type(element_type_of(value), sizes)
    return rw.value(FullOp.create(result_types=[result], properties=owner.properties), like=owner)
