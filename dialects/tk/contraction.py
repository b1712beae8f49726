"""Recognises matrix products in kernel bodies: a sum of products over shared axes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue

from .access import LoadOp
from .compute import ArgReduceOp, ReduceOp, ScanOp
from .domain import Axes, domains_of


@dataclass(frozen=True)
class Contraction:
    """`sum over (rows x columns x over) of left * right`.

    `left` does not vary over `columns`, `right` not over `rows`; both vary over `over`.
    """

    reduce: ReduceOp
    product: arith.MulfOp
    left: SSAValue
    right: SSAValue
    rows: Axes
    columns: Axes
    over: Axes

    def sources(self) -> frozenset[LoadOp]:
        """The loads that feed the product."""
        found: set[LoadOp] = set()
        todo = [self.left, self.right]
        while todo:
            owner = todo.pop().owner
            if isinstance(owner, LoadOp):
                found.add(owner)
            if isinstance(owner, Operation):
                todo.extend(owner.operands)
        return frozenset(found)


def find_contraction(block: Block) -> Contraction | None:
    """The matrix product of a kernel whose only reduction it is; None for any other kernel."""
    reductions = [op for op in block.ops if isinstance(op, ReduceOp | ArgReduceOp | ScanOp)]
    if len(reductions) != 1 or not isinstance(reduce := reductions[0], ReduceOp):
        return None
    product = reduce.value.owner
    if reduce.kind.data != "add" or not isinstance(product, arith.MulfOp):
        return None
    domains = domains_of(block)
    left, right = product.lhs, product.rhs
    over = frozenset(reduce.over)
    rows, columns = domains[left] - domains[right], domains[right] - domains[left]
    if not rows or not columns or not over <= domains[left] & domains[right]:
        return None
    return Contraction(reduce, product, left, right, rows, columns, over)
