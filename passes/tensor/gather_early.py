"""gather-early: few numbers are gathered of what elementwise ops read, and not of what they make."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import ONE
from tilewright.dialects.tw.base import Elementwise, ints
from tilewright.dialects.tw.creation import FullOp
from tilewright.dialects.tw.indexing import GatherAlongOp
from tilewright.dialects.tw.view import BroadcastOp
from tilewright.dialects.types import element_type_of, same_but_along, sizes_of, tensor_type

from ..rewrite import skip
from .driver import Rewrite, Rules, apply_rules
from .splats import splat_of

_SHARE = 4
"""Of so many elements, at most one is gathered."""
_MAX_OPS = 16
_MAX_GATHERS = 4


@dataclass(frozen=True)
class GatherEarlyPass(ModulePass):
    """Gather before elementwise ops where that leaves them few numbers.

    Before:
        %b = tw.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x128xf32>
        %s = tw.sub %x, %b : tensor<8x128xf32>
        %r = tw.gather_along %s, %i dim 1 : (tensor<8x128xf32>, tensor<8x1xi64>) -> tensor<8x1xf32>
    After:
        %g = tw.gather_along %x, %i dim 1 : (tensor<8x128xf32>, tensor<8x1xi64>) -> tensor<8x1xf32>
        %b = tw.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x1xf32>
        %r = tw.sub %g, %b : tensor<8x1xf32>

    So the logarithm of a softmax, of which a loss reads one number per row, is not written to memory: %s
    remains only where something else reads it.
    """

    name = "gather-early"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, _RULES, self.name)


def _gather_operands(op: Operation, rw: Rewrite) -> SSAValue | None:
    assert isinstance(op, GatherAlongOp)
    if not _is_elementwise(op.source):
        return None
    sizes, dim = sizes_of(op.source), op.dim.value.data
    taken = sizes_of(op.index)
    if not same_but_along(dim, taken, sizes):
        return skip(op, "it gathers from a part of the rows")
    of, by = sizes[dim].constant, taken[dim].constant
    if by is None or (of is None and by > 1) or (of is not None and of < by * _SHARE):
        return skip(op, f"it gathers more than one of {_SHARE} elements")
    members: dict[Operation, None] = {}
    leaves: dict[SSAValue, None] = {}
    _collect(op.source, members, leaves)
    read = [leaf for leaf in leaves if not _is_free(leaf, dim)]
    if len(members) > _MAX_OPS or not 0 < len(read) <= _MAX_GATHERS:
        return skip(op, f"it would take {len(members)} elementwise ops and {len(read)} gathers instead")
    moved = {leaf: _taken(leaf, op, rw) for leaf in leaves}
    for member in members:
        (result,) = member.results
        new = member.create(
            operands=[moved[operand] for operand in member.operands],
            result_types=[tensor_type(element_type_of(result), taken)],
            properties=member.properties,
            attributes=member.attributes,
        )
        moved[result] = rw.value(new, like=member)
    return moved[op.source]


def _is_elementwise(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.has_trait(Elementwise)


def _collect(value: SSAValue, members: dict[Operation, None], leaves: dict[SSAValue, None]) -> None:
    """Elementwise ops behind `value`, operands first, and what they read."""
    if not _is_elementwise(value):
        leaves[value] = None
        return
    owner = value.owner
    assert isinstance(owner, Operation)
    if owner in members or len(members) > _MAX_OPS:
        return
    members[owner] = None
    for operand in owner.operands:
        _collect(operand, members, leaves)
    del members[owner]
    members[owner] = None  # after its operands


def _is_free(leaf: SSAValue, dim: int) -> bool:
    """Whether a value is the same all along a dimension."""
    return splat_of(leaf) is not None or _repeats(leaf, dim)


def _repeats(leaf: SSAValue, dim: int) -> bool:
    owner = leaf.owner
    if not isinstance(owner, BroadcastOp):
        return False
    dims, sizes = list(ints(owner.dims)), sizes_of(owner.source)
    return dim not in dims or sizes[dims.index(dim)] == ONE


def _taken(leaf: SSAValue, op: GatherAlongOp, rw: Rewrite) -> SSAValue:
    """What `op` would gather from a leaf."""
    sizes, dim, splat = sizes_of(op.index), op.dim.value.data, splat_of(leaf)
    if splat is not None:
        return rw.value(FullOp(splat, element_type_of(leaf), sizes))
    if _repeats(leaf, dim):
        owner = leaf.owner
        assert isinstance(owner, BroadcastOp)
        return rw.value(BroadcastOp(owner.source, sizes, ints(owner.dims)))
    return rw.value(GatherAlongOp(leaf, op.index, dim))


_RULES: Rules = {GatherAlongOp: (_gather_operands,)}
