"""Products of one kernel that are added to each other: the sum of one goes on from that of another.

Of `a b + c d` a program keeps one tile, to which it adds both, one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from xdsl.dialects import arith
from xdsl.ir import Block, SSAValue

from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.tk.compute import ReduceOp


class Product(Protocol):
    """What a kernel sums."""

    @property
    def reduce(self) -> ReduceOp: ...


ProductT = TypeVar("ProductT", bound=Product)


def running_sums(products: Sequence[ProductT]) -> Mapping[SSAValue, Sequence[ProductT]]:
    """The sums of the products of a kernel that are one tile each, and the products that each adds up."""
    found: dict[SSAValue, tuple[ProductT, ...]] = {p.reduce.result: (p,) for p in products}
    for op in ops_of(block_of(products)):
        if not isinstance(op, arith.AddfOp) or op.lhs not in found or op.rhs not in found:
            continue
        if op.lhs.has_one_use() and op.rhs.has_one_use():
            found[op.result] = (*found.pop(op.lhs), *found.pop(op.rhs))
    return found


def block_of(products: Sequence[Product]) -> Block:
    """The body of the kernel that sums all of them."""
    block = products[0].reduce.parent_block()
    assert block is not None
    return block
