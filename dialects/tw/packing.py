"""Matrix operands in the order in which register tiles read them."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, f32, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)

from ..index_expr import Expr, as_expr
from ..op_definition import op_definition
from ..types import is_half, sizes_of, tensor_type
from .base import (
    PURE,
    TENSOR,
    TwOp,
    element_of,
    expect_element,
    expect_kind,
    expect_rank,
    expect_sizes,
    fail,
    int_attr,
)


class PanelsOp(TwOp, ABC):
    """Cut a dimension into panels of `width`, which come first; that and groups of another one come last."""

    CUT: ClassVar[tuple[int, str]]
    """The dimension whose parts are panels, and what it counts."""
    GROUPED: ClassVar[tuple[int, str]]
    """The dimension of which `group` elements stand side by side, and what it counts."""

    source = operand_def(TENSOR)
    width = prop_def(IntegerAttr.constr(i64))
    group = opt_prop_def(IntegerAttr.constr(i64))
    result = result_def(TENSOR)

    traits = traits_def(PURE)
    assembly_format = (
        "$source `width` $width (`group` $group^)? attr-dict `:` type($source) `->` type($result)"
    )

    def __init__(self, source: SSAValue, width: int, group: int | None = None) -> None:
        properties = {"width": int_attr(width)}
        if group is not None:
            properties["group"] = int_attr(group)
        result = tensor_type(element_of(source), self._panels(sizes_of(source), width, group))
        self._build((source,), (result,), properties)

    def check(self) -> None:
        sizes, width = sizes_of(self.source), self.width.value.data
        group = None if self.group is None else self.group.value.data
        (cut, parts), (grouped, members) = self.CUT, self.GROUPED
        n, k = sizes[cut], sizes[grouped]
        if width < 1 or (n % width).constant != 0:
            raise fail(self, f"width is {width}, expected a divisor of the {n} {parts}")
        if group is not None and (group < 2 or (k % group).constant != 0):
            raise fail(self, f"group is {group}, expected a divisor of the {k} {members}, 2 or more")
        expect_element(self, "result", self.result, element_of(self.source))
        expect_sizes(self, "result shape", sizes_of(self.result), self._panels(sizes, width, group))

    def _panels(self, sizes: Sequence[Expr], width: int, group: int | None) -> tuple[Expr, ...]:
        cut, grouped = self.CUT[0], self.GROUPED[0]
        others = [size for i, size in enumerate(sizes) if i not in (cut, grouped)]
        steps, last = sizes[grouped], (as_expr(width),)
        if group is not None:
            steps, last = steps // group, (*last, as_expr(group))
        return (sizes[cut] // width, *others, steps, *last)


@op_definition
class PackOp(PanelsOp):
    """Cut a `[k, n]` matrix into panels of `width` columns: `result[p, i, j] = source[i, p*width + j]`.

    `width` divides n. A panel is read front to back by a register tile (the packed `B` of
    Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008). With
    `group` G, a divisor of k, G elements of a column stand side by side, as instructions
    for dot products take them: `result[p, i, j, g] = source[i*G + g, p*width + j]`.

    ```mlir
    %p = tw.pack %w width 48 : tensor<64x96xf32> -> tensor<2x64x48xf32>
    %q = tw.pack %w width 48 group 2 : tensor<64x96xbf16> -> tensor<2x32x48x2xbf16>
    ```
    """

    name = "tw.pack"

    CUT: ClassVar[tuple[int, str]] = (1, "columns")
    GROUPED: ClassVar[tuple[int, str]] = (0, "rows")

    def check(self) -> None:
        expect_rank(self, "source", self.source, 2)
        super().check()


@op_definition
class PackedMatmulOp(TwOp):
    """`tw.matmul` whose right operand is packed: `[m, k] x [p, k, w] -> [m, p*w]`, plus a bias.

    Or `[m, k] x [p, k/g, w, g]`, in groups. Accumulates in f32 (f64 for f64), rounds once.
    A left operand in f32 may meet packed halves.

    ```mlir
    %r = tw.packed_matmul %a, %p bias %b
       : (tensor<8x64xf32>, tensor<2x64x48xf32>, tensor<96xf32>) -> tensor<8x96xf32>
    ```
    """

    name = "tw.packed_matmul"

    lhs = operand_def(TENSOR)
    packed = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    result = result_def(TENSOR)

    traits = traits_def(PURE)
    assembly_format = "$lhs `,` $packed (`bias` $bias^)? attr-dict `:` functional-type(operands, $result)"

    def __init__(self, lhs: SSAValue, packed: SSAValue, bias: SSAValue | None = None) -> None:
        panels, _, width, *_ = sizes_of(packed)
        operands = (lhs, packed) if bias is None else (lhs, packed, bias)
        self._build(operands, (tensor_type(element_of(lhs), (sizes_of(lhs)[0], panels * width)),))

    @property
    def group(self) -> int:
        """How many elements of a column stand side by side."""
        sizes = sizes_of(self.packed)
        return (sizes[3].constant or 1) if len(sizes) == 4 else 1

    def check(self) -> None:
        expect_kind(self, self.lhs, "float")
        expect_rank(self, "lhs", self.lhs, 2)
        m, k = sizes_of(self.lhs)
        sizes = sizes_of(self.packed)
        if len(sizes) not in (3, 4):
            raise fail(self, f"packed has rank {len(sizes)}, expected 3, or 4 with groups")
        panels, _, width, *group = sizes
        steps = k // group[0] if group else k
        expect_sizes(self, "packed shape", sizes, (panels, steps, width, *group))
        if group and (k % group[0]).constant != 0:
            raise fail(self, f"groups of {group[0]} do not divide the {k} columns of lhs")
        element = element_of(self.lhs)
        if not (element == f32 and is_half(element_of(self.packed))):
            expect_element(self, "packed", self.packed, element)
        expect_element(self, "result", self.result, element)
        expect_sizes(self, "result shape", sizes_of(self.result), (m, panels * width))
        if self.bias is not None:
            expect_element(self, "bias", self.bias, element)
            expect_sizes(self, "bias shape", sizes_of(self.bias), (panels * width,))


PACKING_OPS = (PackOp, PackedMatmulOp)
