"""absorb-views: kernels read through reshapes, transposes, broadcasts and slices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import (
    ZERO,
    Bounds,
    Expr,
    delinearize,
    linearize,
    row_major_strides,
)
from tilewright.dialects.ir_access import defined_functions, operands_of
from tilewright.dialects.tk.domain import exprs_of
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw import view
from tilewright.dialects.tw.window import WindowOp
from tilewright.dialects.types import sizes_of

from ..kernels.body import loads_of, remove_divisions, replace_input, set_exprs, simplify_body
from ..kernels.kernel_builder import KernelBuilder
from ..memory.layouts import Layout, dense, same_strides
from ..memory.memory_order import layout_of, memory_view, shows_memory
from ..memory.returned import Returned, returned_by
from ..memory.views import behind, is_view, keeps_elements, readers, view_layout
from ..rewrite import carry_location, may_rewrite
from .inline import producer_of

Subscripts = Sequence[Expr]


@dataclass(frozen=True)
class AbsorbViewsPass(ModulePass):
    """Let each kernel load from the source of a view, by composing its subscripts.

    Before:
        %t = tw.transpose %x by [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
        %r = tk.kernel [4, 8] ins(%t : tensor<4x8xf32>) -> (tensor<4x8xf32>) {
          %0 = tk.load %a[d0, d1] : tensor<4x8xf32> -> f32 ...
    After:
        %r = tk.kernel [4, 8] ins(%x : tensor<8x4xf32>) -> (tensor<4x8xf32>) {
          %0 = tk.load %a[d1, d0] : tensor<8x4xf32> -> f32 ...

    A reshape may need an axis to be split in two, so that no subscript divides. Views
    that only kernels used are left dead; views that library ops read, or that are returned, stay. But what
    only a copy can be is what a kernel copies, which fuses with what makes the tensor: overlapping windows in
    rows, what is repeated between others, or a part of a tensor, returned without gaps. Only a part of what a
    copy would repeat is wanted of some (a tensor twice behind itself, from which a roll takes as much): then
    that part is copied. What is left as it is has each element once, as a kernel can store it, or is one of
    several parts, as `store-views` can arrange them.

    Arguments and results of libraries that lie in another order than their dimensions are written are read
    through the one transpose that shows them as they lie, so that the passes behind see what is next to what.
    """

    name = "absorb-views"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            parts = {root for root, results in returned_by(function).items() if len(results) > 1}
            for shown in reversed(list(function.body.block.ops)):
                if is_view(shown) and _is_better_copied(shown, parts):
                    _copy_shown(shown)
            for results in returned_by(function).values():
                if len(results) == 1 and _is_copied(results[0]):
                    _copy_result(function, results[0])
        for kernel in op.walk():
            if isinstance(kernel, KernelOp):
                absorb_views(kernel)


def _is_better_copied(op: Operation, parts: Collection[SSAValue]) -> bool:
    """Whether a kernel should copy what a view shows: only a copy can be it, or what it is a part of repeats.

    What has each element once needs no copy: it can be computed in that order. Nor does what only kernels
    read, and of several results that are `parts` of one tensor these are left.
    """
    root, views = behind(op.operands[0])
    layout, copies = _shown_by_copies(root, views)
    if isinstance(op, view.SliceOp) and _repeats(views, copies):
        return bool(_stored_by(op))
    if all(map(keeps_elements, views)) or view_layout(op, layout) is not None:
        return False
    return any(root not in parts or not isinstance(reader, ReturnOp) for reader in _stored_by(op))


def _shown_by_copies(root: SSAValue, views: Sequence[Operation]) -> tuple[Layout, Sequence[Operation]]:
    """The layout that views of a tensor have, and those of them that must be copies for that."""
    layout, copies = layout_of(root), list[Operation]()
    for shown in reversed(views):
        found = view_layout(shown, layout)
        if found is None:
            copies.append(shown)
        layout = found or dense(sizes_of(shown.results[0]))
    return layout, copies


def _repeats(views: Sequence[Operation], copies: Sequence[Operation]) -> bool:
    """Whether a copy among `views`, the last one first, has elements more than once."""
    before = views[views.index(copies[-1]) :] if copies else ()
    return any(isinstance(shown, view.BroadcastOp) for shown in before)


def _stored_by(op: Operation) -> list[Operation]:
    """What wants a view in memory: all that reads it but kernels."""
    return [reader for reader in readers(op.results[0]) if not isinstance(reader, KernelOp)]


def _copy_shown(op: Operation) -> None:
    kernel = view_kernel(op)
    if kernel is not None and may_rewrite(op, "stores what it shows"):
        carry_location(op, [kernel])
        Rewriter.replace_op(op, kernel)


def _is_copied(result: Returned) -> bool:
    """Whether a result is a part of what can be computed for it alone, or a copy of a copy of an argument."""
    root, views = result.root, result.views
    layout, copies = _shown_by_copies(root, views)
    if not isinstance(root.owner, Operation):
        return len(copies) > 1
    if all(map(keeps_elements, views)) or not isinstance(root.owner, KernelOp):
        return False
    if not copies and same_strides(layout.sizes, layout.strides, result.strides):
        return False
    return not isinstance(producer_of(root), str)


def _copy_result(function: FuncOp, result: Returned) -> None:
    """Others go on reading what it is a view of."""
    ret, shown = function.body.block.last_op, result.views[0]
    kernel = view_kernel(shown)
    if ret is None or kernel is None or not may_rewrite(shown, "a result that can only be a copy"):
        return
    carry_location(shown, [kernel])
    function.body.block.insert_op_before(kernel, ret)
    ret.operands[result.position] = kernel.results[0]


def absorb_views(kernel: KernelOp) -> None:
    """Replace every operand of `kernel` that a view defines by the view's source."""
    changed = False
    for number in range(len(operands_of(kernel))):
        while isinstance(viewed := operands_of(kernel)[number].owner, Operation):
            if (read_through := _READ_THROUGH.get(type(viewed))) is None or shows_memory(viewed):
                break
            if not may_rewrite(viewed, "absorbed into a kernel"):
                break
            _read_source(kernel, number, viewed, read_through)
            changed = True
        changed |= _read_memory(kernel, number)
    if changed:
        remove_divisions(kernel)
        simplify_body(kernel)


def _read_source(
    kernel: KernelOp, number: int, viewed: Operation, read_through: Callable[..., Subscripts]
) -> None:
    bounds = Bounds(kernel.space)
    loads = loads_of(kernel.body.block.args[number])
    replace_input(kernel, number, viewed.operands[0])
    for load in loads:
        set_exprs(load, [bounds.simplify(e) for e in read_through(viewed, exprs_of(load))])


def _read_memory(kernel: KernelOp, number: int) -> bool:
    """Let a kernel read an operand that lies in another order than it is written as it lies."""
    lying = memory_view(operands_of(kernel)[number])
    if lying is None or not may_rewrite(kernel, "reads an operand in the order of its memory"):
        return False
    shown = lying.owner
    assert isinstance(shown, view.TransposeOp)
    loads = loads_of(kernel.body.block.args[number])
    replace_input(kernel, number, lying)
    for load in loads:
        at = exprs_of(load)
        set_exprs(load, [at[d] for d in ints(shown.perm)])
    return True


def source_subscripts(op: Operation, at: Subscripts) -> Subscripts:
    """Where in its source the element lies that the view `op` has at `at`."""
    return _READ_THROUGH[type(op)](op, at)


def view_kernel(op: Operation) -> KernelOp | None:
    """A kernel that copies what the view `op` shows; None where `op` is no such view."""
    if (read_through := _READ_THROUGH.get(type(op))) is None:
        return None
    b = KernelBuilder(op.location, sizes_of(op.results[0]), op.operands, op.result_types)
    shown = read_through(op, b.axes)
    subscripts = [Bounds(b.kernel.space).simplify(e) for e in shown]
    b.store(b.load(0, subscripts), b.axes)
    return b.kernel


# One function per view: subscripts of the result -> subscripts of the source


def _reshape(op: view.ReshapeOp, at: Subscripts) -> Subscripts:
    source, result = sizes_of(op.source), sizes_of(op.result)
    if len(at) == len(source) and source == result:
        return at
    if any(n.constant == 0 for n in source):
        return [ZERO] * len(source)  # no element is ever read
    kept = _unchanged_prefix(source, result)
    flat = linearize(at[kept:], row_major_strides(result[kept:]))
    return (*at[:kept], *delinearize(flat, source[kept:]))


def _unchanged_prefix(source: Subscripts, result: Subscripts) -> int:
    """How many leading sizes agree; those dimensions need no arithmetic."""
    kept = 0
    while kept < min(len(source), len(result)) - 1 and source[kept] == result[kept]:
        kept += 1
    return kept


def _transpose(op: view.TransposeOp, at: Subscripts) -> Subscripts:
    perm = ints(op.perm)
    return [at[perm.index(i)] for i in range(len(perm))]


def _broadcast(op: view.BroadcastOp, at: Subscripts) -> Subscripts:
    return [
        ZERO if size.constant == 1 else at[d]
        for size, d in zip(sizes_of(op.source), ints(op.dims), strict=True)
    ]


def _slice(op: view.SliceOp, at: Subscripts) -> Subscripts:
    starts, steps = view.starts_and_steps(op)
    return [start + step * i for start, step, i in zip(starts, steps, at, strict=True)]


def _reverse(op: view.ReverseOp, at: Subscripts) -> Subscripts:
    dims = ints(op.dims)
    return [
        n - 1 - i if d in dims else i for d, (n, i) in enumerate(zip(sizes_of(op.source), at, strict=True))
    ]


def _window(op: WindowOp, at: Subscripts) -> Subscripts:
    rank = len(sizes_of(op.source))
    found = list(at[:rank])
    dims, _, strides, dilation = op.geometry()
    for d, stride, step, inside in zip(dims, strides, dilation, at[rank:], strict=True):
        found[d] = found[d] * stride + inside * step
    return found


_READ_THROUGH: Mapping[type[Operation], Callable[..., Subscripts]] = {
    view.ReshapeOp: _reshape,
    view.TransposeOp: _transpose,
    view.BroadcastOp: _broadcast,
    view.SliceOp: _slice,
    view.ReverseOp: _reverse,
    WindowOp: _window,
}
