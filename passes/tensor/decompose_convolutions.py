"""Convolutions that are matrix products, and their gradients: no element of the image is in two windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tilewright.dialects.index_expr import Expr, product
from tilewright.dialects.tw.aten import AtenOp
from tilewright.dialects.tw.elementwise_binary import AddOp
from tilewright.dialects.tw.linalg import ConvolutionOp, MatmulOp
from tilewright.dialects.tw.reduction import SumOp
from tilewright.dialects.tw.view import BroadcastOp, ReshapeOp, TransposeOp
from tilewright.dialects.tw.window import WindowOp, window_sizes
from tilewright.dialects.types import element_type_of, is_half, sizes_of

from ..driver import Rewrite, Rules, apply_rules
from ..layout.channels_last import is_turned
from ..rewrite import skip
from .call_arguments import each, literal, literals
from .convolution_gradients import (
    DILATION,
    OF_BIAS,
    OF_FILTERS,
    OF_IMAGE,
    PADDING,
    STRIDES,
    TRANSPOSED,
    computes_gradients,
    groups_of,
    returned,
)
from .convolution_rows import WindowRows, pixels_of


@dataclass(frozen=True)
class DecomposeConvolutionsPass(ModulePass):
    """Write convolutions of halves in which no element of the image is in two windows as matrix products.

    Before:
        %r = tw.convolution %x, %w ... : (tensor<2x8x4x4xbf16>, ...) -> tensor<2x16x4x4xbf16>
    After:
        %f = tw.reshape %w : tensor<16x8x1x1xbf16> -> tensor<16x8xbf16>
        %i = tw.reshape %x : tensor<2x8x4x4xbf16> -> tensor<2x8x16xbf16>
        %p = tw.matmul %f for each image, %i : ... -> tensor<2x16x16xbf16>
        %r = tw.reshape %p : tensor<2x16x16xbf16> -> tensor<2x16x4x4xbf16>

    1 x 1 and patches, that is, images of one window, and their gradients. What stands around them then fuses.
    An image that lies with its channels last (`channels-last`) is rows of these, which the filters multiply
    from the other side, and so are images of one window: squeeze and excitation, the end of a discriminator.
    """

    name = "decompose-convolutions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, RULES, self.name)


def decompose_convolution(op: Operation, rw: Rewrite) -> SSAValue | None:
    """The filters times the windows of an image as columns: channels stay in front of places."""
    assert isinstance(op, ConvolutionOp)
    strides, padding, dilation, _ = op.geometry()
    found = _Convolution(op.image, op.weight, strides, is_turned(op))
    if op.transposed is not None or not found.is_product(padding, dilation, op.groups.value.data):
        return None
    if found.has_rows:
        return found.rows().result(op.bias, rw)
    filters = _for_each(sizes_of(op.image)[0], found.filters(rw), rw)
    result = rw.value(ReshapeOp(rw.value(MatmulOp(filters, found.windows(rw))), sizes_of(op.result)))
    if op.bias is None:
        return result
    return rw.value(AddOp(result, rw.value(BroadcastOp(op.bias, sizes_of(op.result), (1,)))))


def _for_each(images: Expr, matrix: SSAValue, rw: Rewrite) -> SSAValue:
    return rw.value(BroadcastOp(matrix, (images, *sizes_of(matrix)), (1, 2)))


def decompose_convolution_backward(op: Operation, rw: Rewrite) -> list[SSAValue] | None:
    """The gradients of a product are products, that of its bias is a sum; all three, or none."""
    if not computes_gradients(op):
        return None
    wanted, found = returned(op), _product_of(op)
    if found is None or (OF_IMAGE in wanted and not found.tiles):
        return None
    gradients = found.rows().gradients if found.has_rows else partial(_gradients, found)
    made = gradients(op.inputs[0], wanted, rw)
    return [made[number] for number in wanted]


@dataclass(frozen=True)
class _Convolution:
    """`[N, C, spatial...] x [O, C, kernel...]`, in one group."""

    image: SSAValue
    weight: SSAValue
    strides: tuple[int, ...]
    turned: bool
    """Whether its images lie with their channels last (`channels-last`)."""

    def rows(self) -> WindowRows:
        """The same as a product of rows of channels-last images."""
        assert self.kernel is not None
        return WindowRows(self.image, self.weight, self.strides, self.kernel, self.places)

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

    def is_product(self, padding: Sequence[int], dilation: Sequence[int], groups: int) -> bool:
        """Whether it is one as 1 x 1, patches and one window are, of halves, with rows in twos at least.

        Products of f32 are a library's anyway. What comes in twos is four bytes long, the least that a GPU
        copies asynchronously; a library brings other images to another layout first.
        """
        kernel = self.kernel
        if kernel is None or groups != 1 or any(padding) or not is_half(element_type_of(self.image)):
            return False
        steps = zip(kernel, self.strides, self.places, dilation, strict=True)
        if not all(k == 1 or (d == 1 and (k <= s or p.constant == 1)) for k, s, p, d in steps):
            return False
        outputs, channels, *_ = sizes_of(self.weight)
        if self.turned and pixels_of(self.image) is not None:
            return all(n.exact_div(2) is not None for n in (outputs, channels))
        if self.has_one_window:
            return product((channels, *sizes_of(self.weight)[2:])).exact_div(2) is not None
        if all(n == 1 for n in (*kernel, *self.strides)):
            return product(sizes_of(self.image)[2:]).exact_div(2) is not None
        return kernel[-1] % 2 == 0

    @property
    def tiles(self) -> bool:
        """Whether each element is in a window."""
        kernel, sizes = self.kernel, sizes_of(self.image)[2:]
        assert kernel is not None
        found = zip(sizes, self.places, kernel, self.strides, strict=True)
        return all(n == p * k and (k == s or p.constant == 1) for n, p, k, s in found)

    def windows(self, rw: Rewrite) -> SSAValue:
        """`[N, C * kernel, places]`."""
        kernel, rank = self.kernel, self.rank
        assert kernel is not None
        windows = rw.value(WindowOp(self.image, range(2, 2 + rank), kernel, self.strides, (1,) * rank))
        order = (0, 1, *range(2 + rank, 2 + 2 * rank), *range(2, 2 + rank))
        columns = (sizes_of(self.image)[0], product(sizes_of(self.weight)[1:]), product(self.places))
        return rw.value(ReshapeOp(rw.value(TransposeOp(windows, order)), columns))

    def filters(self, rw: Rewrite) -> SSAValue:
        """`[O, C * kernel]`."""
        outputs, *window = sizes_of(self.weight)
        return rw.value(ReshapeOp(self.weight, (outputs, product(window))))


def _product_of(op: AtenOp) -> _Convolution | None:
    """The convolution whose gradients `op` computes, where that is a product."""
    gradient, image, weight = op.inputs
    rank = len(sizes_of(gradient)) - 2
    strides, padding, dilation = (literals(op, number) for number in (STRIDES, PADDING, DILATION))
    groups = groups_of(op)
    if (
        strides is None
        or padding is None
        or dilation is None
        or literal(op, TRANSPOSED) != 0
        or groups is None
    ):
        return None
    found = _Convolution(image, weight, each(strides, rank), is_turned(op))
    if not found.is_product(each(padding, rank), each(dilation, rank), groups):
        return None
    if found.places != sizes_of(gradient)[2:]:
        skip(op, "not decomposed: its sizes are written differently")
        return None
    return found


def _gradients(
    found: _Convolution, gradient: SSAValue, wanted: Sequence[int], rw: Rewrite
) -> dict[int, SSAValue]:
    made: dict[int, SSAValue] = {}
    batch, outputs, *places = sizes_of(gradient)
    rank, count, window = found.rank, product(places), sizes_of(found.weight)[1:]
    columns = rw.value(ReshapeOp(gradient, (batch, outputs, count)))
    if OF_IMAGE in wanted:
        filters = _for_each(batch, rw.value(TransposeOp(found.filters(rw), (1, 0))), rw)
        apart = rw.value(ReshapeOp(rw.value(MatmulOp(filters, columns)), (batch, *window, *places)))
        order = (0, 1, *(d for i in range(rank) for d in (2 + rank + i, 2 + i)))
        made[OF_IMAGE] = rw.value(ReshapeOp(rw.value(TransposeOp(apart, order)), sizes_of(found.image)))
    if OF_FILTERS in wanted:
        lhs, rhs = (_over_all_images(value, rw) for value in (columns, found.windows(rw)))
        flat = rw.value(MatmulOp(lhs, rw.value(TransposeOp(rhs, (1, 0)))))
        made[OF_FILTERS] = rw.value(ReshapeOp(flat, sizes_of(found.weight)))
    if OF_BIAS in wanted:
        made[OF_BIAS] = rw.value(SumOp(columns, (0, 2)))
    return made


def _over_all_images(columns: SSAValue, rw: Rewrite) -> SSAValue:
    """`[N, rows, places]` as `[rows, N * places]`."""
    batch, rows, count = sizes_of(columns)
    return rw.value(ReshapeOp(rw.value(TransposeOp(columns, (1, 0, 2))), (rows, batch * count)))


RULES: Rules = {ConvolutionOp: (decompose_convolution,), AtenOp: (decompose_convolution_backward,)}
