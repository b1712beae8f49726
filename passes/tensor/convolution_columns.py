"""Convolutions of images with their channels first as products: windows are columns, and so are results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import Expr, product
from tilewright.dialects.tw.linalg import MatmulOp
from tilewright.dialects.tw.reduction import SumOp
from tilewright.dialects.tw.view import BroadcastOp, ReshapeOp, TransposeOp
from tilewright.dialects.tw.window import WindowOp
from tilewright.dialects.types import sizes_of

from ..driver import Rewrite
from .convolution_gradients import OF_BIAS, OF_FILTERS, OF_IMAGE
from .windows import Windows, with_bias


@dataclass(frozen=True)
class WindowColumns(Windows):
    """Windows as columns: channels stay in front of places."""

    def result(self, bias: SSAValue | None, rw: Rewrite) -> SSAValue:
        """The convolution: the filters times the windows of each image."""
        images, outputs = sizes_of(self.image)[0], sizes_of(self.weight)[0]
        filters = _for_each(images, self._filters(rw), rw)
        columns = rw.value(MatmulOp(filters, self._windows(rw)))
        return with_bias(rw.value(ReshapeOp(columns, (images, outputs, *self.places))), bias, rw)

    def gradients(self, gradient: SSAValue, wanted: Sequence[int], rw: Rewrite) -> dict[int, SSAValue]:
        """Those of the image, whose elements are in one window each, of the filters, and of the bias."""
        made: dict[int, SSAValue] = {}
        batch, outputs, *_ = sizes_of(gradient)
        columns = rw.value(ReshapeOp(gradient, (batch, outputs, product(self.places))))
        if OF_IMAGE in wanted:
            made[OF_IMAGE] = self._of_image(columns, rw)
        if OF_FILTERS in wanted:
            lhs, rhs = (_over_all_images(value, rw) for value in (columns, self._windows(rw)))
            flat = rw.value(MatmulOp(lhs, rw.value(TransposeOp(rhs, (1, 0)))))
            made[OF_FILTERS] = rw.value(ReshapeOp(flat, sizes_of(self.weight)))
        if OF_BIAS in wanted:
            made[OF_BIAS] = rw.value(SumOp(columns, (0, 2)))
        return made

    def _windows(self, rw: Rewrite) -> SSAValue:
        """`[N, C * kernel, places]`."""
        rank = self.rank
        windows = rw.value(WindowOp(self.image, range(2, 2 + rank), self.kernel, self.strides, (1,) * rank))
        order = (0, 1, *range(2 + rank, 2 + 2 * rank), *range(2, 2 + rank))
        columns = (sizes_of(self.image)[0], self.window, product(self.places))
        return rw.value(ReshapeOp(rw.value(TransposeOp(windows, order)), columns))

    def _filters(self, rw: Rewrite) -> SSAValue:
        """`[O, C * kernel]`."""
        return rw.value(ReshapeOp(self.weight, (sizes_of(self.weight)[0], self.window)))

    def _of_image(self, columns: SSAValue, rw: Rewrite) -> SSAValue:
        rank, batch = self.rank, sizes_of(self.image)[0]
        filters = _for_each(batch, rw.value(TransposeOp(self._filters(rw), (1, 0))), rw)
        sizes = (batch, *sizes_of(self.weight)[1:], *self.places)
        apart = rw.value(ReshapeOp(rw.value(MatmulOp(filters, columns)), sizes))
        order = (0, 1, *(d for i in range(rank) for d in (2 + rank + i, 2 + i)))
        return rw.value(ReshapeOp(rw.value(TransposeOp(apart, order)), sizes_of(self.image)))


def _for_each(images: Expr, matrix: SSAValue, rw: Rewrite) -> SSAValue:
    return rw.value(BroadcastOp(matrix, (images, *sizes_of(matrix)), (1, 2)))


def _over_all_images(columns: SSAValue, rw: Rewrite) -> SSAValue:
    """`[N, rows, places]` as `[rows, N * places]`."""
    batch, rows, count = sizes_of(columns)
    return rw.value(ReshapeOp(rw.value(TransposeOp(columns, (1, 0, 2))), (rows, batch * count)))
