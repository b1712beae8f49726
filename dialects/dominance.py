"""The dominance check that xDSL's verifier leaves out."""

from __future__ import annotations

from collections.abc import Container

from xdsl.ir import Operation, Region

from .diagnostics import UseBeforeDefinition
from .ir_access import operands_of
from .op_text import is_isolated


def verify_dominance(op: Operation, known: Container[int] = ()) -> None:
    """Raise UseBeforeDefinition where an operand under `op` is not defined before its use.

    Every region of ours has one block, in which order is dominance. Regions with more
    blocks are skipped: no dialect of this project makes them. So are those of isolated ops whose
    `id` is in `known`.
    """
    defined: set[int] = set()
    for region in op.regions:
        _check_region(region, defined, known)


def _check_region(region: Region, defined: set[int], known: Container[int]) -> None:
    """`defined` holds the `id` of each value: their own hash is a call of Python for each look."""
    block = region.first_block
    if block is None or block is not region.last_block:
        return
    scope: list[int] = [id(argument) for argument in block.args]
    defined.update(scope)
    op = block.first_op
    while op is not None:
        if not defined.issuperset(map(id, operands_of(op))):
            index = next(i for i, v in enumerate(op.operands) if id(v) not in defined)
            raise UseBeforeDefinition(op, index=index)
        if op.regions:
            isolated = is_isolated(type(op))
            inner = set[int]() if isolated else defined
            for child in () if isolated and id(op) in known else op.regions:
                _check_region(child, inner, known)
        if op.results:
            made = [id(result) for result in op.results]
            scope += made
            defined.update(made)
        op = op.next_op
    defined.difference_update(scope)
