"""Reductions over axes, which are dropped from the shape, and cumulative sums."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, traits_def

from ..attribute_facts import ints
from ..op_definition import op_definition
from ..types import sizes_of, tensor_type
from .base import (
    INTS,
    PURE,
    SAME,
    TENSOR,
    TwOp,
    element_of,
    expect_axes,
    expect_axis,
    expect_element,
    expect_kind,
    expect_sizes,
    fail,
    int_array,
    int_attr,
)


class ReduceOp(TwOp, ABC):
    """Combine the elements along `axes`, in any order; half types accumulate in f32.

    ```mlir
    %r = tw.sum %x over [1] : tensor<8x128xf32> -> tensor<8xf32>
    ```
    """

    ACCEPTS: ClassVar[str]
    HAS_IDENTITY: ClassVar[bool] = True

    source = operand_def(TENSOR)
    axes = prop_def(INTS)
    result = result_def(TENSOR)

    traits = traits_def(PURE)
    assembly_format = "$source `over` $axes attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, axes: Sequence[int]) -> None:
        kept = [n for i, n in enumerate(sizes_of(source)) if i not in axes]
        result = tensor_type(element_of(source), kept)
        self._build((source,), (result,), {"axes": int_array(sorted(axes))})

    def check(self) -> None:
        sizes, axes = sizes_of(self.source), ints(self.axes)
        expect_kind(self, self.source, self.ACCEPTS)
        expect_element(self, "result", self.result, element_of(self.source))
        expect_axes(self, "axes", axes, len(sizes))
        kept = [n for i, n in enumerate(sizes) if i not in axes]
        expect_sizes(self, "result shape", sizes_of(self.result), kept)
        if not self.HAS_IDENTITY and any(sizes[i].constant == 0 for i in axes):
            raise fail(self, f"reduces no elements over {list(axes)}, expected sizes of at least 1")


@op_definition
class SumOp(ReduceOp):
    """Sum; 0 for no elements. Integers wrap in their own type."""

    name = "tw.sum"
    ACCEPTS: ClassVar[str] = "number"


@op_definition
class ProdOp(ReduceOp):
    """Product; 1 for no elements. Integers wrap in their own type."""

    name = "tw.prod"
    ACCEPTS: ClassVar[str] = "number"


@op_definition
class MaxOp(ReduceOp):
    """Largest element; NaN if any is NaN. At least one element is reduced."""

    name = "tw.max"
    ACCEPTS: ClassVar[str] = "any"
    HAS_IDENTITY: ClassVar[bool] = False


@op_definition
class MinOp(ReduceOp):
    """Smallest element; NaN if any is NaN. At least one element is reduced."""

    name = "tw.min"
    ACCEPTS: ClassVar[str] = "any"
    HAS_IDENTITY: ClassVar[bool] = False


@op_definition
class AnyOp(ReduceOp):
    """True where an element is true; false for no elements."""

    name = "tw.any"
    ACCEPTS: ClassVar[str] = "i1"


@op_definition
class AllOp(ReduceOp):
    """True where every element is true; true for no elements."""

    name = "tw.all"
    ACCEPTS: ClassVar[str] = "i1"


class ArgReduceOp(TwOp, ABC):
    """The i64 position of an extreme element along `dim`, which is dropped.

    The first of equal elements; the first NaN, where there is one. At least one element.

    ```mlir
    %r = tw.argmax %x dim 1 : tensor<8x128xf32> -> tensor<8xi64>
    ```
    """

    source = operand_def(TENSOR)
    dim = prop_def(IntegerAttr.constr(i64))
    result = result_def(TENSOR)

    traits = traits_def(PURE)
    assembly_format = "$source `dim` $dim attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, dim: int) -> None:
        kept = [n for i, n in enumerate(sizes_of(source)) if i != dim]
        self._build((source,), (tensor_type(i64, kept),), {"dim": int_attr(dim)})

    def check(self) -> None:
        sizes, dim = sizes_of(self.source), self.dim.value.data
        expect_element(self, "result", self.result, i64)
        expect_axis(self, dim, len(sizes))
        expect_sizes(
            self, "result shape", sizes_of(self.result), [n for i, n in enumerate(sizes) if i != dim]
        )
        if sizes[dim].constant == 0:
            raise fail(self, f"dim {dim} has size 0, expected at least 1")


@op_definition
class ArgmaxOp(ArgReduceOp):
    """Position of the largest element: the first of equals, or the first NaN."""

    name = "tw.argmax"


@op_definition
class ArgminOp(ArgReduceOp):
    """Position of the smallest element: the first of equals, or the first NaN."""

    name = "tw.argmin"


class CumulativeOp(TwOp, ABC):
    """Running combination along `dim`: `result[i]` combines `source[0]` to `source[i]`.

    Half types compute in f32.

    ```mlir
    %r = tw.cumsum %x dim 1 : tensor<8x128xf32>
    ```
    """

    source = operand_def(SAME)
    dim = prop_def(IntegerAttr.constr(i64))
    result = result_def(SAME)

    traits = traits_def(PURE)
    assembly_format = "$source `dim` $dim attr-dict `:` type($result)"

    def __init__(self, source: SSAValue, dim: int) -> None:
        self._build((source,), (source.type,), {"dim": int_attr(dim)})

    def check(self) -> None:
        expect_kind(self, self.source, "number")
        expect_axis(self, self.dim.value.data, len(sizes_of(self.source)))


@op_definition
class CumsumOp(CumulativeOp):
    """Running sum; integers wrap."""

    name = "tw.cumsum"


@op_definition
class CumprodOp(CumulativeOp):
    """Running product; integers wrap."""

    name = "tw.cumprod"


@op_definition
class CummaxOp(CumulativeOp):
    """Largest element so far; NaN from the first NaN on."""

    name = "tw.cummax"


@op_definition
class CumminOp(CumulativeOp):
    """Smallest element so far; NaN from the first NaN on."""

    name = "tw.cummin"


@op_definition
class LogcumsumexpOp(CumulativeOp):
    """Logarithm of the running sum of exponentials, of floats; exponentials are of numbers up to 0."""

    name = "tw.logcumsumexp"

    def check(self) -> None:
        super().check()
        expect_kind(self, self.source, "float")


@op_definition
class LinearScanOp(TwOp):
    """Linear recurrence along `dim`: `result[i] = factor[i] * result[i - 1] + source[i]`.

    `result[0]` is `source[0]`, whatever `factor[0]` is. Half types compute in f32. Steps join in any order
    that keeps their sequence, by products of factors.

    ```mlir
    %r = tw.linear_scan %x by %f dim 1 : tensor<8x128xf32>
    ```
    """

    name = "tw.linear_scan"

    source = operand_def(SAME)
    factor = operand_def(SAME)
    dim = prop_def(IntegerAttr.constr(i64))
    result = result_def(SAME)

    traits = traits_def(PURE)
    assembly_format = "$source `by` $factor `dim` $dim attr-dict `:` type($result)"

    def __init__(self, source: SSAValue, factor: SSAValue, dim: int) -> None:
        self._build((source, factor), (source.type,), {"dim": int_attr(dim)})

    def check(self) -> None:
        expect_kind(self, self.source, "float")
        expect_axis(self, self.dim.value.data, len(sizes_of(self.source)))


@op_definition
class MomentsOp(TwOp):
    """Mean, and sum of the squared deviations from it, along `axes`, in any order.

    Half types compute in f32. Of no elements the mean is NaN and the sum 0; both are NaN where an element,
    or the sum of all, is not finite.

    ```mlir
    %m, %q = tw.moments %x over [1] : tensor<8x128xf32> -> tensor<8xf32>
    ```
    """

    name = "tw.moments"

    source = operand_def(TENSOR)
    axes = prop_def(INTS)
    mean = result_def(SAME)
    squares = result_def(SAME)

    traits = traits_def(PURE)
    assembly_format = "$source `over` $axes attr-dict `:` type($source) `->` type($mean)"

    def __init__(self, source: SSAValue, axes: Sequence[int]) -> None:
        kept = [n for i, n in enumerate(sizes_of(source)) if i not in axes]
        result = tensor_type(element_of(source), kept)
        self._build((source,), (result, result), {"axes": int_array(sorted(axes))})

    def check(self) -> None:
        sizes, axes = sizes_of(self.source), ints(self.axes)
        expect_kind(self, self.source, "float")
        expect_element(self, "result", self.mean, element_of(self.source))
        expect_axes(self, "axes", axes, len(sizes))
        kept = [n for i, n in enumerate(sizes) if i not in axes]
        expect_sizes(self, "result shape", sizes_of(self.mean), kept)


CUMULATIVE_OPS = (CumsumOp, CumprodOp, CummaxOp, CumminOp, LogcumsumexpOp)
SCAN_OPS = (*CUMULATIVE_OPS, LinearScanOp)
REDUCTION_OPS = (SumOp, ProdOp, MaxOp, MinOp, AnyOp, AllOp, ArgmaxOp, ArgminOp, *SCAN_OPS, MomentsOp)
