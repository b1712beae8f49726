"""Sliding windows as a view: what pooling reduces over."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, traits_def

from ..attribute_facts import ints
from ..index_expr import Expr, as_expr
from ..op_definition import op_definition
from ..types import sizes_of, tensor_type
from .base import (
    INTS,
    PURE,
    TENSOR,
    TwOp,
    element_of,
    expect_axes,
    expect_element,
    expect_sizes,
    fail,
    int_array,
)


def window_sizes(
    source: Sequence[Expr],
    dims: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
) -> tuple[Expr, ...]:
    """The sizes of the source with positions for lengths, then those of the window."""
    result = list(source)
    for d, size, stride, step in zip(dims, sizes, strides, dilation, strict=True):
        result[d] = (source[d] - (size - 1) * step - 1) // stride + 1
    return (*result, *(as_expr(n) for n in sizes))


@op_definition
class WindowOp(TwOp):
    """All windows along `dims`: `result[..., i, ..., k] = source[..., i*stride + k*dilation, ...]`.

    Dimension `dims[j]` becomes the window's position, and a new trailing dimension of
    `sizes[j]` the place inside of the window. Windows lie inside of the source.

    ```mlir
    %r = tw.window %x dims [1] sizes [3] strides [2] dilation [1]
       : tensor<4x9xf32> -> tensor<4x4x3xf32>
    ```
    """

    name = "tw.window"

    source = operand_def(TENSOR)
    dims = prop_def(INTS)
    sizes = prop_def(INTS)
    strides = prop_def(INTS)
    dilation = prop_def(INTS)
    result = result_def(TENSOR)

    traits = traits_def(PURE)
    assembly_format = (
        "$source `dims` $dims `sizes` $sizes `strides` $strides `dilation` $dilation attr-dict"
        " `:` type($source) `->` type($result)"
    )

    def __init__(
        self,
        source: SSAValue,
        dims: Sequence[int],
        sizes: Sequence[int],
        strides: Sequence[int],
        dilation: Sequence[int],
    ) -> None:
        shape = window_sizes(sizes_of(source), dims, sizes, strides, dilation)
        properties = {
            "dims": int_array(dims),
            "sizes": int_array(sizes),
            "strides": int_array(strides),
            "dilation": int_array(dilation),
        }
        self._build((source,), (tensor_type(element_of(source), shape),), properties)

    def geometry(self) -> tuple[tuple[int, ...], ...]:
        """Dims, sizes, strides and dilation, one entry per window dimension."""
        return ints(self.dims), ints(self.sizes), ints(self.strides), ints(self.dilation)

    def check(self) -> None:
        source = sizes_of(self.source)
        geometry = self.geometry()
        expect_axes(self, "dims", geometry[0], len(source))
        for name, values in zip(("sizes", "strides", "dilation"), geometry[1:], strict=True):
            if len(values) != len(geometry[0]) or min(values, default=1) < 1:
                count = len(geometry[0])
                raise fail(self, f"{name} is {list(values)}, expected {count} entries of at least 1")
        dims, sizes, _, dilation = geometry
        for d, size, step in zip(dims, sizes, dilation, strict=True):
            reach = (size - 1) * step + 1
            length = source[d].constant
            if length is not None and length < reach:
                raise fail(self, f"dimension {d} of size {length} holds no window of {reach}")
        expect_element(self, "result", self.result, element_of(self.source))
        expect_sizes(self, "result shape", sizes_of(self.result), window_sizes(source, *geometry))


WINDOW_OPS = (WindowOp,)
