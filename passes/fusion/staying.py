"""Which results of kernels are not worth recomputing, as the last few of their ops already show."""

from __future__ import annotations

from xdsl.ir import Operation, OpResult

from tilewright.dialects.tk.access import LoadOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import bytes_of, element_type_of

from ..kernels.body import combined_axes, store_to
from .contents import Bodies
from .cost import BYTE_COST, POSITIONS, evaluations, op_cost

_LAST_OPS = 16


def stays(value: OpResult, consumer: KernelOp, loads: list[LoadOp], bodies: Bodies) -> bool:
    """Whether the last few ops that make `value` are enough to see that it is not recomputed.

    False says nothing. A walk over all of a long kernel for each of its results would cost the square of
    its length.
    """
    kernel, element = value.op, element_type_of(value)
    assert isinstance(kernel, KernelOp)
    if (store := store_to(kernel.destinations[value.index])) is None:
        return True
    work, bound = 0.0, bytes_of(element) * BYTE_COST
    todo, seen = [store.value], set[Operation]()
    while todo and work <= bound and len(seen) < _LAST_OPS:
        op = todo.pop().owner
        if isinstance(op, Operation) and op not in seen:
            if combined_axes(op):
                return True
            seen.add(op)
            work += op_cost(op)
            todo += op.operands
    if work <= bound or element in POSITIONS or reads_all(kernel, consumer):
        return False
    if bodies.of(consumer).contraction is not None:
        return False
    return any(evaluations(load.subscripts, consumer.space) for load in loads)


def reads_all(kernel: KernelOp, consumer: KernelOp) -> bool:
    """Whether nobody else reads any result of `kernel`."""
    return all(use.operation is consumer for result in kernel.results for use in result.uses)


def only_reader(value: OpResult, consumer: KernelOp) -> bool:
    """True where fusing leaves nothing of the kernel that makes `value`."""
    kernel = value.op
    assert isinstance(kernel, KernelOp)
    return len(kernel.results) == 1 and reads_all(kernel, consumer)
