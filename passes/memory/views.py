"""What each tw view op does to a layout, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import ONE, ZERO, Expr, parse_exprs
from tilewright.dialects.ir_access import operands_of
from tilewright.dialects.tw.aten import WriteOp
from tilewright.dialects.tw.view import BroadcastOp, ConcatOp, ReshapeOp, ReverseOp, SliceOp, TransposeOp
from tilewright.dialects.tw.window import WindowOp
from tilewright.dialects.types import sizes_of

from .layouts import Layout, broadcast, inverse, reshaped, reversed_, sliced, transposed, windows


def _reshape(op: Operation, source: Layout) -> Layout | None:
    return reshaped(source, sizes_of(op.results[0]))


def _transpose(op: Operation, source: Layout) -> Layout | None:
    assert isinstance(op, TransposeOp)
    return transposed(source, ints(op.perm))


def _broadcast(op: Operation, source: Layout) -> Layout | None:
    assert isinstance(op, BroadcastOp)
    return broadcast(source, ints(op.dims), sizes_of(op.result))


def _slice(op: Operation, source: Layout) -> Layout | None:
    assert isinstance(op, SliceOp)
    return sliced(source, parse_exprs(op.starts.data), parse_exprs(op.steps.data), sizes_of(op.result))


def _reverse(op: Operation, source: Layout) -> Layout | None:
    assert isinstance(op, ReverseOp)
    return reversed_(source, ints(op.dims))


def _window(op: Operation, source: Layout) -> Layout | None:
    assert isinstance(op, WindowOp)
    return windows(source, *op.geometry(), sizes_of(op.result))


_VIEWS: Mapping[type[Operation], Callable[[Operation, Layout], Layout | None]] = {
    ReshapeOp: _reshape,
    TransposeOp: _transpose,
    BroadcastOp: _broadcast,
    SliceOp: _slice,
    ReverseOp: _reverse,
    WindowOp: _window,
}


def is_view(op: Operation) -> bool:
    return type(op) in _VIEWS


def behind(
    value: SSAValue, follows: Callable[[Operation], bool] = is_view
) -> tuple[SSAValue, list[Operation]]:
    """What `value` is a view of, and the views, the last one first."""
    views: list[Operation] = []
    while isinstance(op := value.owner, Operation) and follows(op):
        views.append(op)
        value = op.operands[0]
    return value, views


def readers(value: SSAValue, follows: Callable[[Operation], bool] = is_view) -> set[Operation]:
    """What reads `value`, or a view of it that somebody reads."""
    found: set[Operation] = set()
    for op in {use.operation: None for use in value.uses}:
        found |= readers(op.results[0], follows) if follows(op) else {op}
    return found


def is_written(argument: SSAValue) -> bool:
    """Whether `tw.write` changes an argument, or a part of it."""
    return any(isinstance(op, WriteOp) and op.argument is argument for op in readers(argument))


def keeps_elements(op: Operation) -> bool:
    """Whether the view has every element of its source, once."""
    return isinstance(op, ReshapeOp | TransposeOp)


def view_layout(op: Operation, source: Layout) -> Layout | None:
    """The layout of a view's result, None where only a copy can have it (some reshapes)."""
    return _VIEWS[type(op)](op, source)


def layout_shown(views: Sequence[Operation], layout: Layout) -> Layout | None:
    """The layout that `views`, the last one first, have of what has `layout`; None if one must be a copy."""
    found: Layout | None = layout
    for view in reversed(views):
        found = None if found is None else view_layout(view, found)
    return found


def layout_behind(views: Sequence[Operation], layout: Layout) -> Layout | None:
    """The layout that what `views`, the last one first, are views of must have for them to have `layout`."""
    found: Layout | None = layout
    for view in views:
        found = None if found is None else source_layout(view, found)
    return found


def source_layout(op: Operation, result: Layout) -> Layout | None:
    """The layout that a view's source must have for the result to have `result`; None if unknown."""
    match op:
        case TransposeOp():
            return transposed(result, inverse(ints(op.perm)))
        case ReshapeOp():
            return reshaped(result, sizes_of(op.source))
        case _:
            return None


def part_layout(op: ConcatOp, operand: int, start: Expr, whole: Layout) -> Layout:
    """Where operand number `operand`, which begins at `start`, lies within the concatenation."""
    dim = op.dim.value.data
    starts = tuple(start if d == dim else ZERO for d in range(len(whole.sizes)))
    return sliced(whole, starts, (ONE,) * len(starts), sizes_of(operands_of(op)[operand]))
