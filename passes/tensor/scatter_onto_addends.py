"""scatter-onto-addends: what is added to scattered zeros is scattered to, instead of the zeros."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.tw.elementwise_binary import AddOp
from tilewright.dialects.tw.indexing import Combine, ScatterAddOp, ScatterAlongOp
from tilewright.dialects.types import element_type_of, is_half

from ..driver import Rewrite, Rules, apply_rules
from ..rewrite import skip
from .splats import splat_of


@dataclass(frozen=True)
class ScatterOntoAddendsPass(ModulePass):
    """Scatter to what is added to the result, where the target is all zeros.

    Before:
        %zero = tw.full 0.0 : f32 -> tensor<9x4xf32>
        %s = tw.scatter_add %v into %zero[%i] dims [0] at 0 : (...) -> tensor<9x4xf32>
        %r = tw.add %x, %s : tensor<9x4xf32>
    After:
        %r = tw.scatter_add %v into %x[%i] dims [0] at 0 : (...) -> tensor<9x4xf32>

    So are gradients of a table added up that is looked up more than once, or multiplied as well: nothing is
    filled with zeros, and nothing but the addressed elements is added. Sums have another order, so halves,
    which are rounded after each addition, stay as they are.
    """

    name = "scatter-onto-addends"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, _RULES, self.name)


def _add_to_scattered(op: Operation, rw: Rewrite) -> SSAValue | None:
    for addend, scattered in (op.operands, op.operands[::-1]):
        scatter = scattered.owner
        if adds_to_zeros(scatter) and _is_better_added(op, scatter):
            return added_onto(addend, scatter, rw)
    return None


def adds(op: Operation | Block) -> TypeGuard[ScatterAddOp | ScatterAlongOp]:
    """Whether an op adds up what it scatters."""
    return isinstance(op, ScatterAddOp) or (isinstance(op, ScatterAlongOp) and op.combine.data is Combine.ADD)


def adds_to_zeros(op: Operation | Block) -> TypeGuard[ScatterAddOp | ScatterAlongOp]:
    """Whether nothing but what is scattered is in the sums."""
    return adds(op) and splat_of(op.target) == 0


def added_onto(addend: SSAValue, scatter: ScatterAddOp | ScatterAlongOp, rw: Rewrite) -> SSAValue:
    """The same added to `addend`, of the shape and dtype of the zeros, instead of to these."""
    operands = [addend, *scatter.operands[1:]]  # the target is the first
    made = type(scatter).create(operands=operands, result_types=[addend.type], properties=scatter.properties)
    return rw.value(made, like=scatter)


def _is_better_added(op: Operation, scatter: ScatterAddOp | ScatterAlongOp) -> bool:
    if is_half(element_type_of(scatter.target)):
        skip(op, "halves are rounded after each addition: the order of a sum matters")
        return False
    if len(list(scatter.result.uses)) > 1:
        skip(op, "what was scattered to zeros has other users")
        return False
    return True


_RULES: Rules = {AddOp: (_add_to_scattered,)}
