"""The dominance check that xDSL's verifier leaves out."""

from __future__ import annotations

from xdsl.ir import Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove

from .diagnostics import UseBeforeDefinition


def verify_dominance(op: Operation) -> None:
    """Raise UseBeforeDefinition where an operand under `op` is not defined before its use.

    Every region of ours has one block, in which order is dominance. Regions with more
    blocks are skipped: no dialect of this project makes them.
    """
    defined: set[SSAValue] = set()
    for region in op.regions:
        _check_region(region, defined)


def _check_region(region: Region, defined: set[SSAValue]) -> None:
    block = region.first_block
    if block is None or block is not region.last_block:
        return
    scope: list[SSAValue] = list(block.args)
    defined.update(scope)
    for op in block.ops:
        for operand in op.operands:
            if operand not in defined:
                index = next(i for i, v in enumerate(op.operands) if v is operand)
                raise UseBeforeDefinition(op, index=index)
        if op.regions:
            inner = set[SSAValue]() if op.has_trait(IsolatedFromAbove) else defined
            for child in op.regions:
                _check_region(child, inner)
        if op.results:
            scope.extend(op.results)
            defined.update(op.results)
    defined.difference_update(scope)
