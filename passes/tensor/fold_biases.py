"""fold-biases: matrix products add a row to all of theirs themselves."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.tw.elementwise_binary import AddOp
from tilewright.dialects.tw.linalg import MatmulOp
from tilewright.dialects.tw.view import BroadcastOp, ReshapeOp
from tilewright.dialects.types import element_type_of, is_float, is_half, sizes_of

from ..driver import Rewrite, Rules, apply_rules
from ..rewrite import skip


@dataclass(frozen=True)
class FoldBiasesPass(ModulePass):
    """Make what is added to every row of a product its bias.

    Before:
        %m = tw.matmul %x, %w : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
        %s = tw.reshape %m : tensor<6x5xf32> -> tensor<2x3x5xf32>
        %b = tw.broadcast %v dims [2] : tensor<5xf32> -> tensor<2x3x5xf32>
        %r = tw.add %s, %b : tensor<2x3x5xf32>
    After:
        %m = tw.matmul %x, %w bias %v : (tensor<6x4xf32>, tensor<4x5xf32>, tensor<5xf32>) -> tensor<6x5xf32>
        %r = tw.reshape %m : tensor<6x5xf32> -> tensor<2x3x5xf32>

    A library's product does that where it writes the result. Left alone are products that others read without
    the row, that have a bias, that are of halves, which round before the row is added, or of integers.
    """

    name = "fold-biases"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, _RULES, self.name)


def _fold(op: Operation, rw: Rewrite) -> SSAValue | None:
    for value, added in (op.operands, op.operands[::-1]):
        view = value.owner
        source = view.source if isinstance(view, ReshapeOp) else value
        product, row = source.owner, added.owner
        if not isinstance(product, MatmulOp) or not isinstance(row, BroadcastOp):
            continue
        if not _is_row(row, product):
            continue
        if product.bias is not None or not (value.has_one_use() and source.has_one_use()):
            skip(op, "the product has a bias, or others read it without this row")
            continue
        element = element_type_of(product.result)
        if is_half(element) or not is_float(element):
            skip(op, "halves are rounded before the row is added, and libraries add none to integers")
            continue
        made = rw.value(MatmulOp(product.lhs, product.rhs, row.source), like=product)
        return made if source is value else rw.value(ReshapeOp(made, sizes_of(value)))
    return None


def _is_row(row: BroadcastOp, product: MatmulOp) -> bool:
    """Whether the same row is added to all rows of the product."""
    width = sizes_of(product.result)[-1]
    last = len(sizes_of(row.result)) - 1
    whole = sizes_of(row.result)[-1] == width and sizes_of(row.source) == (width,)
    return whole and ints(row.dims) == (last,)


_RULES: Rules = {AddOp: (_fold,)}
