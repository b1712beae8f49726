"""What stands in the place of a convolution by a frozen filter: channels-last, or made of windows."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.index_expr import ONE, as_expr
from tilewright.dialects.tw.base import Elementwise
from tilewright.dialects.tw.linalg import ConvolutionOp
from tilewright.dialects.tw.packed_convolution import PackedConvolutionOp, PackFilterOp
from tilewright.dialects.tw.view import ReshapeOp, SliceOp, TransposeOp
from tilewright.dialects.tw.window import WindowOp
from tilewright.dialects.types import element_type_of, sizes_of

from ..memory.memory_order import layout_of
from .replacement import Replacement

_FEW = 4
"""Channels of an image whose turning costs more than reading it with a stride: a few lanes of each vector."""


def has_few_channels(op: ConvolutionOp) -> bool:
    """Whether the image has few channels, which lie far apart."""
    channels = sizes_of(op.image)[1].constant
    return channels is not None and channels <= _FEW and op.groups.value.data == 1 and lie_apart(op.image)


def lie_apart(image: SSAValue) -> bool:
    """Whether the channels of `image` are no neighbours: neither an op nor the caller made them so."""
    while isinstance(owner := image.owner, Operation) and owner.has_trait(Elementwise):
        image = owner.operands[0]
    if isinstance(image.owner, Operation):
        return not isinstance(image.owner, TransposeOp)
    layout = layout_of(image)
    return layout.is_dense or layout.strides[1] != ONE


class ConvolutionRewrite(Replacement[ConvolutionOp]):
    """Puts new ops in the place of a convolution."""

    def __init__(self, op: ConvolutionOp) -> None:
        super().__init__(op)
        self.element = element_type_of(op.image)

    def by_packed(self, width: int, bf16_dot: bool) -> None:
        op, rank = self.op, len(sizes_of(self.op.image)) - 2
        group, filters, bias = self._group(bf16_dot), op.weight, op.bias
        outputs = sizes_of(filters)[0].constant or 0
        if added := -outputs % width:
            filters = self.padded(filters, [0] * (rank + 2), [added, *[0] * (rank + 1)])
            bias = self.padded(bias, [0], [added]) if bias is not None else None
        element = f32 if group is None else self.element
        bias = self.cast(bias, element) if bias is not None else None
        reads = self._windows if has_few_channels(op) else self._pixels
        result = self.cast(reads(filters, bias, width, group, element), self.element)
        if added:
            sizes = [*sizes_of(result)[:-1], as_expr(outputs)]
            result = self.put(SliceOp(result, [0] * (rank + 2), sizes, [1] * (rank + 2)))
        result = self.put(TransposeOp(result, [0, rank + 1, *range(1, rank + 1)]))
        self.finish(result)

    def _pixels(
        self, filters: SSAValue, bias: SSAValue | None, width: int, group: int | None, element: Attribute
    ) -> SSAValue:
        """The convolution of a channels-last image."""
        strides, padding, dilation, _ = self.op.geometry()
        rank, more = len(padding), 0
        if group is not None:
            more = -(sizes_of(filters)[1].constant or 0) % group
            filters = self.padded(filters, [0] * (rank + 2), [0, more, *[0] * rank])
        image = self.cast(self.put(TransposeOp(self.op.image, [0, *range(2, rank + 2), 1])), element)
        image = self.padded(image, [0, *padding, 0], [0, *padding, more])
        packed = self.put(PackFilterOp(filters, width, group))
        groups = self.op.groups.value.data
        return self.put(PackedConvolutionOp(image, packed, bias, strides, dilation, groups))

    def _windows(
        self, filters: SSAValue, bias: SSAValue | None, width: int, group: int | None, element: Attribute
    ) -> SSAValue:
        """The same, one element of a window after the other as channels: neighbours lie in a row.

        Rows of both are filled up with zeros: what lies behind a row in the image may be infinite.
        """
        strides, padding, dilation, _ = self.op.geometry()
        rank = len(padding)
        outputs, channels, *kernel = (n.constant or 1 for n in sizes_of(filters))
        more = -kernel[-1] % (group or 1)
        filters = self.padded(filters, [0] * (rank + 2), [*[0] * (rank + 1), more])
        image = self.padded(self.cast(self.op.image, element), [0, 0, *padding], [0, 0, *padding])
        window = self.put(WindowOp(image, [rank + 1], kernel[-1:], strides[-1:], dilation[-1:]))
        window = self.padded(window, [0] * (rank + 3), [*[0] * (rank + 2), more])
        if rank > 1:
            window = self.put(WindowOp(window, range(2, rank + 1), kernel[:-1], strides[:-1], dilation[:-1]))
        perm = [0, *range(2, rank + 2), 1, *range(rank + 3, 2 * rank + 2), rank + 2]
        kernel[-1] += more
        steps = channels * prod(kernel)
        sizes = [*(n for d, n in enumerate(sizes_of(window)[: rank + 2]) if d != 1), as_expr(steps)]
        image = self.put(ReshapeOp(self.put(TransposeOp(window, perm)), sizes))
        filters = self.put(ReshapeOp(filters, [as_expr(n) for n in (outputs, steps, *[1] * rank)]))
        packed = self.put(PackFilterOp(filters, width, group))
        return self.put(PackedConvolutionOp(image, packed, bias, [1] * rank, [1] * rank, 1))

    def _group(self, bf16_dot: bool) -> int | None:
        """How many channels are multiplied at once; None for one after the other."""
        channels, groups = sizes_of(self.op.weight)[1].constant or 0, self.op.groups.value.data
        if self.element != bf16 or not bf16_dot or (groups > 1 and channels % 2):
            return None
        return 2
