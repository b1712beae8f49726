"""Ops that rearrange elements: each result element is one source element (or the pad value)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, traits_def, var_operand_def

from ..attribute_facts import ints
from ..index_expr import ZERO, Expr, format_exprs, parse_exprs
from ..op_definition import op_definition
from ..types import sizes_of, tensor_type
from .base import (
    INTS,
    PURE,
    TENSOR,
    TwOp,
    checked_exprs,
    element_of,
    expect_axes,
    expect_axis,
    expect_element,
    expect_sizes,
    exprs_attr,
    fail,
    int_array,
    int_attr,
    same_numel,
)
from .creation import Scalar, scalar_attr


class _ViewOp(TwOp):
    """One source, one result, one element type."""

    source = operand_def(TENSOR)
    result = result_def(TENSOR)

    traits = traits_def(PURE)

    def check(self) -> None:
        expect_element(self, "result", self.result, element_of(self.source))
        self.check_sizes(sizes_of(self.source), sizes_of(self.result))

    def check_sizes(self, source: tuple[Expr, ...], result: tuple[Expr, ...]) -> None:
        raise NotImplementedError


@op_definition
class ReshapeOp(_ViewOp):
    """The same elements in row-major order, in another shape.

    ```mlir
    %r = tw.reshape %x : tensor<8x128xf32> -> tensor<8x4x32xf32>
    ```
    """

    name = "tw.reshape"

    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, sizes: Sequence[Expr | int]) -> None:
        self._build((source,), (tensor_type(element_of(source), sizes),))

    def check_sizes(self, source: tuple[Expr, ...], result: tuple[Expr, ...]) -> None:
        if not same_numel(source, result):
            raise fail(
                self,
                f"result shape [{format_exprs(result)}] has another element count"
                f" than the source shape [{format_exprs(source)}]",
            )


@op_definition
class TransposeOp(_ViewOp):
    """Permute dimensions: result dimension `i` is source dimension `perm[i]`.

    ```mlir
    %r = tw.transpose %x by [1, 0] : tensor<8x128xf32> -> tensor<128x8xf32>
    ```
    """

    name = "tw.transpose"

    perm = prop_def(INTS)

    assembly_format = "$source `by` $perm attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, perm: Sequence[int]) -> None:
        sizes = sizes_of(source)
        result = tensor_type(element_of(source), [sizes[p] for p in perm])
        self._build((source,), (result,), {"perm": int_array(perm)})

    def check_sizes(self, source: tuple[Expr, ...], result: tuple[Expr, ...]) -> None:
        perm = ints(self.perm)
        if sorted(perm) != list(range(len(source))):
            raise fail(self, f"perm {list(perm)} is not a permutation of rank {len(source)}")
        expect_sizes(self, "result shape", result, [source[p] for p in perm])


@op_definition
class BroadcastOp(_ViewOp):
    """Repeat: source dimension `i` becomes result dimension `dims[i]`, the others are new.

    A source size is 1 (repeated) or the size of its result dimension; `dims` increases.

    ```mlir
    %r = tw.broadcast %x dims [1] : tensor<128xf32> -> tensor<8x128xf32>
    ```
    """

    name = "tw.broadcast"

    dims = prop_def(INTS)

    assembly_format = "$source `dims` $dims attr-dict `:` type($source) `->` type($result)"

    def __init__(
        self, source: SSAValue, sizes: Sequence[Expr | int], dims: Sequence[int] | None = None
    ) -> None:
        """Broadcast to `sizes`; without `dims`, trailing dimensions align as in NumPy."""
        rank = len(sizes_of(source))
        dims = range(len(sizes) - rank, len(sizes)) if dims is None else dims
        self._build((source,), (tensor_type(element_of(source), sizes),), {"dims": int_array(dims)})

    def check_sizes(self, source: tuple[Expr, ...], result: tuple[Expr, ...]) -> None:
        dims = ints(self.dims)
        if len(dims) != len(source):
            raise fail(self, f"dims {list(dims)} has {len(dims)} entries, expected {len(source)}")
        expect_axes(self, "dims", dims, len(result))
        for i, d in enumerate(dims):
            if source[i].constant != 1 and source[i] != result[d]:
                raise fail(
                    self,
                    f"source dimension {i} of size {source[i]} cannot become result dimension {d}"
                    f" of size {result[d]}, expected size 1 or {result[d]}",
                )


@op_definition
class SliceOp(_ViewOp):
    """`result[i, ...] = source[starts[0] + i * steps[0], ...]`; sizes are the result's.

    Starts and steps are index expressions over symbols; steps are positive, and every
    element read lies inside the source.

    ```mlir
    %r = tw.slice %x starts "0, 2" steps "1, 2" : tensor<8x128xf32> -> tensor<8x63xf32>
    ```
    """

    name = "tw.slice"

    starts = prop_def(StringAttr)
    steps = prop_def(StringAttr)

    assembly_format = "$source `starts` $starts `steps` $steps attr-dict `:` type($source) `->` type($result)"

    def __init__(
        self,
        source: SSAValue,
        starts: Sequence[Expr | int],
        sizes: Sequence[Expr | int],
        steps: Sequence[Expr | int] | None = None,
    ) -> None:
        steps = [1] * len(sizes) if steps is None else steps
        properties = {"starts": exprs_attr(starts), "steps": exprs_attr(steps)}
        self._build((source,), (tensor_type(element_of(source), sizes),), properties)

    def check_sizes(self, source: tuple[Expr, ...], result: tuple[Expr, ...]) -> None:
        starts = checked_exprs(self, "starts", self.starts, len(source))
        steps = checked_exprs(self, "steps", self.steps, len(source))
        if len(result) != len(source):
            raise fail(self, f"result has rank {len(result)}, expected {len(source)}")
        for i, (start, step, size, limit) in enumerate(zip(starts, steps, result, source, strict=True)):
            if step.constant is not None and step.constant < 1:
                raise fail(self, f"step of dimension {i} is {step}, expected at least 1")
            if start.constant is not None and start.constant < 0:
                raise fail(self, f"start of dimension {i} is {start}, expected at least 0")
            last = start + (size - 1) * step
            room = (limit - 1 - last).constant
            if size.constant != 0 and room is not None and room < 0:
                raise fail(self, f"dimension {i} reads element {last}, expected at most {limit - 1}")


@op_definition
class ReverseOp(_ViewOp):
    """Reverse the order of elements along `dims`.

    ```mlir
    %r = tw.reverse %x dims [0] : tensor<8x128xf32> -> tensor<8x128xf32>
    ```
    """

    name = "tw.reverse"

    dims = prop_def(INTS)

    assembly_format = "$source `dims` $dims attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, dims: Sequence[int]) -> None:
        self._build((source,), (source.type,), {"dims": int_array(sorted(dims))})

    def check_sizes(self, source: tuple[Expr, ...], result: tuple[Expr, ...]) -> None:
        expect_axes(self, "dims", ints(self.dims), len(source))
        expect_sizes(self, "result shape", result, source)


@op_definition
class ConcatOp(TwOp):
    """Join tensors along `dim`; all other sizes are equal.

    ```mlir
    %r = tw.concat %a, %b dim 1 : (tensor<8x2xf32>, tensor<8x3xf32>) -> tensor<8x5xf32>
    ```
    """

    name = "tw.concat"

    inputs = var_operand_def(TENSOR)
    dim = prop_def(IntegerAttr.constr(i64))
    result = result_def(TENSOR)

    traits = traits_def(PURE)
    assembly_format = "$inputs `dim` $dim attr-dict `:` functional-type($inputs, $result)"

    def __init__(self, inputs: Sequence[SSAValue], dim: int) -> None:
        sizes = list(sizes_of(inputs[0]))
        for value in inputs[1:]:
            sizes[dim] = sizes[dim] + sizes_of(value)[dim]
        result = tensor_type(element_of(inputs[0]), sizes)
        self._build(inputs, (result,), {"dim": int_attr(dim)})

    @property
    def starts(self) -> tuple[Expr, ...]:
        """Where along `dim` each operand begins."""
        dim = self.dim.value.data
        return tuple(accumulate((sizes_of(value)[dim] for value in self.inputs[:-1]), initial=ZERO))

    def check(self) -> None:
        if not self.inputs:
            raise fail(self, "has 0 operands, expected at least 1")
        dim, expected = self.dim.value.data, list(sizes_of(self.inputs[0]))
        expect_axis(self, dim, len(expected))
        for i, value in enumerate(self.inputs):
            expect_element(self, f"operand {i}", value, element_of(self.result))
            sizes = list(sizes_of(value))
            if i > 0 and len(sizes) == len(expected):
                expected[dim] = expected[dim] + sizes[dim]
            others = [n for d, n in enumerate(expected) if d != dim]
            expect_sizes(
                self, f"operand {i} without dim", [n for d, n in enumerate(sizes) if d != dim], others
            )
        expect_sizes(self, "result shape", sizes_of(self.result), expected)


@op_definition
class PadOp(_ViewOp):
    """Surround with `value`: `low[i]` elements before and `high[i]` after dimension `i`.

    Both are index expressions over symbols that are at least 0.

    ```mlir
    %r = tw.pad %x low "0, 1" high "0, 2" value 0.0 : f32 : tensor<8x4xf32> -> tensor<8x7xf32>
    ```
    """

    name = "tw.pad"

    low = prop_def(StringAttr)
    high = prop_def(StringAttr)
    value = prop_def(IntegerAttr | FloatAttr)

    assembly_format = (
        "$source `low` $low `high` $high `value` $value attr-dict `:` type($source) `->` type($result)"
    )

    def __init__(
        self, source: SSAValue, low: Sequence[Expr | int], high: Sequence[Expr | int], value: Scalar
    ) -> None:
        element = element_of(source)
        sizes = [n + a + b for n, a, b in zip(sizes_of(source), low, high, strict=True)]
        properties = {
            "low": exprs_attr(low),
            "high": exprs_attr(high),
            "value": scalar_attr(value, element),
        }
        self._build((source,), (tensor_type(element, sizes),), properties)

    def check_sizes(self, source: tuple[Expr, ...], result: tuple[Expr, ...]) -> None:
        low = checked_exprs(self, "low", self.low, len(source))
        high = checked_exprs(self, "high", self.high, len(source))
        for fact, amounts in (("low", low), ("high", high)):
            for amount in amounts:
                if amount.constant is not None and amount.constant < 0:
                    raise fail(self, f"{fact} has {amount}, expected at least 0 (use tw.slice to crop)")
        if self.value.type != element_of(self.source):
            raise fail(self, f"value has type {self.value.type}, expected {element_of(self.source)}")
        expected = [n + a + b for n, a, b in zip(source, low, high, strict=True)]
        expect_sizes(self, "result shape", result, expected)


VIEW_OPS = (ReshapeOp, TransposeOp, BroadcastOp, SliceOp, ReverseOp, ConcatOp, PadOp)


def starts_and_steps(op: SliceOp) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    return parse_exprs(op.starts.data), parse_exprs(op.steps.data)
