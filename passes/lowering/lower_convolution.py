"""Packed convolutions and their filters -> `tk.kernel`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Operation

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import ZERO, Expr, as_expr
from tilewright.dialects.tk.compute import ReduceOp
from tilewright.dialects.tk.kernels import KernelOp
from tilewright.dialects.tw.packed_convolution import PackedConvolutionOp, PackedFilter, PackFilterOp
from tilewright.dialects.types import sizes_of

from ..kernels.kernel_builder import KernelBuilder


def lower_pack_filter(op: Operation) -> KernelOp:
    """Axes: those of the result."""
    assert isinstance(op, PackFilterOp)
    b = KernelBuilder(op.location, sizes_of(op.result), op.operands, op.result_types)
    group = 1 if op.group is None else op.group.value.data
    packed = PackedFilter.of(b.axes, len(sizes_of(op.source)))
    channel = packed.steps * group + (b.axes[-1] if op.group is not None else 0)
    b.store(b.load(0, (packed.panels * op.width.value.data + packed.width, channel, *packed.kernel)), b.axes)
    return b.kernel


def lower_packed_convolution(op: Operation) -> KernelOp:
    """Axes: image, place in the result, group, panel, column in the panel; then the reduced ones."""
    assert isinstance(op, PackedConvolutionOp)
    packed = op.filters
    panels, channels, width = packed.panels, packed.channels, packed.width
    groups = as_expr(1 if op.is_depthwise else op.groups.value.data)
    batch, *out, _ = sizes_of(op.result)
    rank = len(out)
    space = (
        batch,
        *out,
        groups,
        panels // groups,
        width,
        *packed.kernel,
        packed.steps,
        *sizes_of(op.packed)[rank + 3 :],
    )
    b = KernelBuilder(op.location, space, op.operands, op.result_types)
    image, *place = b.axes[: 1 + rank]
    group, panel, column, *taps = b.axes[1 + rank : 4 + 2 * rank]
    step, *member = b.axes[4 + 2 * rank :]
    channel = step * packed.group + member[0] if member else step
    panel = group * (panels // groups) + panel
    output = panel * width + column
    read = output if op.is_depthwise else group * channels + channel
    at = [o * s + t * d for o, s, t, d in zip(place, ints(op.strides), taps, ints(op.dilation), strict=True)]
    pixel = b.load(0, (image, *_in_range(at, sizes_of(op.image)[1:-1]), read))
    weight = b.load(1, (panel, *taps, ZERO if op.is_depthwise else step, column, *member))
    term = b.op(arith.MulfOp, pixel, weight)
    reduced = tuple(range(4 + rank, len(space)))
    total = b.add(ReduceOp.make("add", term, reduced)).results[0]
    if op.bias is not None:
        total = b.op(arith.AddfOp, total, b.load(2, (output,)))
    b.store(total, (image, *place, output))
    return b.kernel


def _in_range(at: Sequence[Expr], sizes: Sequence[Expr]) -> list[Expr]:
    """Subscripts; 0 along a dimension of size 1."""
    return [ZERO if n.constant == 1 else e for e, n in zip(at, sizes, strict=True)]
