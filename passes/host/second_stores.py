"""What is stored or copied a second time, for readers that want it elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.tk.access import LoadOp, StoreOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.types import sizes_of

from ..kernels.body import store_to
from ..kernels.dense_order import accessed
from ..memory.layouts import Layout, same_strides
from ..memory.memory_order import layout_of
from ..memory.returned import Returned
from ..memory.views import keeps_elements, view_layout
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
    new = _with_result(kernel, store.clone(), store, result.type)
    new.name_hint = result.name_hint
    return new


def stored_where_loaded(kernel: KernelOp, load: LoadOp) -> SSAValue:
    """A new result of `kernel`: a copy of what `load` reads all of."""
    source = accessed(kernel, load)
    store = StoreOp.make(load.result, load.buffer, load.subscripts)
    store.location = load.location
    return _with_result(kernel, store, load, source.type)


def _with_result(kernel: KernelOp, store: StoreOp, before: Operation, type_: Attribute) -> SSAValue:
    """A new result of `kernel`, to which `store` stores behind the op `before`."""
    body = kernel.body.block
    store.operands[1] = body.insert_arg(type_, len(body.args))
    body.insert_op_after(store, before)
    made = KernelOp.create(
        operands=kernel.operands,
        result_types=[*kernel.result_types, type_],
        properties=kernel.properties,
        attributes=kernel.attributes,
        regions=[kernel.detach_region(kernel.body)],
    )
    made.location = kernel.location
    Rewriter.insert_op(made, InsertPoint.before(kernel))
    take_results(made, [*kernel.results, made.results[-1]])
    Rewriter.erase_op(kernel)
    return made.results[-1]


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


def is_copied(result: Returned) -> bool:
    """Whether its strides are not those that it is to have, and nobody could have stored it so."""
    if isinstance(result.root.owner, KernelOp) and all(map(keeps_elements, result.views)):
        return False
    if any(size.constant == 0 for size in sizes_of(result.value)):
        return False
    layout: Layout | None = layout_of(result.root)
    for number, view in reversed(list(enumerate(result.views))):
        layout = view_layout(view, layout)
        if layout is None:  # copied there: for others, too, that read it
            return all(later.results[0].has_one_use() for later in result.views[: number + 1])
    return not same_strides(layout.sizes, layout.strides, result.strides)
