"""Which convolutions are matrix products: those in which no element of the image is in two windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilewright.dialects.index_expr import Expr, product
from tilewright.dialects.tw.window import window_sizes
from tilewright.dialects.types import element_type_of, is_half, sizes_of

from .convolution_columns import WindowColumns
from .convolution_rows import WindowRows, pixels_of


@dataclass(frozen=True)
class WindowProduct:
    """`[N, C, spatial...] x [O, C, kernel...]`, in one group.

    What a transposed one computes is the gradient of such an image, of which O channels are given.
    """

    image: SSAValue
    """Where it is what is computed, its sizes alone count."""
    weight: SSAValue
    strides: tuple[int, ...]
    turned: bool
    """Whether its images lie with their channels last (`channels-last`)."""
    transposed: bool

    @property
    def rank(self) -> int:
        """The number of spatial dimensions."""
        return len(self.strides)

    @property
    def kernel(self) -> tuple[int, ...] | None:
        """Its sizes; None where a symbol is among them."""
        sizes = [size.constant for size in sizes_of(self.weight)[2:]]
        return None if None in sizes else tuple(n for n in sizes if n is not None)

    @property
    def places(self) -> tuple[Expr, ...]:
        """How many windows there are along each spatial dimension."""
        kernel, image = self.kernel, sizes_of(self.image)
        assert kernel is not None
        spatial = range(2, 2 + self.rank)
        return window_sizes(image, spatial, kernel, self.strides, (1,) * self.rank)[2 : 2 + self.rank]

    @property
    def has_one_window(self) -> bool:
        """Whether an image is one, of one place."""
        return self.kernel is not None and all(n.constant == 1 for n in self.places)

    @property
    def has_rows(self) -> bool:
        """Whether windows are rows of the product, not columns."""
        return self.turned or self.has_one_window

    @property
    def tiles(self) -> bool:
        """Whether each element is in a window."""
        kernel, sizes = self.kernel, sizes_of(self.image)[2:]
        assert kernel is not None
        found = zip(sizes, self.places, kernel, self.strides, strict=True)
        return all(n == p * k and (k == s or p.constant == 1) for n, p, k, s in found)

    def is_product(self, padding: Sequence[int], dilation: Sequence[int], groups: int) -> bool:
        """Whether it is one: 1 x 1, patches or one window, of halves, with rows in twos at least.

        Products of f32 are a library's anyway. What comes in twos is four bytes long, the least that a GPU
        copies asynchronously; a library brings other images to another layout first.
        """
        kernel = self.kernel
        if kernel is None or groups != 1 or any(padding) or not is_half(element_type_of(self.image)):
            return False
        steps = zip(kernel, self.strides, self.places, dilation, strict=True)
        if not all(k == 1 or (d == 1 and (k <= s or p.constant == 1)) for k, s, p, d in steps):
            return False
        if self.transposed and not (self.has_rows and self.tiles):
            return False
        outputs, channels, *_ = sizes_of(self.weight)
        if self.turned and (self.transposed or pixels_of(self.image) is not None):
            return all(n.exact_div(2) is not None for n in (outputs, channels))
        if self.has_one_window:
            return product((channels, *sizes_of(self.weight)[2:])).exact_div(2) is not None
        if all(n == 1 for n in (*kernel, *self.strides)):
            return product(sizes_of(self.image)[2:]).exact_div(2) is not None
        return kernel[-1] % 2 == 0

    def rows(self) -> WindowRows:
        """The product of rows: of channels-last images, or of one window each."""
        assert self.kernel is not None
        return WindowRows(self.image, self.weight, self.strides, self.kernel, self.places)

    def writer(self) -> WindowRows | WindowColumns:
        """What writes its products, as its images lie."""
        if self.has_rows:
            return self.rows()
        assert self.kernel is not None
        return WindowColumns(self.image, self.weight, self.strides, self.kernel, self.places)
