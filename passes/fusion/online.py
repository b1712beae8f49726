"""What an online softmax wants in one kernel: maxima, and the sums of exponentials below them."""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.ir import OpResult, SSAValue

from tilewright.dialects.ir_access import ops_of
from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.domain import is_reduction
from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.body import loads_of, store_to
from ..kernels.sums_below import but_for_constant, maximum_of, sum_below
from .match import Match, axes_in, links


def sums_below_maxima(producer: KernelOp, consumer: KernelOp, m: Match) -> bool:
    """Whether all that `consumer` does along what both reduce is to sum below maxima that `producer` finds.

    `reduce-online` makes one walk of the two, where programs cannot hold what they reduce.
    """
    linked = links(producer, consumer)
    if isinstance(linked, str):
        return False
    found = {load.result for load, store in linked if maximum_of(store.value) is not None}
    for op in ops_of(consumer.body.block):
        if is_reduction(op):
            sums = sum_below(op)
            if sums is None or but_for_constant(sums.shift) not in found:
                return False
        elif type(op) is StoreOp and not m.reduced.isdisjoint(axes_in(op.subscripts)):
            return False
    return True


def summed_below_maximum(value: OpResult, consumer: KernelOp) -> bool:
    """Whether `value` is of exponentials below a maximum that another kernel finds, and `consumer` sums them.

    What it sums then is what that kernel reads: both are one walk.
    """
    kernel = value.op
    assert isinstance(kernel, KernelOp)
    store = store_to(kernel.destinations[value.index])
    exponential = None if store is None else store.value.owner
    apart = exponential.operand.owner if isinstance(exponential, math.ExpOp) else None
    if not isinstance(apart, arith.SubfOp) or not _is_maximum(kernel, but_for_constant(apart.rhs)):
        return False
    uses = [use.operation for load in _loads(value, consumer) for use in load.result.uses]
    return all(isinstance(op, ReduceOp) and op.kind.data == "add" for op in uses)


def _loads(value: SSAValue, kernel: KernelOp) -> list[LoadOp]:
    return loads_of(kernel.sources[list(kernel.operands).index(value)])


def _is_maximum(kernel: KernelOp, value: SSAValue) -> bool:
    """Whether `kernel` loads `value` of the maxima that another kernel finds."""
    load = value.owner
    if not isinstance(load, LoadOp):
        return False
    made = dict(zip(kernel.sources, kernel.operands, strict=True))[load.buffer]
    if not isinstance(made, OpResult) or not isinstance(made.op, KernelOp):
        return False
    store = store_to(made.op.destinations[made.index])
    return store is not None and maximum_of(store.value) is not None
