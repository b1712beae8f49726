"""Additions behind the products of one kernel, put in an order in which sums can run (`running_sums.py`)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.tk.contraction import Contraction

from .body import erase_unread
from .running_sums import block_of


def add_products_first(products: Sequence[Contraction]) -> None:
    """Let sums in f32 of several products, and of what else, begin with the products: `(x + a b) + c d`."""
    made = {p.reduce.result for p in products}
    for op in [op for op in ops_of(block_of(products)) if isinstance(op, arith.AddfOp)]:
        if op.result.type != f32 or _inner(op.result) is not None:
            continue
        terms = _terms(op)
        terms.sort(key=lambda value: value not in made)
        total, *others = terms
        if others and others[0] in made:
            for value in others:
                added = arith.AddfOp(total, value)
                added.location = op.location
                Rewriter.insert_op(added, InsertPoint.before(op))
                total = added.result
            op.result.replace_all_uses_with(total)
    erase_unread(block_of(products))


def _terms(op: arith.AddfOp) -> list[SSAValue]:
    """What a tree of additions adds up, in order; additions that nobody else reads are part of it."""
    found: list[SSAValue] = []
    for value in op.operands:
        if isinstance(added := value.owner, arith.AddfOp) and _inner(value) is op:
            found += _terms(added)
        else:
            found.append(value)
    return found


def _inner(value: SSAValue) -> arith.AddfOp | None:
    """The addition that alone reads `value`, and once."""
    if not value.has_one_use():
        return None
    (use,) = value.uses
    return use.operation if isinstance(use.operation, arith.AddfOp) else None
