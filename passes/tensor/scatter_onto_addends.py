"""scatter-onto-addends: what is added to scattered zeros is scattered to, instead of the zeros."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.tw.elementwise_binary import AddOp
from tilewright.dialects.tw.indexing import Combine, ScatterAddOp, ScatterAlongOp
from tilewright.dialects.types import element_type_of, is_half

from ..rewrite import skip
from .driver import Rewrite, Rules, apply_rules
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
        if isinstance(scatter, ScatterAddOp | ScatterAlongOp) and _adds_to_zeros(op, scatter):
            made = type(scatter).create(
                operands=[addend, *scatter.operands[1:]],  # the target is the first
                result_types=op.result_types,
                properties=scatter.properties,
            )
            return rw.value(made, like=scatter)
    return None


def _adds_to_zeros(op: Operation, scatter: ScatterAddOp | ScatterAlongOp) -> bool:
    adds = isinstance(scatter, ScatterAddOp) or scatter.combine.data is Combine.ADD
    if not adds or splat_of(scatter.target) != 0:
        return False
    if is_half(element_type_of(scatter.target)):
        skip(op, "halves are rounded after each addition: the order of a sum matters")
        return False
    if len(list(scatter.result.uses)) > 1:
        skip(op, "what was scattered to zeros has other users")
        return False
    return True


_RULES: Rules = {AddOp: (_add_to_scattered,)}
