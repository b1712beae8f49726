"""Whether a kernel stores what it reads along another axis: what lies side by side is far apart then.

Tiles that turn have no room for sums beside them, so neither should a kernel that reads the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import OpResult, SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import Expr, Var
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.domain import Reduction, exprs_of
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.view import TransposeOp

from ..kernels.body import loads_of


def stores_turned(kernel: KernelOp, value: SSAValue) -> bool:
    """Whether all that `kernel` stores goes through memory along other axes than `value`, which it reads.

    Not of a kernel that reduces: it stores less than it reads.
    """
    if any(isinstance(op, Reduction) for op in kernel.body.block.ops):
        return False
    read = {_axis(subscripts, -1) for subscripts in subscripts_read(value, kernel)}
    stored: set[Var | None] = set()
    results = dict(zip(kernel.destinations, kernel.results, strict=True))
    for op in kernel.body.block.ops:
        if isinstance(op, StoreOp):
            stored |= {_axis(exprs_of(op), last) for last in _last_dimensions(results[op.buffer])}
    return bool(read) and bool(stored) and None not in read | stored and read.isdisjoint(stored)


def subscripts_read(value: SSAValue, kernel: KernelOp) -> set[tuple[Expr, ...]]:
    """Where `kernel` reads an operand, as far as that depends on no data."""
    return {exprs_of(load) for load in loads_read(value, kernel) if not load.dynamic}


def loads_read(value: SSAValue, kernel: KernelOp) -> list[LoadOp]:
    """The loads by which `kernel` reads an operand, be it given more than once."""
    pairs = zip(kernel.operands, kernel.sources, strict=True)
    return [load for operand, source in pairs if operand is value for load in loads_of(source)]


def _last_dimensions(result: OpResult) -> set[int]:
    """Which dimension of a result is the last one in memory: `store-views` stores what a transpose shows."""
    shown = [use.operation for use in result.uses]
    return {ints(op.perm)[-1] if isinstance(op, TransposeOp) else -1 for op in shown}


def _axis(subscripts: Sequence[Expr], dimension: int) -> Var | None:
    """The axis along which an access goes in a dimension, if it is the only one."""
    axes = [var for var in subscripts[dimension].variables() if var.kind == "d"] if subscripts else []
    return axes[0] if len(axes) == 1 else None
