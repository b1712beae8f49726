"""Stores what a kernel stores a second time, for readers that want it elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.kernels import KernelOp

from ..kernels.body import store_to
from ..memory.views import keeps_elements
from ..rewrite import take_results


def store_of(result: SSAValue) -> StoreOp | None:
    """The one plain store to a result of a kernel."""
    assert isinstance(result, OpResult)
    kernel = result.op
    assert isinstance(kernel, KernelOp)
    return store_to(kernel.destinations[result.index])


def stored_again(result: SSAValue) -> SSAValue:
    """Another result of the same kernel with the same elements."""
    kernel, store = result.owner, store_of(result)
    assert isinstance(kernel, KernelOp)
    assert store is not None
    body = kernel.body.block
    destination = body.insert_arg(result.type, len(body.args))
    again = store.clone()
    again.operands[1] = destination
    body.insert_op_after(again, store)
    made = KernelOp.create(
        operands=kernel.operands,
        result_types=[*kernel.result_types, result.type],
        properties=kernel.properties,
        attributes=kernel.attributes,
        regions=[kernel.detach_region(kernel.body)],
    )
    made.location = kernel.location
    new = made.results[-1]
    new.name_hint = result.name_hint
    Rewriter.insert_op(made, InsertPoint.before(kernel))
    take_results(made, [*kernel.results, new])
    Rewriter.erase_op(kernel)
    return new


def viewed(value: SSAValue, views: Sequence[Operation], before: Operation) -> SSAValue:
    """The same views of another value."""
    for view in reversed(views):
        copy = view.clone({view.operands[0]: value})
        Rewriter.insert_op(copy, InsertPoint.before(before))
        value = copy.results[0]
    return value


def take_operands(op: Operation, operands: Sequence[SSAValue]) -> None:
    """Put them in the place of the old ones, all at once; views that nobody reads then go."""
    old = list(op.operands)
    op.operands = operands
    for value in dict.fromkeys(old):
        while not value.uses and isinstance(view := value.owner, Operation) and keeps_elements(view):
            if view.parent is None:
                break  # gone with a view of it
            value = view.operands[0]
            Rewriter.erase_op(view)
