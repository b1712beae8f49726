"""Which scatters may change their target in place, and what must be read of it before."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.kernels import KernelOp

from ..memory.views import behind, is_written


def reads_what_changes(value: OpResult, scatter: KernelOp) -> bool:
    """Whether the kernel of `value` reads the target of `scatter`, other than where `value` is that target.

    In one kernel, elements would be read while others change, so that all of the target had to be copied.
    """
    changed = changed_by(scatter, but=value)
    return any(behind(operand)[0] in changed for operand in value.op.operands)


def changed_by(scatter: KernelOp, but: SSAValue | None = None) -> set[SSAValue]:
    """What `scatter` may change in place: the memory of its targets, `but` of this one."""
    roots = {behind(target)[0] for target in _targets(scatter) if target is not but}
    return {root for root in roots if _may_change(root)}


def _targets(kernel: KernelOp) -> list[SSAValue]:
    """What `kernel` copies and then scatters to."""
    stores = [op for op in ops_of(kernel.body.block) if type(op) is StoreOp]
    scattered = {op.buffer for op in stores if op.scatters}
    if not scattered:
        return []
    fills = [_uncast(op.value) for op in stores if op.buffer in scattered and not op.scatters]
    loaded = {op.buffer for op in fills if isinstance(op, LoadOp)}
    return [v for v, source in zip(kernel.operands, kernel.sources, strict=True) if source in loaded]


def _uncast(value: SSAValue) -> Operation | None:
    """What makes a number, before it was widened and narrowed."""
    while isinstance(owner := value.owner, arith.ExtFOp | arith.TruncFOp):
        value = owner.input
    return owner if isinstance(owner, Operation) else None


def _may_change(root: SSAValue) -> bool:
    """Not an argument that keeps its value."""
    return not isinstance(root, BlockArgument) or is_written(root)
