"""The order in which arguments and results of library calls lie in memory."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import ZERO
from tilewright.dialects.tw.base import stated_strides
from tilewright.dialects.tw.view import TransposeOp
from tilewright.dialects.types import sizes_of

from ..rewrite import location_of
from .layouts import Layout, dense, dense_order, transposed
from .library_calls import is_call
from .stated import layout_of_result


def shows_memory(op: Operation) -> bool:
    """Whether `op` is the view of an argument or a call's result that is row-major, which that is not."""
    if not isinstance(op, TransposeOp):
        return False
    layout = _stated(op.source)
    return layout is not None and not layout.is_dense and transposed(layout, ints(op.perm)).is_dense


def memory_view(value: SSAValue) -> SSAValue | None:
    """That view of `value`, a new one if there is none; None where `value` is row-major, or has gaps."""
    layout = _stated(value)
    if layout is None or layout.is_dense or (order := dense_order(layout)) is None:
        return None
    users = (use.operation for use in value.uses)
    view = next((user for user in users if shows_memory(user)), None)
    if view is None:
        view = TransposeOp(value, order)
        view.location = location_of(value)
    else:
        view.detach()  # it may stand behind what will read it, too
    owner = value.owner
    if isinstance(owner, Operation):
        Rewriter.insert_op(view, InsertPoint.after(owner))
    else:
        assert owner.first_op is not None
        owner.insert_op_before(view, owner.first_op)
    return view.results[0]


def layout_of(value: SSAValue) -> Layout:
    """How `value` lies: an argument, or a call's result, as they say; anything else row-major, so far."""
    return _stated(value) or dense(sizes_of(value))


def _stated(value: SSAValue) -> Layout | None:
    if not isinstance(value.type, TensorType):
        return None
    owner = value.owner
    if isinstance(owner, Operation):
        return layout_of_result(owner, owner.results.index(value)) if is_call(owner) else None
    function = owner.parent_op()
    if not isinstance(value, BlockArgument) or not isinstance(function, FuncOp):
        return None
    attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
    strides = stated_strides(attributes[value.index].data) if attributes else None
    return None if strides is None else Layout(ZERO, sizes_of(value), strides)
