"""What elementwise ops make of what: the ops behind a value, the values that these read."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import ONE, Expr
from tilewright.dialects.tw.base import Elementwise
from tilewright.dialects.tw.creation import FullOp
from tilewright.dialects.tw.view import BroadcastOp
from tilewright.dialects.types import element_type_of, sizes_of, tensor_type

from ..driver import Rewrite
from .splats import splat_of


def is_elementwise(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.has_trait(Elementwise)


def collect(value: SSAValue, members: dict[Operation, None], leaves: dict[SSAValue, None], most: int) -> None:
    """Elementwise ops behind `value`, operands first, and what they read; one more than `most` at most."""
    if not is_elementwise(value):
        leaves[value] = None
        return
    owner = value.owner
    assert isinstance(owner, Operation)
    if owner in members or len(members) > most:
        return
    members[owner] = None
    for operand in owner.operands:
        collect(operand, members, leaves, most)
    del members[owner]
    members[owner] = None  # after its operands


def is_free(leaf: SSAValue, dim: int) -> bool:
    """Whether a value is the same all along a dimension."""
    return splat_of(leaf) is not None or repeats(leaf, dim)


def repeats(leaf: SSAValue, dim: int) -> bool:
    """Whether it is broadcast along a dimension."""
    owner = leaf.owner
    if not isinstance(owner, BroadcastOp):
        return False
    dims, sizes = list(ints(owner.dims)), sizes_of(owner.source)
    return dim not in dims or sizes[dims.index(dim)] == ONE


def taken(leaf: SSAValue, sizes: Sequence[Expr], rw: Rewrite) -> SSAValue:
    """Some elements of a leaf along dimensions where it is the same."""
    splat = splat_of(leaf)
    if splat is not None:
        return rw.value(FullOp(splat, element_type_of(leaf), sizes))
    owner = leaf.owner
    assert isinstance(owner, BroadcastOp)
    return rw.value(BroadcastOp(owner.source, sizes, ints(owner.dims)))


def made_of(member: Operation, operands: Sequence[SSAValue], sizes: Sequence[Expr], rw: Rewrite) -> SSAValue:
    """What an elementwise op makes of other operands."""
    type_ = tensor_type(element_type_of(member.results[0]), sizes)
    new = member.create(
        operands=operands,
        result_types=[type_],
        properties=member.properties,
        attributes=member.attributes,
    )
    return rw.value(new, like=member)
