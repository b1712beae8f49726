"""A sum of products -> `tw.matmul`: the loops become batches, rows, columns and the sum."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.index_expr import product
from tilewright.dialects.tw.linalg import MatmulOp
from tilewright.dialects.types import element_type, is_half, sizes_of

from .builder import Builder
from .errors import name_of

_WIDENING = ("arith.extf", "arith.extsi")
Along = tuple[int | None, ...]


def contraction(
    b: Builder, op: Operation, args: Sequence[SSAValue], maps: Sequence[Along], summed: Sequence[int]
) -> SSAValue | None:
    """The product that a generic computes, without its start; None where it is something else."""
    if len(args) != 3 or any(None in m for m in maps) or not _multiplies(op):
        return None
    lhs, rhs, out = ([loop for loop in m if loop is not None] for m in maps)
    batch = [loop for loop in out if loop in lhs and loop in rhs]
    rows = [loop for loop in out if loop in lhs and loop not in rhs]
    columns = [loop for loop in out if loop in rhs and loop not in lhs]
    depth = list(summed)
    sorts = ({*batch, *rows, *depth}, {*batch, *columns, *depth}, {*batch, *rows, *columns})
    if any(set(m) != sort for m, sort in zip((lhs, rhs, out), sorts, strict=True)):
        return None
    sizes = {
        loop: n
        for v, m in zip(args, (lhs, rhs, out), strict=True)
        for loop, n in zip(m, sizes_of(v), strict=True)
    }

    def flat(value: SSAValue, have: list[int], groups: Sequence[list[int]]) -> SSAValue:
        value = b.transpose(value, [have.index(loop) for group in groups for loop in group])
        return b.reshape(value, [product(sizes[i] for i in group) for group in groups])

    stack = [[loop] for loop in batch]
    element = element_type(op.regions[0].block.args[2].type)
    left, right = flat(args[0], lhs, [*stack, rows, depth]), flat(args[1], rhs, [*stack, depth, columns])
    found = b.add(MatmulOp(b.cast(left, element), b.cast(right, element)))
    order = [*batch, *rows, *columns]
    found = b.reshape(found, [sizes[loop] for loop in order])
    return b.transpose(found, [order.index(loop) for loop in out])


def _multiplies(op: Operation) -> bool:
    """Whether the body is `old + a * b`, the factors widened or not."""
    block = op.regions[0].block
    ops = [name_of(inner) for inner in block.ops]
    if [n for n in ops if n not in _WIDENING] not in (
        ["arith.mulf", "arith.addf", "linalg.yield"],
        ["arith.muli", "arith.addi", "linalg.yield"],
    ):
        return False
    last = block.last_op
    total = last.operands[0].owner if last is not None else None
    if not isinstance(total, Operation) or block.args[2] not in total.operands:
        return False
    element = element_type(total.results[0].type)
    if is_half(element):  # the sum would be rounded at every step; tw.matmul rounds once
        return False
    term = next((v.owner for v in total.operands if v is not block.args[2]), None)
    if (
        not isinstance(term, Operation)
        or len(term.operands) != 2
        or element_type(term.results[0].type) != element
    ):
        return False
    return [_narrow(v) for v in term.operands] == list(block.args[:2])


def _narrow(value: SSAValue) -> SSAValue:
    owner = value.owner
    widened = isinstance(owner, Operation) and name_of(owner) in _WIDENING
    return owner.operands[0] if widened and isinstance(owner, Operation) else value
