"""Ops that read or write at positions held in i64 tensors."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    irdl_attr_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.utils.str_enum import StrEnum

from ..attribute_facts import ints
from ..index_expr import Expr
from ..op_definition import op_definition
from ..types import sizes_of, tensor_type
from .base import (
    INTS,
    PURE,
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


def gathered_sizes(source: Sequence[Expr], index: Sequence[Expr], dims: Sequence[int], at: int) -> list[Expr]:
    """Sizes of `source` without `dims`, with those of `index` inserted before position `at`."""
    kept = [n for i, n in enumerate(source) if i not in dims]
    return [*kept[:at], *index, *kept[at:]]


def _check_indices(op: TwOp, indices: Sequence[SSAValue], dims: Sequence[int], at: int, rank: int) -> None:
    if not indices or len(indices) != len(dims):
        raise fail(op, f"has {len(indices)} index tensors for dims {list(dims)}, expected one for each")
    expect_axes(op, "dims", dims, rank)
    if not 0 <= at <= rank - len(dims):
        raise fail(op, f"at is {at}, expected 0 <= at <= {rank - len(dims)}")
    for i, index in enumerate(indices):
        expect_element(op, f"index {i}", index, i64)
        expect_sizes(op, f"index {i} shape", sizes_of(index), sizes_of(indices[0]))


@op_definition
class GatherOp(TwOp):
    """Advanced indexing: index tensor `j` selects along source dimension `dims[j]`.

    The index tensors have one shape, which stands in the result before position `at` of
    the other dimensions. A negative index counts from the end, unless `strict`; one out
    of range is an error at run time.

    ```mlir
    %r = tw.gather %table[%i] dims [0] at 0 : (tensor<99x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
    ```
    """

    name = "tw.gather"

    source = operand_def(TENSOR)
    indices = var_operand_def(TENSOR)
    dims = prop_def(INTS)
    at = prop_def(IntegerAttr.constr(i64))
    strict = opt_prop_def(UnitAttr)
    result = result_def(TENSOR)

    traits = traits_def(PURE)
    assembly_format = (
        "$source `[` $indices `]` `dims` $dims `at` $at (`strict` $strict^)? attr-dict"
        " `:` functional-type(operands, $result)"
    )

    def __init__(
        self,
        source: SSAValue,
        indices: Sequence[SSAValue],
        dims: Sequence[int],
        at: int = 0,
        *,
        strict: bool = False,
    ) -> None:
        sizes = gathered_sizes(sizes_of(source), sizes_of(indices[0]), dims, at)
        properties: dict[str, Attribute] = {"dims": int_array(dims), "at": int_attr(at)}
        if strict:
            properties["strict"] = UnitAttr()
        self._build((source, *indices), (tensor_type(element_of(source), sizes),), properties)

    def check(self) -> None:
        source, dims, at = sizes_of(self.source), ints(self.dims), self.at.value.data
        _check_indices(self, self.indices, dims, at, len(source))
        expect_element(self, "result", self.result, element_of(self.source))
        expected = gathered_sizes(source, sizes_of(self.indices[0]), dims, at)
        expect_sizes(self, "result shape", sizes_of(self.result), expected)


class _ScatterOp(TwOp, ABC):
    """A copy of `target` in which the elements that `tw.gather` would read are written."""

    target = operand_def(TENSOR)
    values = operand_def(TENSOR)
    indices = var_operand_def(TENSOR)
    dims = prop_def(INTS)
    at = prop_def(IntegerAttr.constr(i64))
    strict = opt_prop_def(UnitAttr)
    result = result_def(TENSOR)

    traits = traits_def(PURE)
    assembly_format = (
        "$values `into` $target `[` $indices `]` `dims` $dims `at` $at (`strict` $strict^)? attr-dict"
        " `:` functional-type(operands, $result)"
    )

    def __init__(
        self,
        target: SSAValue,
        indices: Sequence[SSAValue],
        values: SSAValue,
        dims: Sequence[int],
        at: int = 0,
        *,
        strict: bool = False,
    ) -> None:
        properties: dict[str, Attribute] = {"dims": int_array(dims), "at": int_attr(at)}
        if strict:
            properties["strict"] = UnitAttr()
        self._build((target, values, *indices), (target.type,), properties)

    def check(self) -> None:
        target, dims, at = sizes_of(self.target), ints(self.dims), self.at.value.data
        _check_indices(self, self.indices, dims, at, len(target))
        expect_element(self, "values", self.values, element_of(self.target))
        expect_element(self, "result", self.result, element_of(self.target))
        expected = gathered_sizes(target, sizes_of(self.indices[0]), dims, at)
        expect_sizes(self, "values shape", sizes_of(self.values), expected)
        expect_sizes(self, "result shape", sizes_of(self.result), target)


@op_definition
class ScatterOp(_ScatterOp):
    """Replace the addressed elements of a copy of `target` by `values` (index_put).

    Indices are as in `tw.gather`. Where two address one element, either value may remain.
    Operands in order: target, values, indices.

    ```mlir
    %r = tw.scatter %v into %t[%i] dims [0] at 0
       : (tensor<99x8xf32>, tensor<4x8xf32>, tensor<4xi64>) -> tensor<99x8xf32>
    ```
    """

    name = "tw.scatter"


@op_definition
class ScatterAddOp(_ScatterOp):
    """Add `values` to the addressed elements of a copy of `target` (index_put, accumulate; index_add).

    Indices are as in `tw.gather`; equal indices accumulate, in any order. Sums of halves may be rounded
    after each addition.

    ```mlir
    %r = tw.scatter_add %v into %t[%i] dims [0] at 0
       : (tensor<99x8xf32>, tensor<4x8xf32>, tensor<4xi64>) -> tensor<99x8xf32>
    ```
    """

    name = "tw.scatter_add"

    def check(self) -> None:
        super().check()
        expect_kind(self, self.target, "number")


def _check_along(op: TwOp, source: SSAValue, index: SSAValue, dim: int) -> None:
    rank = len(sizes_of(source))
    expect_axis(op, dim, rank)
    expect_element(op, "index", index, i64)
    if len(sizes_of(index)) != rank:
        raise fail(op, f"index has rank {len(sizes_of(index))}, expected {rank}")
    for d, (n, limit) in enumerate(zip(sizes_of(index), sizes_of(source), strict=True)):
        room = (limit - n).constant
        if d != dim and room is not None and room < 0:
            raise fail(op, f"index has size {n} in dimension {d}, expected at most {limit}")


@op_definition
class GatherAlongOp(TwOp):
    """torch.gather: `result[i, j] = source[i, index[i, j]]` for `dim` 1.

    The other sizes of the index may be smaller than the source's. An index outside
    `[0, size)` is an error at run time.

    ```mlir
    %r = tw.gather_along %x, %i dim 1 : (tensor<8x128xf32>, tensor<8x4xi64>) -> tensor<8x4xf32>
    ```
    """

    name = "tw.gather_along"

    source = operand_def(TENSOR)
    index = operand_def(TENSOR)
    dim = prop_def(IntegerAttr.constr(i64))
    result = result_def(TENSOR)

    traits = traits_def(PURE)
    assembly_format = "$source `,` $index `dim` $dim attr-dict `:` functional-type(operands, $result)"

    def __init__(self, source: SSAValue, index: SSAValue, dim: int) -> None:
        result = tensor_type(element_of(source), sizes_of(index))
        self._build((source, index), (result,), {"dim": int_attr(dim)})

    def check(self) -> None:
        _check_along(self, self.source, self.index, self.dim.value.data)
        expect_element(self, "result", self.result, element_of(self.source))
        expect_sizes(self, "result shape", sizes_of(self.result), sizes_of(self.index))


class Combine(StrEnum):
    """What `tw.scatter_along` does with the old element."""

    NONE = "none"
    ADD = "add"
    MUL = "mul"
    MAX = "max"
    MIN = "min"


@irdl_attr_definition
class CombineAttr(EnumAttribute[Combine], SpacedOpaqueSyntaxAttribute):
    """How `tw.scatter_along` combines."""

    name = "tw.combine"


_COMBINE = {c.value: CombineAttr(c) for c in Combine}


@op_definition
class ScatterAlongOp(TwOp):
    """torch.scatter(_reduce): a copy of `target` with `target[i, index[i, j]] = values[i, j]`.

    `reduce none` replaces (of equal indices either value may remain); `add`, `mul`, `max` and `min` combine
    with what stands there, in any order, extremes of NaN to NaN. An index outside `[0, size)` is an error at
    run time.

    ```mlir
    %r = tw.scatter_along %t, %i, %v dim 1 reduce add
       : (tensor<8x128xf32>, tensor<8x4xi64>, tensor<8x4xf32>) -> tensor<8x128xf32>
    ```
    """

    name = "tw.scatter_along"

    target = operand_def(TENSOR)
    index = operand_def(TENSOR)
    values = operand_def(TENSOR)
    dim = prop_def(IntegerAttr.constr(i64))
    combine = prop_def(CombineAttr)
    result = result_def(TENSOR)

    traits = traits_def(PURE)
    assembly_format = (
        "$target `,` $index `,` $values `dim` $dim `reduce` $combine attr-dict"
        " `:` functional-type(operands, $result)"
    )

    def __init__(
        self, target: SSAValue, index: SSAValue, values: SSAValue, dim: int, combine: str = "none"
    ) -> None:
        properties = {"dim": int_attr(dim), "combine": _COMBINE[combine]}
        self._build((target, index, values), (target.type,), properties)

    def check(self) -> None:
        _check_along(self, self.target, self.index, self.dim.value.data)
        expect_element(self, "values", self.values, element_of(self.target))
        expect_element(self, "result", self.result, element_of(self.target))
        expect_sizes(self, "values shape", sizes_of(self.values), sizes_of(self.index))
        expect_sizes(self, "result shape", sizes_of(self.result), sizes_of(self.target))
        if self.combine.data is not Combine.NONE:
            expect_kind(self, self.target, "number")


@op_definition
class SortOp(TwOp):
    """Elements along `dim` in order, and the i64 positions that they had; only the first ones, if so typed.

    Equal elements keep their order. NaN counts as the largest of numbers, so that it comes last, and
    first if `descending`. The zeros are equal.

    ```mlir
    %v, %i = tw.sort %x dim 1 : tensor<8x128xf32> -> tensor<8x128xf32>, tensor<8x128xi64>
    %w, %j = tw.sort %x dim 1 descending : tensor<8x128xf32> -> tensor<8x5xf32>, tensor<8x5xi64>
    ```
    """

    name = "tw.sort"

    source = operand_def(TENSOR)
    dim = prop_def(IntegerAttr.constr(i64))
    descending = opt_prop_def(UnitAttr)
    values = result_def(TENSOR)
    indices = result_def(TENSOR)

    traits = traits_def(PURE)
    assembly_format = (
        "$source `dim` $dim (`descending` $descending^)? attr-dict `:` type($source) `->` type($values)"
        " `,` type($indices)"
    )

    def __init__(
        self, source: SSAValue, dim: int, *, descending: bool = False, count: Expr | None = None
    ) -> None:
        sizes = list(sizes_of(source))
        sizes[dim] = sizes[dim] if count is None else count
        results = (tensor_type(element_of(source), sizes), tensor_type(i64, sizes))
        properties: dict[str, Attribute] = {"dim": int_attr(dim)}
        if descending:
            properties["descending"] = UnitAttr()
        self._build((source,), results, properties)

    def check(self) -> None:
        sizes, dim = sizes_of(self.source), self.dim.value.data
        expect_axis(self, dim, len(sizes))
        expect_element(self, "values", self.values, element_of(self.source))
        expect_element(self, "indices", self.indices, i64)
        found = sizes_of(self.values)
        expect_sizes(self, "indices shape", sizes_of(self.indices), found)
        if len(found) == len(sizes):
            sizes = (*sizes[:dim], found[dim], *sizes[dim + 1 :])
        expect_sizes(self, "values shape", found, sizes)
        left = (sizes_of(self.source)[dim] - found[dim]).constant
        if left is not None and left < 0:
            raise fail(self, f"takes {found[dim]} of {sizes_of(self.source)[dim]} elements")


INDEXING_OPS = (GatherOp, ScatterOp, ScatterAddOp, GatherAlongOp, ScatterAlongOp, SortOp)
