"""absorb-views: kernels read through reshapes, transposes, broadcasts and slices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tilewright.dialects.index_expr import (
    ZERO,
    Bounds,
    Expr,
    delinearize,
    linearize,
    row_major_strides,
)
from tilewright.dialects.ir_access import operands_of
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw import view
from tilewright.dialects.tw.base import ints
from tilewright.dialects.tw.window import WindowOp
from tilewright.dialects.types import sizes_of

from ..host.layouts import Layout, dense
from ..host.views import behind, is_view, view_layout
from ..rewrite import carry_location, may_rewrite
from .body import exprs_of, loads_of, remove_divisions, replace_input, set_exprs, simplify_body
from .kernel_builder import KernelBuilder

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
    that only kernels used are left dead; views that library ops read stay. Only a part of what a copy would
    repeat is wanted of some (a tensor twice behind itself, from which a roll takes as much): that part is
    what a kernel copies then, which fuses with what makes the tensor.
    """

    name = "absorb-views"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for part in op.walk(reverse=True):
            if isinstance(part, view.SliceOp) and _repeats(part.source) and _is_stored(part.result):
                _copy_part(part)
        for kernel in op.walk():
            if isinstance(kernel, KernelOp):
                absorb_views(kernel)


def _repeats(value: SSAValue) -> bool:
    """Whether `value` is a view that only a copy can be, of more elements than it shows."""
    root, views = behind(value)
    layout: Layout | None = dense(sizes_of(root))
    repeated = False
    for shown in reversed(views):
        repeated = repeated or isinstance(shown, view.BroadcastOp)
        layout = view_layout(shown, layout)
        if layout is None and repeated:
            return True
        layout = layout or dense(sizes_of(shown.results[0]))  # a copy of as many elements
    return False


def _is_stored(value: SSAValue) -> bool:
    """Whether anything but a kernel reads it, as it is or through views."""
    users = [use.operation for use in value.uses]
    return any(
        _is_stored(user.results[0]) if is_view(user) else not isinstance(user, KernelOp) for user in users
    )


def _copy_part(op: view.SliceOp) -> None:
    kernel = view_kernel(op)
    if kernel is not None and may_rewrite(op, "stores what it shows"):
        carry_location(op, [kernel])
        Rewriter.replace_op(op, kernel)


def absorb_views(kernel: KernelOp) -> None:
    """Replace every operand of `kernel` that a view defines by the view's source."""
    changed = False
    for number in range(len(operands_of(kernel))):
        while isinstance(viewed := operands_of(kernel)[number].owner, Operation):
            if (read_through := _READ_THROUGH.get(type(viewed))) is None:
                break
            if not may_rewrite(viewed, "absorbed into a kernel"):
                break
            _read_source(kernel, number, viewed, read_through)
            changed = True
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
