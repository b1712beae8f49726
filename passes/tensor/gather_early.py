"""gather-early: few numbers are gathered of what elementwise ops read, and not of what they make."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.tw.indexing import GatherAlongOp
from tilewright.dialects.types import same_but_along, sizes_of

from ..driver import Rewrite, Rules, apply_rules
from ..rewrite import skip
from .elementwise_trees import collect, is_elementwise, is_free, made_of, taken

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
    if not is_elementwise(op.source):
        return None
    sizes, dim = sizes_of(op.source), op.dim.value.data
    few = sizes_of(op.index)
    if not same_but_along(dim, few, sizes):
        return skip(op, "it gathers from a part of the rows")
    of, by = sizes[dim].constant, few[dim].constant
    if by is None or (of is None and by > 1) or (of is not None and of < by * _SHARE):
        return skip(op, f"it gathers more than one of {_SHARE} elements")
    members: dict[Operation, None] = {}
    leaves: dict[SSAValue, None] = {}
    collect(op.source, members, leaves, _MAX_OPS)
    read = [leaf for leaf in leaves if not is_free(leaf, dim)]
    if len(members) > _MAX_OPS or not 0 < len(read) <= _MAX_GATHERS:
        return skip(op, f"it would take {len(members)} elementwise ops and {len(read)} gathers instead")
    moved = {leaf: _taken(leaf, op, rw) for leaf in leaves}
    for member in members:
        operands = [moved[operand] for operand in member.operands]
        moved[member.results[0]] = made_of(member, operands, few, rw)
    return moved[op.source]


def _taken(leaf: SSAValue, op: GatherAlongOp, rw: Rewrite) -> SSAValue:
    """What `op` would gather from a leaf."""
    dim = op.dim.value.data
    if is_free(leaf, dim):
        return taken(leaf, sizes_of(op.index), rw)
    return rw.value(GatherAlongOp(leaf, op.index, dim))


_RULES: Rules = {GatherAlongOp: (_gather_operands,)}
