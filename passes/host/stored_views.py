"""Kernels that store what others read of their results: a view, in place of what it is a view of."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import Bounds, Call, Expr
from tilewright.dialects.tk.access import StoreOp
from tilewright.dialects.tk.domain import exprs_of
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.base import STRIDES
from tilewright.dialects.tw.view import ReshapeOp, ReverseOp, TransposeOp
from tilewright.dialects.types import sizes_of

from ..fusion.absorb_views import absorb_views, source_subscripts
from ..kernels.body import remember_axes, remove_divisions, set_exprs
from ..memory.layouts import inverse
from ..memory.views import keeps_elements
from ..rewrite import carry_location, may_rewrite
from .second_stores import store_of


def may_be_stored(view: Operation) -> bool:
    """Whether it has every element of its source, once: nothing is lost where it is stored in its place."""
    return keeps_elements(view) or isinstance(view, ReverseOp)


def other_readers(root: SSAValue, views: Sequence[Operation]) -> bool:
    """Whether anything but kernels reads the result, or a view of it before the last one."""
    values = (root, *(view.results[0] for view in views[:-1]))
    readers = [use.operation for value in values for use in value.uses]
    return any(not isinstance(op, KernelOp) and op not in views for op in readers)


def store_view(root: SSAValue, views: Sequence[Operation]) -> bool:
    """Let the kernel that makes `root` store the last of `views`; False, and nothing changed, if it cannot.

    Kernels that read `root`, or views before the last one, read it through views back, and so where it is.
    """
    kernel, store = root.owner, store_of(root)
    assert isinstance(kernel, KernelOp)
    if store is None or STRIDES in kernel.attributes:
        return False
    back = _undone(views)
    if not _stores_through(kernel, store, back):
        for op in reversed(back):
            op.erase()
        return False
    _take_view(root, store.buffer, views, back)
    return True


def _undone(views: Sequence[Operation]) -> list[Operation]:
    """Views that make of the last one's result again what the first one is a view of."""
    back: list[Operation] = []
    value = views[-1].results[0]
    for view in reversed(views):
        if isinstance(view, TransposeOp):
            opposite: Operation = TransposeOp(value, inverse(ints(view.perm)))
        elif isinstance(view, ReverseOp):
            opposite = ReverseOp(value, ints(view.dims))
        else:
            opposite = ReshapeOp(value, sizes_of(view.operands[0]))
        back.append(opposite)
        value = opposite.results[0]
    return back


def _stores_through(kernel: KernelOp, store: StoreOp, back: Sequence[Operation]) -> bool:
    """Give the store the subscripts of the view; False, with nothing changed, where these would divide."""
    restore = remember_axes(kernel)
    at: Sequence[Expr] = exprs_of(store)
    for view in reversed(back):
        at = source_subscripts(view, at)
    bounds = Bounds(kernel.space)
    set_exprs(store, [bounds.simplify(e) for e in at])
    remove_divisions(kernel)
    divides = any(isinstance(atom, Call) for e in exprs_of(store) for atom in e.atoms())
    if divides or not may_rewrite(kernel, "stores a view of its result"):
        restore()
        return False
    return True


def _take_view(
    root: SSAValue, destination: SSAValue, views: Sequence[Operation], back: Sequence[Operation]
) -> None:
    """Make the kernel's result the view, and what reads the result read the views back."""
    kernel, view = root.owner, views[-1].results[0]
    assert isinstance(kernel, KernelOp)
    values = (root, *(op.results[0] for op in views[:-1]))
    readers = [use.operation for value in values for use in value.uses]
    carry_location(kernel, back)
    Rewriter.insert_op(back, InsertPoint.after(kernel))
    root.replace_all_uses_with(back[-1].results[0])
    Rewriter.replace_value_with_new_type(destination, view.type)
    view.replace_all_uses_with(Rewriter.replace_value_with_new_type(root, view.type))
    for op in dict.fromkeys(readers):
        if isinstance(op, KernelOp):
            absorb_views(op)
    for op in (*reversed(views), *reversed(back)):
        if all(result.first_use is None for result in op.results):
            Rewriter.erase_op(op)
