"""Convolutions of channels-last images as products: windows are rows, and so are pixels of the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilewright.dialects.attribute_facts import ints
from tilewright.dialects.index_expr import as_expr, product
from tilewright.dialects.tw.linalg import MatmulOp
from tilewright.dialects.tw.reduction import SumOp
from tilewright.dialects.tw.view import ReshapeOp, TransposeOp
from tilewright.dialects.tw.window import WindowOp
from tilewright.dialects.types import sizes_of

from ..driver import Rewrite
from ..layout.channels_last import to_the_end
from ..memory.layouts import inverse
from .convolution_gradients import OF_BIAS, OF_FILTERS, OF_IMAGE
from .windows import Windows, with_bias


@dataclass(frozen=True)
class WindowRows(Windows):
    """Windows as rows, of images that are rows of pixels.

    Windows of an image that does not lie so (the photograph that a model is given) have their channels first,
    as they lie.
    """

    def result(self, bias: SSAValue | None, rw: Rewrite) -> SSAValue:
        """The convolution."""
        filters = self._filters(rw, turned=pixels_of(self.image) is not None)
        rows = rw.value(MatmulOp(self._rows(rw), rw.value(TransposeOp(filters, (1, 0)))))
        rows = with_bias(rows, bias, rw)
        sizes = (sizes_of(self.image)[0], *self.places, sizes_of(self.weight)[0])
        return self._brought_back(rw.value(ReshapeOp(rows, sizes)), rw)

    def gradients(self, gradient: SSAValue, wanted: Sequence[int], rw: Rewrite) -> dict[int, SSAValue]:
        """Those of the image, whose elements are in one window each, of the filters, and of the bias."""
        pixels = rw.value(TransposeOp(gradient, to_the_end(2 + self.rank)))
        rows = rw.value(ReshapeOp(pixels, (product(sizes_of(pixels)[:-1]), sizes_of(self.weight)[0])))
        made: dict[int, SSAValue] = {}
        if OF_IMAGE in wanted:
            made[OF_IMAGE] = self._of_image(rw.value(MatmulOp(rows, self._filters(rw, turned=True))), rw)
        if OF_FILTERS in wanted:
            made[OF_FILTERS] = self._of_filters(
                rw.value(MatmulOp(rw.value(TransposeOp(rows, (1, 0))), self._rows(rw))), rw
            )
        if OF_BIAS in wanted:
            made[OF_BIAS] = rw.value(SumOp(rows, (0,)))
        return made

    def _rows(self, rw: Rewrite) -> SSAValue:
        """`[N * places, window]`."""
        pixels, rank = pixels_of(self.image), self.rank
        spatial = range(2, 2 + rank) if pixels is None else range(1, 1 + rank)
        source = self.image if pixels is None else pixels
        windows = rw.value(WindowOp(source, spatial, self.kernel, self.strides, (1,) * rank))
        inside = range(2 + rank, 2 + 2 * rank)
        order = (0, *spatial, *((1, *inside) if pixels is None else (*inside, 1 + rank)))
        count = product((sizes_of(self.image)[0], *self.places))
        return rw.value(ReshapeOp(rw.value(TransposeOp(windows, order)), (count, self.window)))

    def _filters(self, rw: Rewrite, *, turned: bool) -> SSAValue:
        """`[O, window]`, the elements of a window as an image has them that is `turned`, or is not."""
        filters = rw.value(TransposeOp(self.weight, to_the_end(2 + self.rank))) if turned else self.weight
        return rw.value(ReshapeOp(filters, (sizes_of(filters)[0], self.window)))

    def _of_image(self, windows: SSAValue, rw: Rewrite) -> SSAValue:
        """The image of which these are the windows, side by side."""
        rank, (images, channels, *_) = self.rank, sizes_of(self.image)
        apart = rw.value(ReshapeOp(windows, (images, *self.places, *map(as_expr, self.kernel), channels)))
        order = (0, *(d for i in range(1, 1 + rank) for d in (i, rank + i)), 1 + 2 * rank)
        pixels = (images, *sizes_of(self.image)[2:], channels)
        return self._brought_back(rw.value(ReshapeOp(rw.value(TransposeOp(apart, order)), pixels)), rw)

    def _of_filters(self, flat: SSAValue, rw: Rewrite) -> SSAValue:
        outputs, channels, *_ = sizes_of(self.weight)
        if pixels_of(self.image) is None:
            return rw.value(ReshapeOp(flat, sizes_of(self.weight)))
        return self._brought_back(
            rw.value(ReshapeOp(flat, (outputs, *map(as_expr, self.kernel), channels))), rw
        )

    def _brought_back(self, turned: SSAValue, rw: Rewrite) -> SSAValue:
        return rw.value(TransposeOp(turned, inverse(to_the_end(2 + self.rank))))


def pixels_of(image: SSAValue) -> SSAValue | None:
    """`[N, spatial..., C]` for an image that lies so in memory, of which it is a view."""
    owner = image.owner
    if isinstance(owner, TransposeOp) and ints(owner.perm) == inverse(to_the_end(len(sizes_of(image)))):
        return owner.source
    return None
